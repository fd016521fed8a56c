"""What the telemetry pipeline found, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.files.answer_formats import answer_head
from penstock.files.profile_file import profile_to_dict
from penstock.model.profile import Cost, Profile
from penstock.planning.numbers import UNKNOWN, percent, plain, rate
from penstock.telemetry.drift import CostDrift
from penstock.telemetry.findings import Measurement
from penstock.telemetry.quality import Quality

#: ± this many standard errors is a 95 % interval.
_INTERVAL = 1.96
_MOST_ROWS = 40


def measured_view(found: Measurement) -> RenderableType:
    """The profile with its error bars, what is not ready, and how good the data is."""
    parts: list[RenderableType] = []
    if found.profile is not None:
        parts += [Text("Costs", "bold"), costs_table(found.profile)]
        if found.profile.streams:
            parts += ["", Text("Streams", "bold"), _streams(found.profile)]
        if found.profile.workers:
            parts += ["", _workers(found.profile)]
    if found.not_ready:
        parts += ["", Text("Not ready", "bold"), _not_ready(found)]
    parts += ["", Text("Data", "bold"), _quality(found.quality)]
    moved = [d for d in found.drift if d.drifted]
    if moved:
        parts += ["", Text("Changed", "bold"), _drift(moved)]
    return Group(*parts)


def costs_table(profile: Profile) -> Table:
    table = _table("component", "machine type")
    for column in ("e (points per tuple/s)", "± 95 %", "met (points)", "± 95 %", "windows"):
        table.add_column(column, justify="right")
    table.add_column("form")
    for cost in profile.costs[:_MOST_ROWS]:
        table.add_row(
            cost.row,
            cost.machine_type,
            plain(cost.e),
            _share(cost.e_error, cost.e),
            plain(cost.met, 3),
            plain(None if cost.met_error is None else _INTERVAL * cost.met_error, 2),
            UNKNOWN if cost.samples is None else f"{cost.samples:,}",
            _form(cost),
        )
    _hidden(table, len(profile.costs))
    return table


def _form(cost: Cost) -> str:
    if cost.estimate is not None:
        return f"estimated from {cost.estimate.measured_on} by {cost.estimate.basis.value}"
    if cost.extrapolated:
        return "estimated from other types"
    if cost.form is None:
        return "line"
    return f"{cost.form.kind.value}; the line is off by up to {percent(cost.linear_error, 0)}"


def _share(error: float | None, value: float) -> str:
    return UNKNOWN if error is None or value <= 0 else percent(_INTERVAL * error / value, 1)


def _streams(profile: Profile) -> Table:
    table = _table("stream", "from", "to")
    for column in ("selectivity", "± 95 %", "bytes/tuple", "tuples/s seen"):
        table.add_column(column, justify="right")
    for stream in profile.streams[:_MOST_ROWS]:
        error = stream.selectivity_error
        table.add_row(
            stream.name,
            stream.source,
            stream.target,
            plain(stream.selectivity),
            plain(None if error is None else _INTERVAL * error, 2),
            plain(stream.tuple_bytes),
            rate(stream.tuples_per_s),
        )
    _hidden(table, len(profile.streams))
    return table


def _workers(profile: Profile) -> Text:
    each = [
        f"{plain(w.cpu_points, 3)}"
        + (f" and {plain(w.e, 3)} per tuple/s" if w.e else "")
        + (f" and {plain(w.e_remote, 3)} more if it enters or leaves" if w.e_remote else "")
        + f" on {w.machine_type}"
        for w in profile.workers
    ]
    return Text(f"A worker process costs, beside its tasks, CPU points: {', '.join(each)}")


def _not_ready(found: Measurement) -> Table:
    table = _table("component", "machine type", "why, and what helps")
    for missing in found.not_ready[:_MOST_ROWS]:
        table.add_row(missing.row, missing.machine_type, missing.why)
    _hidden(table, len(found.not_ready))
    return table


def _quality(quality: Quality) -> Table:
    grid = Table.grid(padding=(0, 2))
    aside = sum(quality.set_aside.values())
    grid.add_row(
        "records", f"{quality.records_in:,} in, {quality.kept:,} kept, {aside:,} set aside"
    )
    for reason, count in sorted(quality.set_aside.items(), key=lambda item: -item[1]):
        grid.add_row("", f"{count:,} {reason}")
    statuses = ", ".join(f"{count:,} {name}" for name, count in sorted(quality.windows.items()))
    grid.add_row("windows", statuses or "none")
    grid.add_row("costs known", f"{quality.costs_known} of {quality.costs_seen} seen")
    grid.add_row("time covered", percent(quality.time_covered))
    if quality.traffic_estimated:
        share = percent(quality.traffic_estimated, 0)
        grid.add_row("traffic", f"source task estimated for {share} of the pairs")
    for host, ahead in sorted(quality.clocks_ahead_s.items()):
        side = "ahead" if ahead > 0 else "behind"
        grid.add_row("clock", f"{host} is {abs(ahead):g} s {side} of the others")
    return grid


def _drift(moved: Sequence[CostDrift]) -> Table:
    table = _table("what", "machine type", "measure")
    for column in ("before", "after", "change", "sure"):
        table.add_column(column, justify="right")
    for d in moved[:_MOST_ROWS]:
        table.add_row(
            d.row, d.machine_type, d.measure, plain(d.before), plain(d.after),
            f"{100 * d.change:+.1f} %", percent(d.confidence, 2),
        )  # fmt: skip
    _hidden(table, len(moved))
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column)
    return table


def _hidden(table: Table, total: int) -> None:
    if total > _MOST_ROWS:
        table.add_row(f"… {total - _MOST_ROWS} more")


def measured_to_dict(found: Measurement) -> dict[str, object]:
    """The same as JSON has it."""
    return {
        **answer_head("measured"),
        "profile": profile_to_dict(found.profile) if found.profile else None,
        "not_ready": [
            {"row": n.row, "machine_type": n.machine_type, "why": n.why} for n in found.not_ready
        ],
        "quality": found.quality.to_dict(),
        "drift": [
            {
                "what": d.row,
                "machine_type": d.machine_type,
                "measure": d.measure,
                "before": d.before,
                "after": d.after,
                "confidence": d.confidence,
                "drifted": d.drifted,
            }
            for d in found.drift
        ],
    }

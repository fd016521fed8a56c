"""What the telemetry pipeline measured: the profile, what is not ready, how good the data is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from penstock.files.answer_formats import answer_head
from penstock.files.profile_file import profile_to_dict
from penstock.model.profile import Cost, Profile, WorkerCost
from penstock.planning.numbers import percent, plain
from penstock.report.page import (
    Block,
    Cell,
    Column,
    Document,
    FieldList,
    Paragraph,
    Section,
    paragraph,
    table_of,
)
from penstock.telemetry.drift import CostDrift
from penstock.telemetry.findings import Measurement
from penstock.telemetry.quality import Quality

#: ± this many standard errors is a 95 % interval.
_INTERVAL = 1.96
_MOST_ROWS = 40
_Row = TypeVar("_Row")


def profile_page(measurement: Measurement) -> Document:
    """The profile with its error bars, what is not ready, and how good the data is."""
    profile = measurement.profile
    sections: list[Section] = []
    if profile is not None:
        sections.append(Section("Costs", _costs(profile)))
        if profile.streams:
            sections.append(Section("Streams", (*_streams(profile), *_pairs_left_out(profile))))
        if profile.workers:
            sections.append(Section("", (_workers(profile),)))
    if measurement.not_ready:
        sections.append(Section("Not ready", _not_ready(measurement)))
    sections.append(Section("Data", (_quality(measurement.quality),)))
    moved = [d for d in measurement.drift if d.drifted]
    if moved:
        sections.append(Section("Changed", _drift(moved)))
    return Document("", tuple(sections))


def _listed(
    rows: Sequence[_Row], *columns: tuple[Column, Callable[[_Row], Cell]]
) -> tuple[Block, ...]:
    """The first rows, and how many more there are."""
    table = table_of(rows[:_MOST_ROWS], *columns)
    hidden = len(rows) - _MOST_ROWS
    return (table, paragraph(f"… and {hidden} more")) if hidden > 0 else (table,)


def _costs(profile: Profile) -> tuple[Block, ...]:
    return _listed(
        profile.costs,
        (Column("component"), lambda cost: cost.row),
        (Column("machine type"), lambda cost: cost.machine_type),
        (Column("e (points per tuple/s)"), lambda cost: cost.e),
        (Column("± 95 %", "%"), lambda cost: _share(cost.e_error, cost.e)),
        (Column("met", "points"), lambda cost: cost.met),
        (Column("± 95 %"), lambda cost: _half_width(cost.met_error)),
        (Column("windows"), lambda cost: cost.samples),
        (Column("form"), _form),
    )


def _form(cost: Cost) -> str:
    if cost.estimate is not None:
        return f"estimated from {cost.estimate.measured_on} by {cost.estimate.basis.value}"
    if cost.extrapolated:
        return "estimated from other types"
    if cost.form is None:
        return "line"
    return f"{cost.form.kind.value}; the line is off by up to {percent(cost.linear_error, 0)}"


def _share(error: float | None, value: float) -> float | None:
    return None if error is None or value <= 0 else 100 * _INTERVAL * error / value


def _half_width(error: float | None) -> float | None:
    return None if error is None else _INTERVAL * error


def _streams(profile: Profile) -> tuple[Block, ...]:
    return _listed(
        profile.streams,
        (Column("stream"), lambda stream: stream.name),
        (Column("from"), lambda stream: stream.source),
        (Column("to"), lambda stream: stream.target),
        (Column("selectivity"), lambda stream: stream.selectivity),
        (Column("± 95 %"), lambda stream: _half_width(stream.selectivity_error)),
        (Column("bytes/tuple"), lambda stream: stream.tuple_bytes),
        (Column("tuples/s seen"), lambda stream: stream.tuples_per_s),
    )


def _pairs_left_out(profile: Profile) -> list[Paragraph]:
    """Of traffic between instances, what the profile does not list."""
    return [
        paragraph(
            f"Traffic between instances{f' of {traffic.topology}' if traffic.topology else ''}: "
            f"{len(traffic.pairs):,} pairs; {traffic.pairs_left_out:,} others, "
            f"{percent(traffic.part_left_out)} of the tuples, are left out"
        )
        for traffic in profile.traffic
        if traffic.pairs_left_out
    ]


def _workers(profile: Profile) -> Paragraph:
    each = ", ".join(_worker(worker) for worker in profile.workers)
    return paragraph(f"A worker process costs, beside its tasks, CPU points: {each}")


def _worker(worker: WorkerCost) -> str:
    per_tuple = f" and {plain(worker.e, 3)} per tuple/s" if worker.e else ""
    remote = (
        f" and {plain(worker.e_remote, 3)} more if it enters or leaves" if worker.e_remote else ""
    )
    return f"{plain(worker.cpu_points, 3)}{per_tuple}{remote} on {worker.machine_type}"


def _not_ready(measurement: Measurement) -> tuple[Block, ...]:
    return _listed(
        measurement.not_ready,
        (Column("component"), lambda missing: missing.row),
        (Column("machine type"), lambda missing: missing.machine_type),
        (Column("why, and what helps"), lambda missing: missing.why),
    )


def _quality(quality: Quality) -> FieldList:
    aside = sum(quality.set_aside.values())
    rows = [("records", f"{quality.records_in:,} in, {quality.kept:,} kept, {aside:,} set aside")]
    for reason, count in sorted(quality.set_aside.items(), key=lambda item: -item[1]):
        rows.append(("", f"{count:,} {reason}"))
    statuses = ", ".join(f"{count:,} {name}" for name, count in sorted(quality.windows.items()))
    rows += [
        ("windows", statuses or "none"),
        ("costs known", f"{quality.costs_known} of {quality.costs_seen} seen"),
        ("time covered", percent(quality.time_covered)),
    ]
    if quality.traffic_estimated:
        share = percent(quality.traffic_estimated, 0)
        rows.append(("traffic", f"source task estimated for {share} of the pairs"))
    for host, ahead in sorted(quality.clocks_ahead_s.items()):
        side = "ahead" if ahead > 0 else "behind"
        rows.append(("clock", f"{host} is {abs(ahead):g} s {side} of the others"))
    return FieldList(tuple((name, paragraph(text)) for name, text in rows))


def _drift(moved: Sequence[CostDrift]) -> tuple[Block, ...]:
    return _listed(
        moved,
        (Column("what"), lambda cost: cost.row),
        (Column("machine type"), lambda cost: cost.machine_type),
        (Column("measure"), lambda cost: cost.measure),
        (Column("before"), lambda cost: cost.before),
        (Column("after"), lambda cost: cost.after),
        (Column("change", "%", digits=1, signed=True), lambda cost: 100 * cost.change),
        (Column("confidence", "%", digits=2), lambda cost: 100 * cost.confidence),
    )


def measurement_dict(measurement: Measurement) -> dict[str, object]:
    """The same as JSON has it."""
    return {
        **answer_head("measured"),
        "profile": profile_to_dict(measurement.profile) if measurement.profile else None,
        "not_ready": [
            {"row": n.row, "machine_type": n.machine_type, "why": n.why}
            for n in measurement.not_ready
        ],
        "quality": measurement.quality.to_dict(),
        "lag": measurement.lag.to_dict() if measurement.lag else None,
        "timings": [step.to_dict() for step in measurement.timings],
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
            for d in measurement.drift
        ],
    }

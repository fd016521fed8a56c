"""The history of applied plans: how good predictions were, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.change.history import APPLIED, BEGUN, Entry, Outcome, Receipt
from penstock.planning.numbers import UNKNOWN, percent, plain, rate

#: Predictions this close are called right; the goal of every figure we publish.
AS_PREDICTED = 0.05
_HEADINGS = (
    "applied (UTC)", "plan", "topology", "scheduler", "moved", "rate predicted", "measured",
    "CPU off, median", "worst", "verdict",
)  # fmt: skip


def verdict(entry: Entry) -> str:
    """How it went, in a few words."""
    applied, measured = entry.applied, entry.measured
    if applied.outcome == BEGUN:
        return "begun, never ended"
    if applied.outcome != APPLIED:
        return applied.outcome
    if measured is None:
        return f"not measured: {entry.why_not}" if entry.why_not else "not measured yet"
    return "; ".join([_cpu_verdict(measured), *_rate_verdicts(entry, measured)])


def _cpu_verdict(measured: Outcome) -> str:
    error = measured.median_cpu_error
    if error is None:
        return "no CPU predicted"
    return "CPU as predicted" if error <= AS_PREDICTED else "CPU not as predicted"


def _rate_verdicts(entry: Entry, measured: Outcome) -> list[str]:
    found = []
    several = len(measured.topologies) > 1
    for topology in measured.topologies:
        error = entry.rate_error(topology)
        if not topology.at_limit:
            said = "not at its limit"
        elif error is None:
            said = "at its limit, no rate predicted"
        elif abs(error) <= AS_PREDICTED:
            said = "carries what was predicted"
        else:
            said = f"carries {'less' if error > 0 else 'more'} than predicted"
        found.append(f"{topology.topology} {said}" if several else said)
    return found


def history_view(entries: Sequence[Entry]) -> RenderableType:
    """One line per plan, and how good predictions were over all of them."""
    if not entries:
        return Text("no plan was applied yet")
    table = _table(*_HEADINGS[:5])
    for heading in _HEADINGS[5:9]:
        table.add_column(heading, justify="right")
    table.add_column(_HEADINGS[9])
    for entry in entries:
        table.add_row(*_row(entry))
    return Group(table, "", Text(summary(entries)))


def history_markdown(entries: Sequence[Entry]) -> str:
    """The same as a Markdown table."""
    lines = [f"| {' | '.join(_HEADINGS)} |", f"|{' --- |' * len(_HEADINGS)}"]
    lines += [f"| {' | '.join(_cell(c) for c in _row(entry))} |" for entry in entries]
    return "\n".join([*lines, "", summary(entries), ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def summary(entries: Sequence[Entry]) -> str:
    """How good predictions were over all plans measured."""
    measured = [e for e in entries if e.measured is not None]
    if not measured:
        return f"{_plans(len(entries))}, none measured; penstock history measure does it"
    errors = sorted(error for e in measured if e.measured for error in e.measured.cpu_errors)
    rates = [
        abs(error)
        for e in measured
        if e.measured
        for t in e.measured.topologies
        if (error := e.rate_error(t)) is not None
    ]
    said = f"{_plans(len(entries))}, {len(measured)} measured"
    if errors:
        middle = errors[(len(errors) - 1) // 2] / 2 + errors[len(errors) // 2] / 2
        said += (
            f"; CPU of {len(errors)} machines off by {percent(middle)} (median), "
            f"{percent(errors[-1])} (worst)"
        )
    if rates:
        return f"{said}; rate at the limit off by up to {percent(max(rates))} ({len(rates)} times)"
    return f"{said}; no topology was seen at its limit"


def _plans(count: int) -> str:
    return f"{count} plan{'s' if count != 1 else ''} applied"


def _row(entry: Entry) -> list[str]:
    applied, measured = entry.applied, entry.measured
    predicted = applied.predicted_rate_per_s
    seen = {t.topology: t for t in measured.topologies} if measured else {}
    return [
        _when(applied.began_ms),
        applied.plan_id,
        ", ".join(applied.topologies),
        applied.plan.scheduler,
        moved(applied),
        ", ".join(rate(predicted.get(name)) for name in applied.topologies),
        ", ".join(rate(seen[n].rate_per_s) if n in seen else UNKNOWN for n in applied.topologies),
        percent(measured.median_cpu_error if measured else None),
        percent(measured.worst_cpu_error if measured else None),
        verdict(entry),
    ]


def moved(applied: Receipt) -> str:
    """What an apply did to instances, in a few words."""
    parts = {
        "moved": sum(len(c.moves) for c in applied.changes),
        "added": sum(len(c.added) for c in applied.changes),
        "dropped": sum(len(c.dropped) for c in applied.changes),
    }
    said = [f"{count} {what}" for what, count in parts.items() if count]
    if any(c.shares_changed for c in applied.changes):
        said.append("shares")
    return ", ".join(said) or "nothing"


def entry_view(entry: Entry) -> RenderableType:
    """Everything about one plan."""
    applied, measured = entry.applied, entry.measured
    grid = Table.grid(padding=(0, 2))
    facts = {
        "plan": applied.plan_id,
        "scheduler": applied.plan.scheduler,
        "engine": applied.engine,
        "applied": f"{_when(applied.began_ms)} UTC, "
        f"after {(applied.ended_ms - applied.began_ms) / 1000:.1f} s: {applied.outcome}",
        "limited by": applied.plan.predicted.limited_by,
        "verdict": verdict(entry),
    }
    if measured is not None:
        facts["measured"] = (
            f"{_when(measured.from_ms)} to {_when(measured.to_ms)} UTC, "
            f"{measured.stretches} stretches in which everything ran as planned"
        )
    for name, value in facts.items():
        if value:
            grid.add_row(name, value)
    parts: list[RenderableType] = [Text(applied.id, "bold"), grid]
    for trouble in applied.trouble:
        parts.append(Text(f"trouble: {trouble}"))
    parts += ["", Text("Moved", "bold"), _changes(applied)]
    parts += ["", Text("Rates (tuples/s)", "bold"), _rates(entry)]
    parts += ["", Text(_cpu_title(measured), "bold"), _machines(entry)]
    return Group(*parts)


def _changes(applied: Receipt) -> RenderableType:
    if not any(c.is_change for c in applied.changes):
        return Text("nothing")
    table = _table("topology", "component", "what")
    for change in applied.changes:
        said = [f"{a} → {b}" for a, b in change.moves]
        said += [f"+ {machine}" for machine in change.added]
        said += [f"- {machine}" for machine in change.dropped]
        said += ["other shares"] if change.shares_changed else []
        table.add_row(change.topology, change.component, ", ".join(said))
    return table


def _rates(entry: Entry) -> Table:
    table = _table("topology")
    for column in ("predicted limit", "measured", "error", "latency (ms)"):
        table.add_column(column, justify="right")
    table.add_column("at its limit?")
    seen = {t.topology: t for t in entry.measured.topologies} if entry.measured else {}
    predicted = entry.applied.predicted_rate_per_s
    for name in entry.applied.topologies:
        topology = seen.get(name)
        if topology is None:
            table.add_row(name, rate(predicted.get(name)), UNKNOWN, UNKNOWN, UNKNOWN, "")
            continue
        table.add_row(
            name, rate(predicted.get(name)), rate(topology.rate_per_s),
            _signed(entry.rate_error(topology)), plain(topology.latency_ms, 3), topology.why,
        )  # fmt: skip
    return table


def _cpu_title(measured: Outcome | None) -> str:
    if measured is None:
        return "CPU (points)"
    return f"CPU (points), {measured.compared}, at the rate that was measured"


def _machines(entry: Entry) -> Table:
    table = _table("machine")
    for column in ("predicted at the limit", "predicted at this rate", "measured", "error"):
        table.add_column(column, justify="right")
    seen = {m.machine: m for m in entry.measured.machines} if entry.measured else {}
    for load in entry.applied.plan.predicted.machines:
        machine = seen.get(load.machine)
        table.add_row(
            load.machine,
            plain(load.cpu_points),
            plain(machine.expected_cpu_points if machine else None),
            plain(machine.cpu_points if machine else None),
            _signed(machine.error if machine else None),
        )
    return table


def _signed(error: float | None) -> str:
    return UNKNOWN if error is None else f"{100 * error:+.1f} %"


def _when(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column)
    return table


def entry_to_dict(entry: Entry) -> dict[str, object]:
    """One plan as JSON has it; unknown is null."""
    applied, measured = entry.applied, entry.measured
    predicted = applied.plan.predicted
    return {
        "id": applied.id,
        "plan": applied.plan_id,
        "engine": applied.engine,
        "scheduler": applied.plan.scheduler,
        "topologies": list(applied.topologies),
        "outcome": applied.outcome,
        "began_ms": applied.began_ms,
        "ended_ms": applied.ended_ms,
        "moved": {
            what: sum(len(getattr(c, name)) for c in applied.changes)
            for what, name in (("moves", "moves"), ("added", "added"), ("dropped", "dropped"))
        },
        "predicted": {
            "rate_per_s": dict(predicted.rate_per_s),
            "throughput_per_s": predicted.throughput_per_s,
            "limited_by": predicted.limited_by,
            "cpu_points": {m.machine: m.cpu_points for m in predicted.machines},
        },
        "measured": None if measured is None else _outcome_to_dict(entry, measured),
        "verdict": verdict(entry),
    }


def _outcome_to_dict(entry: Entry, measured: Outcome) -> dict[str, object]:
    return {
        "from_ms": measured.from_ms,
        "to_ms": measured.to_ms,
        "stretches": measured.stretches,
        "topologies": {
            t.topology: {
                "rate_per_s": t.rate_per_s,
                "throughput_per_s": t.throughput_per_s,
                "at_limit": t.at_limit,
                "why": t.why,
                "rate_error": entry.rate_error(t),
                "latency_ms": t.latency_ms,
            }
            for t in measured.topologies
        },
        "compared": measured.compared,
        "machines": {
            m.machine: {
                "cpu_points": m.cpu_points,
                "expected_cpu_points": m.expected_cpu_points,
                "error": m.error,
            }
            for m in measured.machines
        },
        "median_cpu_error": measured.median_cpu_error,
        "worst_cpu_error": measured.worst_cpu_error,
    }

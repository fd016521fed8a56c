"""The history of applied plans: how good predictions were, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from penstock.change.diff import ComponentChange
from penstock.change.history import APPLIED, BEGUN, Entry, MeasuredOutcome, Receipt
from penstock.planning.numbers import percent
from penstock.report.page import (
    Block,
    Column,
    Document,
    Number,
    Paragraph,
    Section,
    Table,
    field_list,
    paragraph,
    table_of,
)

#: Predictions this close are called right; the goal of every figure we publish.
AS_PREDICTED = 0.05


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


def _cpu_verdict(measured: MeasuredOutcome) -> str:
    error = measured.median_cpu_error
    if error is None:
        return "no CPU predicted"
    return "CPU as predicted" if error <= AS_PREDICTED else "CPU not as predicted"


def _rate_verdicts(entry: Entry, measured: MeasuredOutcome) -> list[str]:
    verdicts = []
    several = len(measured.topologies) > 1
    for topology in measured.topologies:
        error = entry.rate_error(topology)
        if not topology.at_limit:
            words = "not at its limit"
        elif error is None:
            words = "at its limit, no rate predicted"
        elif abs(error) <= AS_PREDICTED:
            words = "carries what was predicted"
        else:
            words = f"carries {'less' if error > 0 else 'more'} than predicted"
        verdicts.append(f"{topology.topology} {words}" if several else words)
    return verdicts


def history_page(entries: Sequence[Entry]) -> Document:
    """One line per plan, and how good predictions were over all of them."""
    if not entries:
        return Document("", (Section("", (paragraph("no plan was applied yet"),)),))
    table = table_of(
        entries,
        (Column("applied (UTC)"), lambda entry: _when(entry.applied.began_ms)),
        (Column("plan"), lambda entry: entry.applied.plan_id),
        (Column("topology"), lambda entry: ", ".join(entry.applied.topologies)),
        (Column("scheduler"), lambda entry: entry.applied.plan.scheduler),
        (Column("moved"), lambda entry: moved(entry.applied)),
        (Column("rate predicted"), _predicted_rates),
        (Column("measured"), _measured_rates),
        (Column("CPU off, median", "%"), lambda entry: _cpu_error(entry, "median_cpu_error")),
        (Column("worst", "%"), lambda entry: _cpu_error(entry, "worst_cpu_error")),
        (Column("verdict"), verdict),
    )
    return Document("", (Section("", (table,)), Section("", (paragraph(summary(entries)),))))


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
    words = f"{_plans(len(entries))}, {len(measured)} measured"
    if errors:
        middle = errors[(len(errors) - 1) // 2] / 2 + errors[len(errors) // 2] / 2
        words += (
            f"; CPU of {len(errors)} machines off by {percent(middle)} (median), "
            f"{percent(errors[-1])} (worst)"
        )
    if rates:
        return f"{words}; rate at the limit off by up to {percent(max(rates))} ({len(rates)} times)"
    return f"{words}; no topology was seen at its limit"


def _plans(count: int) -> str:
    return f"{count} plan{'s' if count != 1 else ''} applied"


def _predicted_rates(entry: Entry) -> Paragraph:
    predicted = entry.applied.predicted_rate_per_s
    return _rate_list([predicted.get(name) for name in entry.applied.topologies])


def _measured_rates(entry: Entry) -> Paragraph:
    measured = entry.measured.topologies if entry.measured else ()
    rates = {topology.topology: topology.rate_per_s for topology in measured}
    return _rate_list([rates.get(name) for name in entry.applied.topologies])


def _cpu_error(entry: Entry, name: str) -> float | None:
    return _percent(getattr(entry.measured, name) if entry.measured else None)


def _rate_list(rates: Sequence[float | None]) -> Paragraph:
    """The rates of several topologies in one cell."""
    parts: list[str | Number] = []
    for rate in rates:
        parts += [", ", Number(rate)] if parts else [Number(rate)]
    return Paragraph(tuple(parts))


def _percent(part: float | None) -> float | None:
    return None if part is None else 100 * part


def moved(applied: Receipt) -> str:
    """What an apply did to instances, in a few words."""
    parts = {
        "moved": sum(len(c.moves) for c in applied.changes),
        "added": sum(len(c.added) for c in applied.changes),
        "dropped": sum(len(c.dropped) for c in applied.changes),
    }
    words = [f"{count} {what}" for what, count in parts.items() if count]
    if any(c.shares_changed for c in applied.changes):
        words.append("shares")
    return ", ".join(words) or "nothing"


def entry_page(entry: Entry) -> Document:
    """Everything about one plan."""
    applied, measured = entry.applied, entry.measured
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
    trouble = [paragraph(f"trouble: {text}") for text in applied.trouble]
    sections = (
        Section("", (field_list(facts), *trouble)),
        Section("Moved", (_changes(applied),)),
        Section("Rates (tuples/s)", (_rates(entry),)),
        Section(_cpu_title(measured), (_machines(entry),)),
    )
    return Document(applied.id, sections)


def _changes(applied: Receipt) -> Block:
    if not any(c.is_change for c in applied.changes):
        return paragraph("nothing")
    return table_of(
        applied.changes,
        (Column("topology"), lambda change: change.topology),
        (Column("component"), lambda change: change.component),
        (Column("what"), _every_instance),
    )


def _every_instance(change: ComponentChange) -> str:
    words = [f"{a} → {b}" for a, b in change.moves]
    words += [f"+ {machine}" for machine in change.added]
    words += [f"- {machine}" for machine in change.dropped]
    return ", ".join([*words, *(["other shares"] if change.shares_changed else [])])


def _rates(entry: Entry) -> Table:
    predicted = entry.applied.predicted_rate_per_s
    seen = {t.topology: t for t in entry.measured.topologies} if entry.measured else {}
    rows = [(name, seen.get(name)) for name in entry.applied.topologies]
    return table_of(
        rows,
        (Column("topology"), lambda row: row[0]),
        (Column("predicted limit"), lambda row: predicted.get(row[0])),
        (Column("measured"), lambda row: row[1].rate_per_s if row[1] else None),
        (
            Column("error", "%", digits=1, signed=True),
            lambda row: _percent(entry.rate_error(row[1])) if row[1] else None,
        ),
        (Column("latency", "ms"), lambda row: row[1].latency_ms if row[1] else None),
        (Column("at its limit?"), lambda row: row[1].why if row[1] else ""),
    )


def _cpu_title(measured: MeasuredOutcome | None) -> str:
    if measured is None:
        return "CPU (points)"
    return f"CPU (points), {measured.compared}, at the rate that was measured"


def _machines(entry: Entry) -> Table:
    seen = {m.machine: m for m in entry.measured.machines} if entry.measured else {}
    rows = [(load, seen.get(load.machine)) for load in entry.applied.plan.predicted.machines]
    return table_of(
        rows,
        (Column("machine"), lambda row: row[0].machine),
        (Column("predicted at the limit"), lambda row: row[0].cpu_points),
        (
            Column("predicted at this rate"),
            lambda row: row[1].expected_cpu_points if row[1] else None,
        ),
        (Column("measured"), lambda row: row[1].cpu_points if row[1] else None),
        (
            Column("error", "%", digits=1, signed=True),
            lambda row: _percent(row[1].error) if row[1] else None,
        ),
    )


def _when(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def entry_dict(entry: Entry) -> dict[str, object]:
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
        "measured": None if measured is None else _outcome_dict(entry, measured),
        "verdict": verdict(entry),
    }


def _outcome_dict(entry: Entry, measured: MeasuredOutcome) -> dict[str, object]:
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

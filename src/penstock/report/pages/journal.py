"""The journal of the loop: what was decided, refused and detected, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from math import nan
from typing import Any

from penstock.report.charts.over_time import Panel, over_time_svg
from penstock.report.page import Cell, Column, Figure, Section, paragraph, table_of

#: A row of a journal as it says itself.
Row = Mapping[str, Any]
#: Before this, times are seconds since a rehearsal began.
_FIRST_DATE_S = 1e8
_NOTHING = "nothing"


def decisions(rows: Sequence[Row], last: int | None = None) -> list[dict[str, Any]]:
    """Turns in which something happened, the newest ``last``, each change with its outcome."""
    found = []
    for i, row in enumerate(rows):
        if row["decision"] is None and not row["detections"]:
            continue
        told = {**row, "outcome": None}
        if _acts(row):
            told["outcome"] = _outcome(rows, i)
        found.append(told)
    return found if last is None else found[-last:]


def journal_sections(
    rows: Sequence[Row], last: int | None = None, *, picture: bool = False
) -> tuple[Section, ...]:
    """A table of what happened, with ``picture`` the time it happened in."""
    if not rows:
        return (Section("Decisions of the loop", (paragraph("the journal is empty"),)),)
    happened = decisions(rows, last)
    turns = sum(row["turns"] for row in rows)
    words = f"{turns} turns from {_when(rows[0]['begin_s'])} to {_when(rows[-1]['end_s'])}"
    if not happened:
        return (Section("Decisions of the loop", (paragraph(f"{words}; nothing happened"),)),)
    table = table_of(
        happened,
        (Column("time"), lambda row: _when(row["begin_s"])),
        (Column("decision"), _what),
        *([(Column("became"), _became)] if any(row.get("proposal") for row in happened) else []),
        (Column("reason"), _why),
        (Column("machines"), _machines),
        (Column("moves"), lambda row: row["decision"]["moves"] if _acts(row) else None),
        (
            Column("carries"),
            lambda row: row["decision"]["rate_after_per_s"] if _acts(row) else None,
        ),
        (Column("carried"), lambda row: _of_outcome(row, "processed_per_s")),
        (Column("pause", "s"), lambda row: _of_outcome(row, "paused_s")),
    )
    sections = [Section("Decisions of the loop", (table, paragraph(words)))]
    if picture:
        sections.append(Section("Over time", (_figure(rows),)))
    return tuple(sections)


def _acts(row: Row) -> bool:
    """Whether it changed what runs; on a running cluster, its proposal says so."""
    if row["decision"] is None or row["decision"]["kind"] == _NOTHING:
        return False
    proposal = row.get("proposal")
    return proposal is None or proposal["status"] == "applied"


def _became(row: Row) -> str:
    proposal = row.get("proposal")
    if proposal is None:
        return ""
    by = f" by {proposal['who']}" if proposal["who"] else ""
    return f"{proposal['id']} {proposal['status']}{by}"


def _outcome(rows: Sequence[Row], change: int) -> dict[str, float | None]:
    """What a change carried at most until the next one, and how long it stopped everything."""
    rates, paused = [], None
    for row in rows[change + 1 :]:
        if _acts(row):
            break
        if row["processed_per_s"] is not None:
            rates.append(row["processed_per_s"])
        paused = row["paused_s"] if paused is None else paused
    return {"processed_per_s": max(rates, default=None), "paused_s": paused}


def _of_outcome(row: Row, name: str) -> Cell:
    return row["outcome"][name] if row["outcome"] else None


def _what(row: Row) -> str:
    decision = row["decision"]
    if decision is None:
        return "detected"
    return "refused" if decision["kind"] == _NOTHING else str(decision["kind"])


def _why(row: Row) -> str:
    """The reason, which rule said no, and what was detected."""
    decision = row["decision"]
    parts: list[str] = []
    if decision is not None:
        refused = [f"{what}: {rule} ({why})" for what, rule, why in decision["refused"]]
        parts = refused if decision["kind"] == _NOTHING and refused else [decision["reason"]]
    parts += [detection["why"] for detection in row["detections"] or ()]
    return "; ".join(dict.fromkeys(parts))


def _machines(row: Row) -> str:
    if not _acts(row):
        return ""
    before, after = row["decision"]["machines_before"], row["decision"]["machines_after"]
    return f"{before} → {after}"


def _when(time_s: float) -> str:
    if time_s >= _FIRST_DATE_S:
        return datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%d %H:%M:%S")
    minutes, seconds = divmod(round(time_s), 60)
    days, minutes = divmod(minutes, 1440)
    clock = f"{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}"
    return f"day {days + 1}, {clock}"


def _figure(rows: Sequence[Row]) -> Figure:
    times = [row["end_s"] for row in rows]

    def line(name: str) -> list[float]:
        return [nan if row[name] is None else row[name] for row in rows]

    machines = [float(len({machine for _, machine, _, _ in row["placement"]})) for row in rows]
    panels = [
        Panel(
            "tuples/s", (("offered", line("offered_per_s")), ("processed", line("processed_per_s")))
        ),
        Panel("machines in use", (("machines", machines),)),
        Panel("longest 95th percentile, s", (("latency", line("latency_s")),), logarithmic=True),
    ]
    changes = [(row["begin_s"], "") for row in rows if _acts(row)]
    about = "offered and processed rate, machines and latency over time, changes marked"
    return Figure("The loop", about, partial(_draw, times, panels, changes))


def _draw(
    times: list[float], panels: list[Panel], changes: list[tuple[float, str]], width: int
) -> str:
    return over_time_svg(times, panels, None, changes, width)

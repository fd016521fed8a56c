"""A rehearsal: what each policy cost on each load, and what happened over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from statistics import mean

import numpy as np

from penstock.control.scores import RehearsalSeries, Score
from penstock.files.answer_formats import answer_head
from penstock.report.charts.over_time import Panel, over_time_svg
from penstock.report.page import (
    Block,
    Cell,
    Column,
    Document,
    Figure,
    Number,
    Section,
    Table,
    paragraph,
    table_of,
)

#: Lines that can be told apart in one picture.
_MOST_LINES = 4


@dataclass(frozen=True)
class RehearsedRow:
    """What one policy did on one load: all its seeds, and the first one over time."""

    load: str
    policy: str
    scores: tuple[Score, ...]
    series: RehearsalSeries

    def mean(self, read: Callable[[Score], float]) -> float:
        return mean(read(score) for score in self.scores)

    def number(self, read: Callable[[Score], float], unit: str = "", digits: int = 1) -> Number:
        """The mean over seeds, with its ends where there are several."""
        values = [read(score) for score in self.scores]
        if len(values) == 1:
            return Number(values[0], unit, digits=digits)
        return Number(mean(values), unit, low=min(values), high=max(values), digits=digits)


def rehearsed_rows(rows: Sequence[tuple[Score, RehearsalSeries]]) -> list[RehearsedRow]:
    """Seeds put together, in the order in which they come."""
    grouped: dict[tuple[str, str], list[tuple[Score, RehearsalSeries]]] = {}
    for score, series in rows:
        grouped.setdefault((score.load, score.policy), []).append((score, series))
    return [
        RehearsedRow(load, policy, tuple(score for score, _ in members), members[0][1])
        for (load, policy), members in grouped.items()
    ]


def rehearsal_page(
    title: str, rows: Sequence[RehearsedRow], best: str | None, *, pictures: bool = False
) -> Document:
    """The table, where regret comes from, and with ``pictures`` each load over time."""
    blocks: list[Block] = [_costs(rows), paragraph(_WHAT_COUNTS)]
    if best is not None:
        blocks.append(
            paragraph(
                f"Fewest machine-hours of those over the target at most 1 % of the time, or else "
                f"the least time over it: {best}."
            )
        )
    sections = [
        Section("", tuple(blocks)),
        Section("Where regret comes from", (_regret(rows), paragraph(_PARTS))),
        Section("Changes", (_changes(rows),)),
    ]
    if pictures:
        loads = list(dict.fromkeys(row.load for row in rows))
        figures = [_figure(load, [r for r in rows if r.load == load]) for load in loads]
        sections.append(Section("Over time", tuple(figures)))
    return Document(title, tuple(sections))


_WHAT_COUNTS = (
    "Over target: part of the time in which the 95th percentile of latency is above the target, a "
    "missing value counting as above; own: without the 120 s after a machine was lost. Regret: "
    "machine-hours over the least that any plan needs for each five minutes' mean rate, less one."
)
_PARTS = (
    "holding: one plan for as long as it was in force; forecast: more was foreseen than came, with "
    "the room to drain pauses; plans: more machines than the least for what they carry; pauses: "
    "machines that leave while others run already."
)


def _table(
    rows: Sequence[RehearsedRow], *columns: tuple[Column, Callable[[RehearsedRow], Cell]]
) -> Table:
    return table_of(
        rows,
        (Column("load"), lambda row: row.load),
        (Column("policy"), lambda row: row.policy),
        *columns,
    )


def _costs(rows: Sequence[RehearsedRow]) -> Table:
    return _table(
        rows,
        (Column("mean machines"), lambda r: r.number(lambda s: s.mean_machines)),
        (Column("regret", "%"), lambda r: r.number(lambda s: 100 * s.regret.total, "%")),
        (Column("over target", "%"), lambda r: r.number(lambda s: 100 * s.over_target, "%", 2)),
        (Column("own", "%"), lambda r: r.number(lambda s: 100 * s.over_target_own, "%", 2)),
        (Column("changes"), lambda r: r.number(lambda s: float(s.changes), "", 0)),
        (Column("by faults"), lambda r: r.number(lambda s: float(s.fault_changes), "", 0)),
        (Column("moves"), lambda r: r.number(lambda s: float(s.moves), "", 0)),
    )


def _regret(rows: Sequence[RehearsedRow]) -> Table:
    return _table(
        rows,
        (Column("holding", "%"), lambda r: r.number(lambda s: 100 * s.regret.holding, "%")),
        (Column("forecast", "%"), lambda r: r.number(lambda s: 100 * s.regret.forecast, "%")),
        (Column("plans", "%"), lambda r: r.number(lambda s: 100 * s.regret.plans, "%")),
        (Column("pauses", "%"), lambda r: r.number(lambda s: 100 * s.regret.pauses, "%", 2)),
    )


def _changes(rows: Sequence[RehearsedRow]) -> Table:
    return _table(
        rows,
        (Column("shares only"), lambda r: r.number(lambda s: float(s.share_changes), "", 0)),
        (Column("settled after", "s"), lambda r: r.number(lambda s: s.settling_s, "s", 0)),
        (Column("overshoot", "%"), lambda r: r.number(lambda s: 100 * s.overshoot, "%")),
        (Column("tuples late"), lambda r: r.number(lambda s: s.late, "", 0)),
        (Column("highest backlog"), lambda r: r.number(lambda s: s.highest_backlog, "", 0)),
        (Column("refused"), lambda r: r.number(lambda s: float(s.refusals), "", 0)),
        (Column("price"), lambda r: _known(r, lambda s: s.price)),
        (Column("energy", "kWh"), lambda r: _known(r, lambda s: s.energy_kwh)),
    ).without_unknown()


def _known(row: RehearsedRow, read: Callable[[Score], float | None]) -> float | None:
    values = [value for score in row.scores if (value := read(score)) is not None]
    return mean(values) if values else None


def _figure(load: str, rows: Sequence[RehearsedRow]) -> Figure:
    """Offered and carried, machines, latency: the first seed of each policy."""
    shown = rows[:_MOST_LINES]
    first = shown[0].series
    carried = [(row.policy, row.series.carries_per_s.tolist()) for row in shown[: _MOST_LINES - 1]]
    machines = [(row.policy, row.series.machines.tolist()) for row in shown[: _MOST_LINES - 1]]
    latency = [
        (row.policy, np.maximum(np.nan_to_num(row.series.latency_s), 1e-3).tolist())
        for row in shown
    ]
    panels = [
        Panel("tuples/s", (("offered", first.offered_per_s.tolist()), *carried)),
        Panel("machines in use", (("least", first.least.tolist()), *machines)),
        Panel("longest 95th percentile, s", tuple(latency), logarithmic=True),
    ]
    names = ", ".join(row.policy for row in shown)
    draw = partial(_draw, first.end_s.tolist(), panels)
    return Figure(load, f"{load}: offered rate, machines and latency of {names} over time", draw)


def _draw(times_s: list[float], panels: list[Panel], width: int) -> str:
    return over_time_svg(times_s, panels, None, (), width)


def rehearsal_dict(rows: Sequence[RehearsedRow], best: str | None) -> Mapping[str, object]:
    """The same as facts, a row for each load, policy and seed."""
    scores = [
        {**asdict(score), "mean_machines": score.mean_machines, "regret_total": score.regret.total}
        for row in rows
        for score in row.scores
    ]
    return {**answer_head("rehearsal"), "best": best, "rows": scores}

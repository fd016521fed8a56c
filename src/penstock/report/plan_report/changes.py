"""Before and after: what moves, and what that does to the rate and to the machines."""

from __future__ import annotations

from penstock.change.diff import Changes, ComponentChange
from penstock.model.plan import Plan
from penstock.planning.machine_use import machine_uses
from penstock.report.charts.bars import Pair, pairs_svg
from penstock.report.name_ranges import change_words, name_ranges
from penstock.report.page import (
    Block,
    Cell,
    Column,
    Figure,
    KeyFigure,
    KeyFigures,
    Number,
    Section,
    Source,
    Table,
    paragraph,
    percent,
)
from penstock.report.plan_report.facts import PlanReport

_MOST_DRAWN = 20
_MOST_WORDS, _MOST_RANGES = 12, 4


def changes(report: PlanReport) -> Section | None:
    if report.changes is None or report.before is None:
        return None
    changed, before = report.changes, report.before
    blocks: list[Block] = [_key_figures(changed)]
    if not changed.any:
        blocks.append(paragraph("Nothing moves."))
        return Section("Before and after", tuple(blocks))
    blocks += [_rates(report, before), _components(changed), _figure(report.plan, before)]
    return Section("Before and after", tuple(blocks))


def _key_figures(changed: Changes) -> KeyFigures:
    return KeyFigures(
        (
            KeyFigure("Instances that move", Number(changed.moves)),
            KeyFigure("Added", Number(changed.added)),
            KeyFigure("Dropped", Number(changed.dropped)),
            _machines("Machines taken", changed.machines_taken),
            _machines("Machines freed", changed.machines_freed),
        )
    )


def _machines(name: str, machines: tuple[str, ...]) -> KeyFigure:
    return KeyFigure(name, Number(len(machines)), name_ranges(machines, _MOST_RANGES))


def _rates(report: PlanReport, before: Plan) -> Table:
    # The older plan's rate was worked out here, too, with the costs that it carries.
    old, new = dict(before.predicted.rate_per_s), dict(report.plan.predicted.rate_per_s)
    rows: list[tuple[Cell, ...]] = []
    for name in dict.fromkeys([*old, *new]):
        was, will = old.get(name), new.get(name)
        gain = percent(will / was - 1, Source.RUN) if was and will is not None else None
        rows.append((name, was, will, gain))
    columns = (
        Column("topology"),
        Column("before", "tuples/s"),
        Column("after", "tuples/s"),
        Column("change", "%"),
    )
    return Table(f"Rates: before by {before.scheduler}, after by {report.plan.scheduler}", columns,
                 tuple(rows))  # fmt: skip


def _components(changed: Changes) -> Table:
    several = len({change.topology for change in changed.components}) > 1
    rows: list[tuple[Cell, ...]] = [
        (
            f"{change.topology}/{change.component}" if several else change.component,
            change.before,
            change.after,
            len(change.moves),
            _words(change),
        )
        for change in changed.components
        if change.is_change
    ]
    columns = (
        Column("component"),
        Column("before", "instances"),
        Column("after", "instances"),
        Column("move", "instances"),
        Column("what happens"),
    )
    return Table("What moves", columns, tuple(rows))


def _words(change: ComponentChange) -> str:
    words = change_words(change)
    more = [f"{len(words) - _MOST_WORDS} more"] if len(words) > _MOST_WORDS else []
    return "; ".join([*words[:_MOST_WORDS], *more])


def _figure(after: Plan, before: Plan) -> Figure:
    old = {use.name: use.utilisation for use in machine_uses(before)}
    new = {use.name: use.utilisation for use in machine_uses(after)}
    names = list(dict.fromkeys([*new, *old]))
    pairs = [
        Pair(
            name,
            old.get(name, 0.0),
            new.get(name, 0.0),
            f"{100 * old.get(name, 0.0):.0f} → {100 * new.get(name, 0.0):.0f} %",
        )
        for name in names
    ]
    drawn = sorted(pairs, key=lambda pair: -abs(pair.after - pair.before))[:_MOST_DRAWN]
    most = max([1.0, *(max(p.before, p.after) for p in drawn)])
    caption = "CPU of each machine before and after, each plan at its own rate"
    if len(pairs) > len(drawn):
        caption += f"; the {len(drawn)} of {len(pairs)} machines that change most"
    columns = (Column("machine"), Column("before", "%"), Column("after", "%"))
    rows = tuple((p.name, 100 * p.before, 100 * p.after) for p in pairs)
    alt = "; ".join(f"{p.name} {p.words}" for p in drawn[:8])
    return Figure(
        f"{caption}.",
        f"{alt}.",
        lambda width: pairs_svg(drawn, most, "CPU in use, %", width),
        Table("CPU of each machine before and after", columns, rows, folded=True),
    )

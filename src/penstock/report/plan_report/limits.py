"""Where the limit is: which machines are full first, which component costs most, what is next."""

from __future__ import annotations

import numpy as np

from penstock.evaluate.capacity import ROUNDING_POINTS, Resource
from penstock.planning.numbers import rate
from penstock.planning.standing import Standing
from penstock.report.charts.bars import Bar, Mark, bars_svg
from penstock.report.page import (
    Block,
    Cell,
    Column,
    Figure,
    Number,
    Paragraph,
    Section,
    Table,
    paragraph,
    percent,
)
from penstock.report.plan_report.facts import PlanReport

_RATE = "tuples/s"
_MOST_DRAWN, _MOST_LISTED = 12, 40


def limits(report: PlanReport) -> Section | None:
    """Left out where there are no rates: then only requests limit."""
    standing = report.standing
    if standing is None or report.rate_per_s is None:
        return None
    blocks: list[Block] = [*_sentences(report, standing), _figure(report, standing)]
    blocks += [_machines(report, standing), _worth(report, standing)]
    return Section("Where the limit is", tuple(blocks))


def _sentences(report: PlanReport, standing: Standing) -> list[Paragraph]:
    lines = [paragraph(f"What runs out first: {standing.judged.limited_by}.")]
    full = standing.full_together
    if len(full) > 1:
        lines.append(
            paragraph(
                Number(len(full)), " of ", Number(len(standing.machines)),
                " machines in use reach full CPU together.",
            )
        )  # fmt: skip
    if standing.judged.capacity.limit.resource is Resource.THREAD_CPU:
        lines.append(
            paragraph(
                "The limit is a thread, not a machine: more instances of that component use what "
                "the machines have left."
            )
        )
    following = standing.next_limit
    if following is not None and standing.scale > 0:
        name = report.plan.problem.cluster.machines[following.machine].name
        lines.append(
            paragraph(
                f"The next machine to be full is {name}, at ",
                Number(following.full_at * report.demand, _RATE),
                " (",
                percent(following.full_at / standing.scale - 1),
                " more).",
            )
        )
    return lines


def _figure(report: PlanReport, standing: Standing) -> Figure:
    machines = report.plan.problem.cluster.machines
    finite = [m for m in standing.machines if np.isfinite(m.full_at)][:_MOST_DRAWN]
    bars = [
        Bar(
            f"{machines[m.machine].name} ({machines[m.machine].type})",
            m.full_at * report.demand,
            rate(m.full_at * report.demand),
            strong=m in standing.full_together,
        )
        for m in finite
    ]
    carried = report.rate_per_s or 0.0
    marks = [Mark(carried, f"plan {rate(carried)}")]
    hidden = len(standing.machines) - len(finite)
    caption = "The input at which the CPU of each machine is full, the first to fill up on top"
    caption += f"; {hidden} more machines have more room." if hidden > 0 else "."
    first = bars[0] if bars else None
    alt = f"{first.name} is full at {first.words} tuples/s" if first else "no machine fills up"
    return Figure(
        caption,
        f"{alt}; the plan carries {rate(carried)} tuples/s.",
        lambda width: bars_svg(bars, marks, "input of all topologies, tuples/s", width),
    )


def _machines(report: PlanReport, standing: Standing) -> Table:
    machines = report.plan.problem.cluster.machines
    rows: list[tuple[Cell, ...]] = [
        (
            machines[m.machine].name,
            machines[m.machine].type,
            m.full_at * report.demand if np.isfinite(m.full_at) else "never",
            m.spare_points if m.spare_points > ROUNDING_POINTS else 0.0,
        )
        for m in standing.machines[:_MOST_LISTED]
    ]
    columns = (
        Column("machine"),
        Column("type"),
        Column("CPU full at", _RATE),
        Column("CPU left", "points"),
    )
    hidden = len(standing.machines) - len(rows)
    caption = "Machines in the order they fill up"
    caption += f", the first {_MOST_LISTED} of {len(standing.machines)}" if hidden else ""
    return Table(caption, columns, tuple(rows), folded=True)


def _worth(report: PlanReport, standing: Standing) -> Table:
    """What one more machine, or cheaper code, is worth at most: the bound's prices."""
    cluster = report.plan.problem.cluster
    rows: list[tuple[Cell, ...]] = [
        (f"one more {kind.name}", float(standing.bound.added_by_one_machine[t]) * report.demand)
        for t, kind in enumerate(cluster.types)
        if cluster.machines_per_type[t]
    ]
    labels = report.plan.problem.labels
    bound = standing.bound.scale * report.demand
    for component in sorted(standing.components, key=lambda c: -c.weight):
        if component.weight > 0 and np.isfinite(bound):
            gain = 0.01 * component.weight * bound
            rows.append((f"{labels[component.component]} 1 % cheaper", gain))
    columns = (Column("change"), Column("can add at most", _RATE))
    return Table("What would raise the limit, by the bound's prices", columns, tuple(rows))

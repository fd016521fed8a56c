"""What limits a plan, in words and as facts."""

from __future__ import annotations

import numpy as np

from penstock.evaluate.agreed import agreed_scale, held_back_by
from penstock.evaluate.hot_keys import hottest_key_in_words
from penstock.evaluate.predict import OPTIMAL_WITHIN
from penstock.files.answer_formats import answer_head
from penstock.planning.numbers import percent, rate
from penstock.planning.standing import MachineStanding, Standing
from penstock.report.page import (
    Block,
    Cell,
    Column,
    Document,
    Number,
    Section,
    Table,
    paragraph,
    table_of,
)

_MOST_MACHINES = 12


def limits_page(standing: Standing, *, all_machines: bool) -> Document:
    """The limit, the next one, prices, components, machines."""
    listed = standing.machines if all_machines else standing.machines[:_MOST_MACHINES]
    hidden = len(standing.machines) - len(listed)
    more = [paragraph(f"… and {hidden} more machines (--all-machines lists all)")]
    blocks: list[Block] = [
        *map(paragraph, limit_sentences(standing)),
        _components(standing),
        _machines(standing, listed),
        *(more if hidden else []),
    ]
    return Document("", (Section("", tuple(blocks)),))


def limit_sentences(standing: Standing) -> list[str]:
    """What limits it, what would be next, what machines and components are worth."""
    problem, demand = standing.problem, float(standing.problem.demand.sum())
    full = standing.full_together
    lines = [
        f"carries {rate(standing.scale * demand)} tuples/s; limit: {standing.judged.limited_by}"
    ]
    if len(full) > 1:
        lines.append(f"{len(full)} of {len(standing.machines)} machines in use are full together")
    held_back = held_back_by(standing.judged)
    if held_back:
        run_at = agreed_scale(standing.judged) * demand
        lines.append(f"is to be run at {rate(run_at)} tuples/s: {held_back.partition(';')[0]}")
    following = standing.next_limit
    if following is not None and standing.scale > 0:
        name = problem.cluster.machines[following.machine].name
        more = following.full_at / standing.scale - 1.0
        lines.append(
            f"next limit: {name}, at {rate(following.full_at * demand)} tuples/s "
            f"({percent(more)} more)"
        )
    return [*lines, *_certificate(standing, demand), *_prices(standing, demand)]


def _certificate(standing: Standing, demand: float) -> list[str]:
    """How much better a plan can be, and what that covers."""
    most = standing.proven_scale
    if most is None or standing.problem.scale_asked is not None or standing.scale <= 0:
        return []
    scope = "with any instance counts in any places; penstock certify writes the proof down"
    if standing.scale >= most * (1.0 - OPTIMAL_WITHIN):
        return [f"proven optimal: no plan on these machines carries more, {scope}"]
    more = percent(most / standing.scale - 1.0)
    limit = f"more than {rate(most * demand)} tuples/s ({more} more)"
    return [f"no plan on these machines carries {limit}, {scope}"]


def _prices(standing: Standing, demand: float) -> list[str]:
    """The bound's shadow prices in words."""
    bound, cluster = standing.bound, standing.problem.cluster
    if not 0 < bound.scale < np.inf:
        return []
    if bound.hottest_key is not None:
        return [hottest_key_in_words(standing.problem, bound.hottest_key)]
    lines = []
    for t, kind in enumerate(cluster.types):
        if not cluster.machines_per_type[t]:
            continue
        gain = float(bound.added_by_one_machine[t]) * demand
        worth = (
            f"one more {kind.name} can add up to {rate(gain)} tuples/s"
            if gain > 1e-9 * bound.scale * demand
            else f"one more {kind.name} adds nothing: machines of its type are not the bottleneck"
        )
        lines.append(worth)
    dearest = max(standing.components, key=lambda c: c.weight)
    if dearest.weight > 0:
        label = standing.problem.labels[dearest.component]
        lines.append(
            f"what the cluster can carry depends most on {label}: 1 % off its cost per "
            f"tuple is worth {dearest.weight:.2f} %"
        )
    return lines


def _components(standing: Standing) -> Table:
    labels, demand = standing.problem.labels, float(standing.problem.demand.sum())
    return table_of(
        standing.components,
        (Column("component"), lambda row: labels[row.component]),
        (Column("instances"), lambda row: row.instances),
        (Column("CPU points", digits=1), lambda row: row.cpu_points),
        (Column("of all CPU", "%"), lambda row: 100 * row.cpu_part),
        (Column("full at"), lambda row: _at(row.full_at, demand)),
        (Column("1 % cheaper is worth", "%", digits=2), lambda row: row.weight),
    )


def _machines(standing: Standing, listed: tuple[MachineStanding, ...]) -> Table:
    machines, demand = standing.problem.cluster.machines, float(standing.problem.demand.sum())
    return table_of(
        listed,
        (Column("machine"), lambda row: machines[row.machine].name),
        (Column("type"), lambda row: machines[row.machine].type),
        (Column("full at"), lambda row: _at(row.full_at, demand)),
        (Column("points left", digits=1), lambda row: max(row.spare_points, 0.0)),
    )


def _at(scale: float, demand: float) -> Cell:
    return paragraph(Number(scale * demand, "tuples/s")) if np.isfinite(scale) else "never"


def limits_dict(standing: Standing) -> dict[str, object]:
    """The same as facts; rates are of all topologies together."""
    problem, demand = standing.problem, float(standing.problem.demand.sum())

    def finite(scale: float) -> float | None:
        return scale * demand if np.isfinite(scale) else None

    return {
        **answer_head("standing"),
        "rate_per_s": finite(standing.scale),
        "bound_per_s": finite(standing.bound.scale),
        "limited_by": standing.judged.limited_by,
        "full_together": [problem.cluster.machines[m.machine].name for m in standing.full_together],
        "one_more_machine_adds_per_s": {
            kind.name: float(standing.bound.added_by_one_machine[t]) * demand
            for t, kind in enumerate(problem.cluster.types)
        },
        "components": [
            {
                "component": problem.labels[row.component],
                "instances": row.instances,
                "cpu_points": row.cpu_points,
                "cpu_part": row.cpu_part,
                "full_at_per_s": finite(row.full_at),
                "weight": row.weight,
            }
            for row in standing.components
        ],
        "machines": [
            {
                "machine": problem.cluster.machines[row.machine].name,
                "full_at_per_s": finite(row.full_at),
                "spare_points": row.spare_points,
            }
            for row in standing.machines
        ],
        "in_words": limit_sentences(standing),
    }

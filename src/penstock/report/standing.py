"""What limits a plan, in words and as facts."""

from __future__ import annotations

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.evaluate.agreed import agreed_scale, held_back_by
from penstock.evaluate.bound import hottest_key_in_words
from penstock.files.answer_formats import answer_head
from penstock.planning.numbers import count, percent, points, rate
from penstock.planning.standing import MachineStanding, Standing

_MOST_MACHINES = 12


def standing_view(found: Standing, *, all_machines: bool) -> RenderableType:
    """The limit, the next one, prices, components, machines."""
    lines = [Text(line) for line in sentences(found)]
    shown = found.machines if all_machines else found.machines[:_MOST_MACHINES]
    hidden = len(found.machines) - len(shown)
    more = [Text(f"and {hidden} more machines (--all-machines lists all)")] if hidden else []
    return Group(*lines, _components(found), _machines(found, shown), *more)


def sentences(found: Standing) -> list[str]:
    """What limits it, what would be next, what machines and components are worth."""
    problem, demand = found.problem, float(found.problem.demand.sum())
    full = found.full_together
    lines = [f"carries {rate(found.scale * demand)} tuples/s; limit: {found.judged.limited_by}"]
    if len(full) > 1:
        lines.append(f"{len(full)} of {len(found.machines)} machines in use are full together")
    held_back = held_back_by(found.judged)
    if held_back:
        run_at = agreed_scale(found.judged) * demand
        lines.append(f"is to be run at {rate(run_at)} tuples/s: {held_back.partition(';')[0]}")
    following = found.next_limit
    if following is not None and found.scale > 0:
        name = problem.cluster.machines[following.machine].name
        more = following.full_at / found.scale - 1.0
        lines.append(
            f"next limit: {name}, at {rate(following.full_at * demand)} tuples/s "
            f"({percent(more)} more)"
        )
    return [*lines, *_prices(found, demand)]


def _prices(found: Standing, demand: float) -> list[str]:
    """The bound's shadow prices in words."""
    bound, cluster = found.bound, found.problem.cluster
    if not 0 < bound.scale < np.inf:
        return []
    if bound.hottest_key is not None:
        return [hottest_key_in_words(found.problem, bound.hottest_key)]
    lines = []
    for t, kind in enumerate(cluster.types):
        if not cluster.machines_per_type[t]:
            continue
        gain = float(bound.added_by_one_machine[t]) * demand
        worth = (
            f"one more {kind.name} can add up to {rate(gain)} tuples/s"
            if gain > 1e-9 * bound.scale * demand
            else f"one more {kind.name} adds nothing: its kind is not what is short"
        )
        lines.append(worth)
    dearest = max(found.components, key=lambda c: c.weight)
    if dearest.weight > 0:
        label = found.problem.labels[dearest.component]
        lines.append(
            f"what the cluster can carry depends most on {label}: 1 % off its cost per "
            f"tuple is worth {dearest.weight:.2f} %"
        )
    return lines


def _components(found: Standing) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("component")
    for column in ("instances", "CPU points", "of all CPU", "full at", "1 % cheaper is worth"):
        table.add_column(column, justify="right")
    demand = float(found.problem.demand.sum())
    for row in found.components:
        table.add_row(
            found.problem.labels[row.component],
            count(row.instances),
            points(row.cpu_points),
            percent(row.cpu_part),
            _at(row.full_at, demand),
            f"{row.weight:.2f} %",
        )
    return table


def _machines(found: Standing, shown: tuple[MachineStanding, ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in ("machine", "type"):
        table.add_column(column)
    for column in ("full at", "points left"):
        table.add_column(column, justify="right")
    demand = float(found.problem.demand.sum())
    for row in shown:
        machine = found.problem.cluster.machines[row.machine]
        spare = points(max(row.spare_points, 0.0))
        table.add_row(machine.name, machine.type, _at(row.full_at, demand), spare)
    return table


def _at(scale: float, demand: float) -> str:
    return f"{rate(scale * demand)}/s" if np.isfinite(scale) else "never"


def standing_dict(found: Standing) -> dict[str, object]:
    """The same as facts; rates are of all topologies together."""
    problem, demand = found.problem, float(found.problem.demand.sum())

    def finite(scale: float) -> float | None:
        return scale * demand if np.isfinite(scale) else None

    return {
        **answer_head("standing"),
        "rate_per_s": finite(found.scale),
        "bound_per_s": finite(found.bound.scale),
        "limited_by": found.judged.limited_by,
        "full_together": [problem.cluster.machines[m.machine].name for m in found.full_together],
        "one_more_machine_adds_per_s": {
            kind.name: float(found.bound.added_by_one_machine[t]) * demand
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
            for row in found.components
        ],
        "machines": [
            {
                "machine": problem.cluster.machines[row.machine].name,
                "full_at_per_s": finite(row.full_at),
                "spare_points": row.spare_points,
            }
            for row in found.machines
        ],
        "in_words": sentences(found),
    }

"""A machine or a component of a plan explained: in words, as tables and as facts."""

from __future__ import annotations

import math

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.evaluate.bound import upper_bound
from penstock.evaluate.capacity import Resource
from penstock.evaluate.occupancy import FULL, Occupancy, Residents, ResourceUse
from penstock.files.answer_formats import answer_head
from penstock.planning.numbers import UNKNOWN, count, counted, percent, plain, points, rate
from penstock.report.text import plain_table

_MOST_LISTED = 25


def machine_view(found: Occupancy, machine: int) -> RenderableType:
    """What runs on a machine and why, what is full, what is left."""
    lines = [Text(line) for line in machine_sentences(found, machine)]
    residents = found.on(machine)
    tables = [_resources(found.resources_of(machine))]
    if residents:
        tables.append(_residents(found, residents, "component"))
    return Group(Text(_machine_title(found, machine), "bold"), *lines, *tables)


def component_view(found: Occupancy, component: int, *, all_machines: bool) -> RenderableType:
    """Where a component runs, what it costs there, and how full its instances are."""
    residents = sorted(found.of(component), key=lambda row: -(row.thread_load or 0.0))
    shown = residents if all_machines else residents[:_MOST_LISTED]
    hidden = len(residents) - len(shown)
    more = (
        [Text(f"… {counted(hidden, 'more machine')} (--all-machines lists all)")] if hidden else []
    )
    return Group(
        Text(_component_title(found, component), "bold"),
        *map(Text, component_sentences(found, component)),
        _residents(found, shown, "machine"),
        *more,
    )


def _machine_title(found: Occupancy, machine: int) -> str:
    one = found.problem.cluster.machines[machine]
    number = sum(row.instances for row in found.on(machine))
    return f"{one.name} ({one.type}, {one.rack}) runs {counted(number, 'instance')}"


def _component_title(found: Occupancy, component: int) -> str:
    residents = found.of(component)
    number = counted(sum(row.instances for row in residents), "instance")
    return f"{found.problem.labels[component]}: {number} on {counted(len(residents), 'machine')}"


def machine_sentences(found: Occupancy, machine: int) -> list[str]:
    """Whether it limits the plan, what is full and when it will be, or why it is idle."""
    if not found.on(machine):
        return _why_idle(found, machine)
    lines = []
    if found.judged is not None and _limiting_machine(found) == machine:
        lines.append(f"it limits the plan: {found.judged.limited_by}")
    full = [use.name for use in found.resources_of(machine) if use.is_full]
    full += [
        f"a thread of {found.problem.labels[row.component]}"
        for row in found.on(machine)
        if (row.thread_load or 0.0) >= FULL
    ]
    lines.append(f"full: {', '.join(full)}" if full else "nothing here is full")
    return lines + _when_full(found, machine)


def _limiting_machine(found: Occupancy) -> int:
    assert found.judged is not None
    limit = found.judged.capacity.limit
    if limit.resource is Resource.THREAD_CPU:
        return int(found.placement.machine[limit.index])
    return limit.index


def _when_full(found: Occupancy, machine: int) -> list[str]:
    at = found.full_at(machine)
    if found.judged is None or at is None or at <= found.judged.scale / FULL:
        return []
    unit = float(found.problem.demand.sum())
    scale = found.judged.scale
    more = f" ({percent(at / scale - 1)} more than the plan carries)" if scale > 0 else ""
    return [f"its CPU would be full at {rate(at * unit)} tuples/s{more}"]


def _why_idle(found: Occupancy, machine: int) -> list[str]:
    problem = found.problem
    one = problem.cluster.machines[machine]
    if one.name in problem.terms.avoid:
        return ["nothing runs here: the plan is to avoid it"]
    if found.judged is None:
        return ["nothing runs here: the plan does without it"]
    kind = problem.cluster.type_names[one.type]
    bound = upper_bound(problem)
    added = float(bound.added_by_one_machine[kind])
    if added <= 1e-9 * bound.scale:
        return [f"nothing runs here: machines of type {one.type} are not what is short"]
    worth = rate(added * float(problem.demand.sum()))
    return [
        "nothing runs here: the plan does without it",
        f"at best a {one.type} is worth {worth} tuples/s: another plan may use it",
    ]


def component_sentences(found: Occupancy, component: int) -> list[str]:
    """Its input, its fullest thread, and where tuples cost least."""
    residents = found.of(component)
    if not residents:
        return ["it is not placed"]
    if found.judged is None:
        asked = sum(row.cpu_points for row in residents)
        return [f"asks for {points(asked)} CPU points; without a profile there are no rates"]
    cluster = found.problem.cluster
    total = sum(row.rate_per_s or 0.0 for row in residents)
    cpu = sum(row.cpu_points for row in residents)
    lines = [f"takes in {rate(total)} tuples/s and uses {points(cpu)} CPU points"]
    busiest = max(residents, key=lambda row: row.thread_load or 0.0)
    where = cluster.machines[busiest.machine].name
    lines.append(
        f"its busiest instance, on {where}, uses {percent(busiest.thread_load)} of its thread"
    )
    here = [t for t in range(len(cluster.types)) if cluster.machines_per_type[t]]
    order = sorted(here, key=lambda t: found.problem.e[component, t])
    costs = ", ".join(
        f"{plain(float(found.problem.e[component, t]), 3)} on {cluster.types[t].name}"
        for t in order
    )
    lines.append(f"CPU points per tuple/s: {costs}")
    return lines


def _resources(uses: tuple[ResourceUse, ...]) -> Table:
    table = plain_table("resource")
    for column in ("used", "of", "left", "part"):
        table.add_column(column, justify="right")
    for use in uses:
        values = (plain(use.used), plain(use.available), plain(use.left), percent(use.part))
        table.add_row(use.name, *values)
    return table


def _residents(found: Occupancy, rows: list[Residents] | tuple[Residents, ...], by: str) -> Table:
    table = plain_table(by, *(["type"] if by == "machine" else []))
    for column in ("instances", "input/s", "CPU points", "busiest thread"):
        table.add_column(column, justify="right")
    table.add_column("a tuple's cost here")
    for row in rows:
        if by == "machine":
            machine = found.problem.cluster.machines[row.machine]
            names = [machine.name, machine.type]
        else:
            names = [found.problem.labels[row.component]]
        table.add_row(
            *names,
            count(row.instances),
            rate(row.rate_per_s),
            points(row.cpu_points),
            percent(row.thread_load, 0),
            _cost_words(found, row),
        )
    return table


def _cost_words(found: Occupancy, row: Residents) -> str:
    if row.relative_cost is None:
        return UNKNOWN
    if row.relative_cost == 1.0:
        return "the lowest of all types"
    cluster = found.problem.cluster
    present = np.flatnonzero(cluster.machines_per_type > 0)
    cheapest = present[int(np.argmin(found.problem.e[row.component, present]))]
    times = "more" if math.isinf(row.relative_cost) else f"{row.relative_cost:.2f} times that"
    return f"{times} on {cluster.types[cheapest].name}"


def machine_dict(found: Occupancy, machine: int) -> dict[str, object]:
    """A machine as facts."""
    one = found.problem.cluster.machines[machine]
    return {
        **answer_head("machine-explanation"),
        "machine": one.name,
        "type": one.type,
        "rack": one.rack,
        "in_words": machine_sentences(found, machine),
        "resources": [
            {"resource": use.name, "used": use.used, "available": use.available}
            for use in found.resources_of(machine)
        ],
        "runs": [_row(found, row) for row in found.on(machine)],
    }


def component_dict(found: Occupancy, component: int) -> dict[str, object]:
    """A component as facts."""
    return {
        **answer_head("component-explanation"),
        "component": found.problem.labels[component],
        "in_words": component_sentences(found, component),
        "runs": [_row(found, row) for row in found.of(component)],
    }


def _row(found: Occupancy, row: Residents) -> dict[str, object]:
    cost = row.relative_cost
    return {
        "component": found.problem.labels[row.component],
        "machine": found.problem.cluster.machines[row.machine].name,
        "instances": row.instances,
        "rate_per_s": row.rate_per_s,
        "cpu_points": row.cpu_points,
        "thread_load": row.thread_load,
        "relative_cost": None if cost is None or math.isinf(cost) else cost,
    }

"""A machine or a component of a plan explained: in words, as tables and as facts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from penstock.evaluate.bound import upper_bound
from penstock.evaluate.capacity import Resource
from penstock.evaluate.occupancy import FULL, Occupancy, Residents, ResourceUse
from penstock.files.answer_formats import answer_head
from penstock.planning.numbers import UNKNOWN, counted, percent, plain, points, rate
from penstock.report.page import (
    Block,
    Cell,
    Column,
    Document,
    Section,
    Table,
    paragraph,
    table_of,
)

_MOST_LISTED = 25


def machine_page(occupancy: Occupancy, machine: int) -> Document:
    """What runs on a machine and why, what is full, what is left."""
    residents = occupancy.on(machine)
    blocks: list[Block] = [
        *map(paragraph, machine_sentences(occupancy, machine)),
        _resources(occupancy.resources_of(machine)),
    ]
    if residents:
        blocks.append(_residents(occupancy, residents, "component"))
    return Document(_machine_title(occupancy, machine), (Section("", tuple(blocks)),))


def component_page(occupancy: Occupancy, component: int, *, all_machines: bool) -> Document:
    """Where a component runs, what it costs there, and how full its instances are."""
    residents = sorted(occupancy.of(component), key=lambda row: -(row.thread_load or 0.0))
    listed = residents if all_machines else residents[:_MOST_LISTED]
    hidden = len(residents) - len(listed)
    more = [paragraph(f"… and {counted(hidden, 'more machine')} (--all-machines lists all)")]
    blocks: list[Block] = [
        *map(paragraph, component_sentences(occupancy, component)),
        _residents(occupancy, listed, "machine"),
        *(more if hidden else []),
    ]
    return Document(_component_title(occupancy, component), (Section("", tuple(blocks)),))


def _machine_title(occupancy: Occupancy, machine: int) -> str:
    one = occupancy.problem.cluster.machines[machine]
    number = sum(row.instances for row in occupancy.on(machine))
    return f"{one.name} ({one.type}, {one.rack}) runs {counted(number, 'instance')}"


def _component_title(occupancy: Occupancy, component: int) -> str:
    residents = occupancy.of(component)
    number = counted(sum(row.instances for row in residents), "instance")
    return (
        f"{occupancy.problem.labels[component]}: {number} on {counted(len(residents), 'machine')}"
    )


def machine_sentences(occupancy: Occupancy, machine: int) -> list[str]:
    """Whether it limits the plan, what is full and when it will be, or why it is idle."""
    if not occupancy.on(machine):
        return _why_idle(occupancy, machine)
    lines = []
    if occupancy.judged is not None and _limiting_machine(occupancy) == machine:
        lines.append(f"it limits the plan: {occupancy.judged.limited_by}")
    full = [use.name for use in occupancy.resources_of(machine) if use.is_full]
    full += [
        f"a thread of {occupancy.problem.labels[row.component]}"
        for row in occupancy.on(machine)
        if (row.thread_load or 0.0) >= FULL
    ]
    lines.append(f"full: {', '.join(full)}" if full else "nothing here is full")
    return lines + _when_full(occupancy, machine)


def _limiting_machine(occupancy: Occupancy) -> int:
    assert occupancy.judged is not None
    limit = occupancy.judged.capacity.limit
    if limit.resource is Resource.THREAD_CPU:
        return int(occupancy.placement.machine[limit.index])
    return limit.index


def _when_full(occupancy: Occupancy, machine: int) -> list[str]:
    at = occupancy.full_at(machine)
    if occupancy.judged is None or at is None or at <= occupancy.judged.scale / FULL:
        return []
    unit = float(occupancy.problem.demand.sum())
    scale = occupancy.judged.scale
    more = f" ({percent(at / scale - 1)} more than the plan carries)" if scale > 0 else ""
    return [f"its CPU would be full at {rate(at * unit)} tuples/s{more}"]


def _why_idle(occupancy: Occupancy, machine: int) -> list[str]:
    problem = occupancy.problem
    one = problem.cluster.machines[machine]
    if one.name in problem.terms.avoid:
        return ["nothing runs here: the plan is to avoid it"]
    if occupancy.judged is None:
        return ["nothing runs here: the plan does without it"]
    kind = problem.cluster.type_names[one.type]
    bound = upper_bound(problem)
    added = float(bound.added_by_one_machine[kind])
    if added <= 1e-9 * bound.scale:
        return [f"nothing runs here: machines of type {one.type} are not the bottleneck"]
    worth = rate(added * float(problem.demand.sum()))
    return [
        "nothing runs here: the plan does without it",
        f"at best a {one.type} is worth {worth} tuples/s: another plan may use it",
    ]


def component_sentences(occupancy: Occupancy, component: int) -> list[str]:
    """Its input, its fullest thread, and where tuples cost least."""
    residents = occupancy.of(component)
    if not residents:
        return ["it is not placed"]
    if occupancy.judged is None:
        asked = sum(row.cpu_points for row in residents)
        return [f"asks for {points(asked)} CPU points; without a profile there are no rates"]
    cluster = occupancy.problem.cluster
    total = sum(row.rate_per_s or 0.0 for row in residents)
    cpu = sum(row.cpu_points for row in residents)
    lines = [f"takes in {rate(total)} tuples/s and uses {points(cpu)} CPU points"]
    busiest = max(residents, key=lambda row: row.thread_load or 0.0)
    where = cluster.machines[busiest.machine].name
    lines.append(
        f"its busiest instance, on {where}, uses {percent(busiest.thread_load)} of its thread"
    )
    here = [t for t in range(len(cluster.types)) if cluster.machines_per_type[t]]
    order = sorted(here, key=lambda t: occupancy.problem.e[component, t])
    costs = ", ".join(
        f"{plain(float(occupancy.problem.e[component, t]), 3)} on {cluster.types[t].name}"
        for t in order
    )
    lines.append(f"CPU points per tuple/s: {costs}")
    return lines


def _resources(uses: tuple[ResourceUse, ...]) -> Table:
    return table_of(
        uses,
        (Column("resource"), lambda use: use.name),
        (Column("used"), lambda use: use.used),
        (Column("of"), lambda use: use.available),
        (Column("left"), lambda use: use.left),
        (Column("part", "%"), lambda use: 100 * use.part),
    )


def _residents(occupancy: Occupancy, residents: Sequence[Residents], by: str) -> Table:
    labels, machines = occupancy.problem.labels, occupancy.problem.cluster.machines
    place: list[tuple[Column, Callable[[Residents], Cell]]] = [
        (Column(by), lambda row: labels[row.component])
    ]
    if by == "machine":
        place = [
            (Column(by), lambda row: machines[row.machine].name),
            (Column("type"), lambda row: machines[row.machine].type),
        ]

    def thread_load(row: Residents) -> float | None:
        return None if row.thread_load is None else 100 * row.thread_load

    return table_of(
        residents,
        *place,
        (Column("instances"), lambda row: row.instances),
        (Column("input", "tuples/s"), lambda row: row.rate_per_s),
        (Column("CPU points", digits=1), lambda row: row.cpu_points),
        (Column("busiest thread", "%", digits=0), thread_load),
        (Column("a tuple's cost here"), lambda row: _cost_words(occupancy, row)),
    )


def _cost_words(occupancy: Occupancy, row: Residents) -> str:
    if row.relative_cost is None:
        return UNKNOWN
    if row.relative_cost == 1.0:
        return "the lowest of all types"
    cluster = occupancy.problem.cluster
    present = np.flatnonzero(cluster.machines_per_type > 0)
    cheapest = present[int(np.argmin(occupancy.problem.e[row.component, present]))]
    times = "more" if math.isinf(row.relative_cost) else f"{row.relative_cost:.2f} times that"
    return f"{times} on {cluster.types[cheapest].name}"


def machine_dict(occupancy: Occupancy, machine: int) -> dict[str, object]:
    """A machine as facts."""
    one = occupancy.problem.cluster.machines[machine]
    return {
        **answer_head("machine-explanation"),
        "machine": one.name,
        "type": one.type,
        "rack": one.rack,
        "in_words": machine_sentences(occupancy, machine),
        "resources": [
            {"resource": use.name, "used": use.used, "available": use.available}
            for use in occupancy.resources_of(machine)
        ],
        "runs": [_row(occupancy, row) for row in occupancy.on(machine)],
    }


def component_dict(occupancy: Occupancy, component: int) -> dict[str, object]:
    """A component as facts."""
    return {
        **answer_head("component-explanation"),
        "component": occupancy.problem.labels[component],
        "in_words": component_sentences(occupancy, component),
        "runs": [_row(occupancy, row) for row in occupancy.of(component)],
    }


def _row(occupancy: Occupancy, row: Residents) -> dict[str, object]:
    cost = row.relative_cost
    return {
        "component": occupancy.problem.labels[row.component],
        "machine": occupancy.problem.cluster.machines[row.machine].name,
        "instances": row.instances,
        "rate_per_s": row.rate_per_s,
        "cpu_points": row.cpu_points,
        "thread_load": row.thread_load,
        "relative_cost": None if cost is None or math.isinf(cost) else cost,
    }

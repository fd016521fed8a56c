"""Whether a plan still fits what runs, and whether what runs is the plan.

A plan made from a running cluster holds for that state of it: the same submissions, machines,
components and placement. Anything else, and what it moves and predicts is not what was agreed to.
"""

from __future__ import annotations

import numpy as np

from penstock.errors import quantity
from penstock.evaluate.capacity import ROUNDING_POINTS
from penstock.evaluate.limits import resources_used
from penstock.model.cluster import MachineType
from penstock.model.plan import Deployed, Places, Plan
from penstock.model.resources import MEMORY
from penstock.model.snapshot import Snapshot
from penstock.model.topology import Topology


def stale(plan: Plan, snapshot: Snapshot) -> list[str]:
    """Everything that is otherwise now than when the plan was made; empty if it may be applied."""
    return [
        *_machine_changes(plan, snapshot),
        *_lacking_resources(plan, snapshot),
        *(
            change
            for topology in plan.problem.topologies
            for change in _changes(topology, plan, snapshot)
        ),
    ]


def _machine_changes(plan: Plan, snapshot: Snapshot) -> list[str]:
    there = {m.name: m for m in snapshot.cluster.machines}
    kinds = {t.name: t for t in snapshot.cluster.types}
    planned_kinds = {t.name: t for t in plan.problem.cluster.types}
    changes = []
    for index in plan.placement.machines_used.tolist():
        planned = plan.problem.cluster.machines[index]
        now = there.get(planned.name)
        if now is None:
            changes.append(f"machine {planned.name} is not there")
        elif now.name in snapshot.avoided:
            changes.append(f"machine {planned.name} is on the engine's blacklist")
        elif plan.deployed and now.type != (known := _known_as(planned_kinds[planned.type])):
            changes.append(f"machine {planned.name} is now a {now.type}, not a {known}")
        elif kinds[now.type].slots < planned_kinds[planned.type].slots and plan.deployed:
            changes.append(f"machine {planned.name} has {kinds[now.type].slots} slots now")
    return changes


def _known_as(kind: MachineType) -> str:
    """The type as the engine has it."""
    return kind.variant_of or kind.name


def _lacking_resources(plan: Plan, snapshot: Snapshot) -> list[str]:
    """Machines that have less than the plan gives them of a hard resource beside memory.

    What the engine has of a resource that it never names only the plan's own cluster can say.
    """
    table = plan.problem.resources
    used = resources_used(plan.problem, plan.placement)
    offered = {kind.name: dict(kind.resources) for kind in snapshot.cluster.types}
    known = {name for amounts in offered.values() for name in amounts}
    now = {machine.name: offered[machine.type] for machine in snapshot.cluster.machines}
    lacking = []
    for m in plan.placement.machines_used.tolist():
        machine = plan.problem.cluster.machines[m].name
        for r in np.flatnonzero(table.hard).tolist()[MEMORY + 1 :]:
            needed, available = float(used[m, r]), float(table.capacity[m, r])
            if table.names[r] in known and machine in now:
                available = now[machine].get(table.names[r], 0.0)
            if needed > available + ROUNDING_POINTS:
                shown = f"{quantity(available)} {table.labels[r]}"
                lacking.append(f"machine {machine} has {shown}, the plan needs {quantity(needed)}")
    return lacking


def _changes(topology: Topology, plan: Plan, snapshot: Snapshot) -> list[str]:
    running = {t.name: t for t in snapshot.topologies}.get(topology.name)
    if running is None:
        return [f"{topology.name} does not run"]
    before = {d.topology: d for d in plan.deployed}.get(topology.name)
    now = {d.topology: d for d in snapshot.deployed}[topology.name]
    changes = _structure(topology, running) + _too_many(plan, running)
    # A plan made from files never saw this cluster; that its components are there must do.
    if before is not None and not changes and _rewired(topology, running):
        changes.append(f"the streams or groupings of {topology.name} have changed")
    if topology.version is not None and topology.version != running.version:
        changes.append(f"{topology.name} is now version {running.version}, not {topology.version}")
    if before is None:
        return changes
    if before.id != now.id:
        changes.append(f"{topology.name} was submitted again: it is now {now.id}, not {before.id}")
    elif differences(dict(before.components), now) and (
        # Where it is in force already, somebody has applied it, or half of it.
        differences(plan.slots_of(topology.name), now)
    ):
        changes.append(f"{topology.name} was rescheduled since the plan was made")
    return changes


def _structure(planned: Topology, running: Topology) -> list[str]:
    """Components, tasks and subscriptions; what is measured of them may change."""
    changes = []
    for name in planned.index:
        if name not in running.index:
            changes.append(f"{planned.name} has no component {name} any more")
            continue
        most = running.components[running.index[name]].tasks
        wanted = planned.components[planned.index[name]].tasks
        if None not in (most, wanted) and most != wanted:
            changes.append(f"{planned.name}/{name} has {most} tasks now, not {wanted}")
    own = {name for name in running.index if not name.startswith("__")}
    changes += [f"{planned.name} has a new component {n}" for n in sorted(own - {*planned.index})]
    return changes


def _too_many(plan: Plan, running: Topology) -> list[str]:
    """Tasks are fixed when a topology is submitted, and no instance is without one."""
    changes = []
    for name, places in plan.slots_of(running.name).items():
        most = running.components[running.index[name]].tasks if name in running.index else None
        if most is not None and len(places) > most:
            changes.append(
                f"{running.name}/{name} has {most} tasks, too few for {len(places)} instances"
            )
    return changes


def _rewired(planned: Topology, running: Topology) -> bool:
    return _subscriptions(planned) != _subscriptions(running, {*planned.index})


def _subscriptions(topology: Topology, among: set[str] | None = None) -> set[tuple[str, ...]]:
    return {
        (s.source, s.target, s.name, s.grouping.value)
        for s in topology.streams
        if not s.name.startswith("__")
        and (among is None or (s.source in among and s.target in among))
    }


def differences(planned: Places, running: Deployed) -> list[str]:
    """Where the running placement is not the planned one: machine by machine, worker by worker.

    Slots are only numbers: two instances share a worker in both or in neither.
    """
    now = dict(running.components)
    changes = []
    workers: dict[tuple[str, int], tuple[str, int]] = {}
    for component, places in planned.items():
        there = now.get(component, ())
        if len(there) != len(places):
            changes.append(f"{component} has {len(there)} instances, the plan has {len(places)}")
            continue
        for number, (wanted, seen) in enumerate(zip(places, there, strict=True)):
            if wanted[0] != seen[0]:
                changes.append(
                    f"{component} {number} is on {seen[0]}, the plan has it on {wanted[0]}"
                )
            elif workers.setdefault(wanted, seen) != seen:
                changes.append(f"{component} {number} is in another worker of {seen[0]}")
    if not changes and len(set(workers.values())) < len(workers):
        changes.append("two workers of the plan run as one")
    return changes

"""Instances one by one, and how each divides what it sends: the ground of :mod:`.reference`."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace

from penstock.model.cluster import Machine, MachineType
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.model.profile import Cost, Profile
from penstock.model.topology import Component, Grouping, Stream, Topology

_MASK = 2**64 - 1


@dataclass(eq=False)
class PlacedInstance:
    topology: Topology
    component: Component
    machine: Machine
    kind: MachineType
    slot: int
    #: Its part of the component's input, where the plan gives shares.
    share: float | None
    cost: Cost
    #: Tasks it holds; 1 where the component declares none.
    tasks: int = 1
    #: Tuples/s taken in, and tuples/s that enter or leave its process, at scale 1.
    rate: float = 0.0
    crossing: float = 0.0

    @property
    def worker(self) -> tuple[str, int]:
        return self.machine.name, self.slot

    @property
    def points_per_scale(self) -> float:
        return self.cost.e * self.rate + self.cost.e_remote * self.crossing


def hop(a: PlacedInstance, b: PlacedInstance) -> int:
    """0 same process, 1 same machine, 2 same rack, 3 other rack, 4 other region."""
    if a.machine.region != b.machine.region:
        return 4
    if a.machine.rack != b.machine.rack:
        return 3
    if a.machine is not b.machine:
        return 2
    return 0 if a.slot == b.slot else 1


def instances(problem: Problem, placement: Placement) -> list[PlacedInstance]:
    """The placement's instances in its own order."""
    owners = [(t, c) for t in problem.topologies for c in t.components]
    kinds = {kind.name: kind for kind in problem.cluster.types}
    by_component: dict[int, list[PlacedInstance]] = defaultdict(list)
    placed_instances = []
    for c, m, slot, share in zip(
        placement.component.tolist(),
        placement.machine.tolist(),
        placement.slot.tolist(),
        placement.share.tolist(),
        strict=True,
    ):
        topology, component = owners[c]
        machine = problem.cluster.machines[m]
        cost = _cost(problem.profile, topology, component, machine.type)
        known = None if math.isnan(share) else share
        placed_instances.append(
            PlacedInstance(topology, component, machine, kinds[machine.type], slot, known, cost)
        )
        by_component[c].append(placed_instances[-1])
    for siblings in by_component.values():
        tasks = siblings[0].component.tasks
        if tasks is not None:
            holders = [_executor_of(task, tasks, len(siblings)) for task in range(tasks)]
            for executor, instance in enumerate(siblings):
                instance.tasks = holders.count(executor)
    return placed_instances


def _cost(profile: Profile | None, topology: Topology, component: Component, on: str) -> Cost:
    """What an instance costs on a machine type, with its worker's part of every tuple."""
    if profile is None:
        # In requests mode only places can be checked; there tuples cost nothing.
        return Cost(component.cost_row, on, e=0.0, met=0.0)
    cost = profile.by_place[cost_row(profile, topology, component), on]
    for worker in profile.workers:
        if worker.machine_type == on:
            remote = cost.e_remote + worker.e_remote
            cost = replace(cost, e=cost.e + worker.e, e_remote=remote)
    return cost


def cost_row(profile: Profile, topology: Topology, component: Component) -> str:
    """The row it names, else the one of its own name, first with the topology's in front."""
    own = (f"{topology.name}.{component.name}", component.name)
    rows = [name for name in (component.profile, *own) if name in profile.rows]
    return rows[0] if rows else component.cost_row


def memory_mb(problem: Problem, instance: PlacedInstance) -> float:
    """Measured, else declared; 0 where neither is."""
    component, profile = instance.component, problem.profile
    if profile is None:
        return component.memory_mb or 0.0
    row = cost_row(profile, instance.topology, component)
    return dict(profile.memory_mb).get(row, component.memory_mb) or 0.0


def _executor_of(task: int, tasks: int, executors: int) -> int:
    """Storm hands each executor a range of tasks, the longer ranges first."""
    first = 0
    for executor in range(executors):
        length = tasks // executors + (1 if executor < tasks % executors else 0)
        if first <= task < first + length:
            return executor
        first += length
    raise AssertionError(f"task {task} of {tasks} has no executor")


def even_or_share(instance: PlacedInstance, siblings: list[PlacedInstance]) -> float:
    if instance.share is not None:
        return instance.share
    return instance.tasks / sum(i.tasks for i in siblings)


def fractions(stream: Stream, source: PlacedInstance, targets: list[PlacedInstance]) -> list[float]:
    """What part of each tuple put on the stream by ``source`` goes to each target."""
    if stream.grouping is Grouping.ALL:
        return [float(target.tasks) for target in targets]  # Storm copies to every task
    if stream.grouping is Grouping.GLOBAL:
        return [1.0 if i == 0 else 0.0 for i in range(len(targets))]
    if stream.grouping in (Grouping.SHUFFLE, Grouping.WEIGHTED):
        return [even_or_share(target, targets) for target in targets]
    if stream.grouping is Grouping.FIELDS and stream.keys:
        return _fractions_by_key(stream, targets)
    chosen = targets
    if stream.grouping is Grouping.LOCAL_OR_SHUFFLE:
        chosen = [t for t in targets if t.worker == source.worker and t.tasks] or targets
    tasks = sum(target.tasks for target in chosen)
    return [target.tasks / tasks if target in chosen else 0.0 for target in targets]


def _fractions_by_key(stream: Stream, targets: list[PlacedInstance]) -> list[float]:
    """Zipf keys, each to the task that its rank's hash names, each task to its executor."""
    weights = [rank**-stream.key_skew for rank in range(1, stream.keys + 1)]
    tasks = targets[0].component.tasks or len(targets)
    fractions = [0.0] * len(targets)
    for rank, weight in enumerate(weights, 1):
        task = split_mix(rank) % tasks
        fractions[_executor_of(task, tasks, len(targets))] += weight / sum(weights)
    return fractions


def split_mix(value: int) -> int:
    """SplitMix64's finaliser in plain integers."""
    z = value * 0x9E3779B97F4A7C15 & _MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & _MASK
    return z ^ z >> 31


def measured(problem: Problem, topology: Topology, stream: Stream) -> tuple[float, float]:
    """Selectivity and tuple size; a measure of this very topology goes before a general one."""
    measures = problem.profile.streams if problem.profile else ()
    ends = (stream.source, stream.target, stream.name)
    for owner in (topology.name, ""):
        for m in measures:
            if m.topology == owner and (m.source, m.target, m.name) == ends:
                return (
                    stream.selectivity if m.selectivity is None else m.selectivity,
                    stream.tuple_bytes if m.tuple_bytes is None else m.tuple_bytes,
                )
    return stream.selectivity, stream.tuple_bytes

"""``rstorm``: R-Storm, resource-aware scheduling.

Peng et al., Middleware 2015, doi:10.1145/2814576.2814808, Algorithms 1 to 4. Tasks are ordered
breadth-first over the components from the spouts, one of each in turn. Each goes to the node whose
free resources are nearest to what it needs, by ``sqrt(w_m (m_task - m_node)^2 + w_c (c_task -
c_node)^2 + w_b netdist(ref, node))``, among the nodes whose hard resources suffice; soft ones may
go below zero, at a price in the distance. The ref node is the node with most left in the rack with
most left when a topology begins. A topology is placed whole or not at all. Cost: O(tasks x nodes).

Where the paper is silent or vague: memory and CPU are divided by the largest node's, the weights
come after that (network 10: its first property is that tasks which communicate have "the highest
priority" to be close; with 1 it fills half-full nodes of other racks first); "most resources" is
their sum; network distance is 0 for the ref node, 1 in its rack, 2 in another, 3 in another region,
divided by 3; equal memory is enough (printed: more than needed); ties go to the first node. Which
of memory and CPU are hard is a parameter, as there. Other resources are further dimensions, weighed
as memory is, and hard unless the cluster declares them soft. The text puts the first task on the
ref node, Algorithm 4 only measures from it: we follow the algorithm. A component without a CPU
request gets what it would use, on the cluster's mean machine, at the rate the upper bound allows.
The paper says nothing of worker processes: a topology has one per node, and another where its heap
would exceed ``worker_max_heap_mb``; a node without a free slot for it is no candidate. Components
not reachable from a spout come last.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from penstock.errors import InputError
from penstock.evaluate.bound import upper_bound
from penstock.evaluate.capacity import ROUNDING_POINTS
from penstock.model.arrays import BoolVector, FloatMatrix, FloatVector
from penstock.model.cluster import Hop
from penstock.model.outcome import Outcome, Shortfall
from penstock.model.problem import Problem
from penstock.model.resources import MEMORY
from penstock.model.topology import Kind
from penstock.schedulers.base import Budget, Looks
from penstock.schedulers.counts import required_counts, topologies_by_priority
from penstock.schedulers.room import Room, components_of

_RESOURCES = ("memory", "cpu")


@dataclass(frozen=True)
class RStormScheduler:
    """Each task to the node whose free resources fit it best, near the ref node."""

    name: ClassVar[str] = "rstorm"
    summary: ClassVar[str] = "packs tasks where memory and CPU fit best, near each other"
    paper: ClassVar[str] = "Peng et al. 2015 (R-Storm), Algorithms 1 to 4"
    looks: ClassVar[Looks] = Looks(memory=True, network=True)

    memory_weight: float = field(
        default=1.0, metadata={"help": "weight of memory and resources beside CPU"}
    )
    cpu_weight: float = field(default=1.0, metadata={"help": "weight of CPU"})
    network_weight: float = field(default=10.0, metadata={"help": "weight of network distance"})
    hard: str = field(
        default="memory", metadata={"help": "resources that must suffice: memory, cpu or both"}
    )

    def __post_init__(self) -> None:
        weights = (self.memory_weight, self.cpu_weight, self.network_weight)
        if not all(np.isfinite(w) and w >= 0 for w in weights):
            raise InputError(f"rstorm: weights must be numbers of at least 0, not {weights}")
        unknown = [part for part in self._hard if part not in _RESOURCES]
        if unknown:
            raise InputError(f'rstorm: hard takes memory, cpu or memory,cpu, not "{self.hard}"')

    @property
    def _hard(self) -> tuple[str, ...]:
        return tuple(part.strip() for part in self.hard.split(",") if part.strip())

    def solve(self, problem: Problem, budget: Budget, rng: np.random.Generator) -> Outcome:
        counts = required_counts(problem, self.name)
        room = Room.of(problem)
        if np.isnan(problem.memory_mb).any():
            room.notes.append("memory is unknown for some components and counts as none")
        cpu = _cpu_requests(problem, counts, room)
        for topology in topologies_by_priority(problem):
            _Packing(self, room, topology, cpu).run(counts)
        return room.outcome()

    def distances(
        self,
        task_resources: FloatVector,
        task_cpu: float,
        resources: FloatMatrix,
        cpu: FloatVector,
        network: FloatVector,
    ) -> FloatVector:
        """Algorithm 4, DISTANCE, to every node; all arguments normalised, shape (machines,).

        Resources are memory and all others, shapes (R,) and (machines, R).
        """
        apart = (task_resources - resources) ** 2
        distance = self.memory_weight * apart[:, MEMORY] + self.cpu_weight * (task_cpu - cpu) ** 2
        for other in apart[:, MEMORY + 1 :].T:
            distance += self.memory_weight * other
        return np.asarray(np.sqrt(distance + self.network_weight * network))


class _Packing:
    """One topology being placed; nothing reaches the room until all of it fits."""

    def __init__(
        self, settings: RStormScheduler, room: Room, topology: int, cpu: FloatVector
    ) -> None:
        problem = room.problem
        self.settings = settings
        self.room = room
        self.topology = topology
        self.request = cpu
        self.table = problem.resources
        cluster = problem.cluster
        self.largest_cpu = float(cluster.usable_cpu.max())
        #: What a machine has most of each resource, shape (R,).
        self.largest = self.table.capacity_of_type.max(axis=0)
        #: Resources that must suffice, shape (R,).
        self.hard = self.table.hard.copy()
        self.hard[MEMORY] = "memory" in settings._hard
        self.cpu = room.cpu.copy()
        self.left = room.resources.copy()
        self.slots_left = np.array([len(free) for free in room.free_slots])
        self.worker_cpu = cluster.per_type("worker_cpu_points")[cluster.type_of]
        heap = problem.topologies[topology].worker_max_heap_mb
        self.most_heap = np.inf if heap is None else heap
        machines = len(cluster.machines)
        #: Index of the topology's open worker on each machine (-1: none yet) and its heap left.
        self.open_worker = np.full(machines, -1)
        self.heap_left = np.zeros(machines)
        #: CPU requested in the open worker, for the floor that a worker is charged at least.
        self.worker_request = np.zeros(machines)
        self.floor = cluster.worker_min_cpu_points
        self.network = _network_distance(problem, self._ref_node())
        self.placed: list[tuple[int, int, int]] = []

    def run(self, counts: tuple[int, ...]) -> None:
        problem = self.room.problem
        for component in _task_order(problem, self.topology, counts):
            fits, needed, cpu = self._candidates(component)
            if not fits.any():
                self._refuse(component, needed, cpu)
                return
            distance = self.settings.distances(
                self._of_largest(self.table.request[component]),
                float(self.request[component]) / self.largest_cpu,
                self._of_largest(self.left),
                self.cpu / self.largest_cpu,
                self.network,
            )
            self._place(component, int(np.argmin(np.where(fits, distance, np.inf))), needed, cpu)
        self._commit()

    def _candidates(self, component: int) -> tuple[BoolVector, FloatMatrix, FloatVector]:
        """Machines that can take a task, and the resources and CPU it would take from each."""
        heap = self.room.problem.onheap_mb[component]
        opens = (self.open_worker < 0) | (self.heap_left < heap - ROUNDING_POINTS)
        worker = np.where(opens[:, None], self.table.worker, 0.0)
        needed = self.table.request[component] + worker
        request = np.where(opens, 0.0, self.worker_request)
        charged = np.maximum(request + self.request[component], self.floor)
        before = np.where(opens, 0.0, np.maximum(self.worker_request, self.floor))
        cpu = charged - before + np.where(opens, self.worker_cpu, 0.0)
        fits = ~opens | (self.slots_left > 0)
        fits &= heap <= self.most_heap + ROUNDING_POINTS
        fits &= (needed <= self.left + ROUNDING_POINTS)[:, self.hard].all(axis=1)
        if "cpu" in self.settings._hard:
            fits &= cpu <= self.cpu + ROUNDING_POINTS
        return fits, needed, cpu

    def _place(self, component: int, machine: int, needed: FloatMatrix, cpu: FloatVector) -> None:
        heap = float(self.room.problem.onheap_mb[component])
        if self.open_worker[machine] < 0 or self.heap_left[machine] < heap - ROUNDING_POINTS:
            self.open_worker[machine] += 1
            self.slots_left[machine] -= 1
            self.heap_left[machine] = self.most_heap
            self.worker_request[machine] = 0.0
        self.heap_left[machine] -= heap
        self.worker_request[machine] += self.request[component]
        self.left[machine] -= needed[machine]
        self.cpu[machine] -= cpu[machine]
        self.placed.append((component, machine, int(self.open_worker[machine])))

    def _commit(self) -> None:
        """Algorithm 1: the assignment is made at once, after all tasks have found a node."""
        free = [list(slots) for slots in self.room.free_slots]
        for component, machine, worker in self.placed:
            slot = free[machine][worker]
            if slot in self.room.free_slots[machine]:
                self.room.take((machine, slot))
            self.room.put(component, (machine, slot))
        self.room.cpu, self.room.resources = self.cpu, self.left

    def _refuse(self, component: int, asked: FloatMatrix, cpu: FloatVector) -> None:
        """Say what is missing on the machine that comes nearest to taking the task."""
        problem = self.room.problem
        lacking = {
            "slots": (np.ones(len(cpu)), self.slots_left + (self.open_worker >= 0)),
            "MB worker heap": (
                np.full(len(cpu), problem.onheap_mb[component]),
                np.full(len(cpu), self.most_heap),
            ),
        }
        for r in np.flatnonzero(self.hard).tolist():
            lacking[self.table.names[r]] = (asked[:, r], self.left[:, r])
        if "cpu" in self.settings._hard:
            lacking["cpu_points"] = (cpu, self.cpu)
        # How much of each need a machine cannot meet; the nearest lacks the least in all.
        missing = {
            resource: np.maximum(needed - available, 0.0) / np.maximum(needed, 1e-300)
            for resource, (needed, available) in lacking.items()
        }
        nearest = int(np.argmin(sum(missing.values())))
        worst = max(missing, key=lambda resource: float(missing[resource][nearest]))
        needed, available = lacking[worst]
        self.room.shortfalls.append(
            Shortfall(
                worst,
                float(needed[nearest]),
                float(available[nearest]),
                problem.topologies[self.topology].name,
                problem.components[component].name,
                problem.cluster.machines[nearest].name,
            )
        )

    def _ref_node(self) -> int:
        """Algorithm 4, lines 6 to 9: the node with most left in the rack with most left."""
        cluster = self.room.problem.cluster
        resources = self._of_largest(self.room.resources)
        left = np.maximum(self.room.cpu, 0.0) / self.largest_cpu + resources[:, MEMORY]
        for other in resources[:, MEMORY + 1 :].T:
            left += other
        racks = np.bincount(cluster.rack_of, weights=left, minlength=len(cluster.racks))
        in_rack = cluster.rack_of == int(np.argmax(racks))
        return int(np.argmax(np.where(in_rack, left, -np.inf)))

    def _of_largest(self, resources: FloatMatrix | FloatVector) -> FloatMatrix:
        """Resources as parts of the largest node's; nothing where no node has a limit, or any."""
        limited = np.isfinite(self.largest) & (self.largest > 0)
        largest = np.where(limited, self.largest, 1.0)
        return np.where(limited, resources, 0.0) / largest


def _cpu_requests(problem: Problem, counts: tuple[int, ...], room: Room) -> FloatVector:
    """CPU points each task asks for, declared or worked out from the profile, (components,)."""
    missing = np.isnan(problem.cpu_request)
    if not missing.any():
        return problem.cpu_request
    if not problem.has_rates:
        room.notes.append("CPU requests are unknown for some components and count as none")
        return np.nan_to_num(problem.cpu_request)
    room.notes.append("CPU requests from the profile, at the rate that the upper bound allows")
    share = problem.cluster.machines_per_type / len(problem.cluster.machines)
    used = share > 0
    scale = min(upper_bound(problem).scale, 1e12)
    rate = problem.visits * scale / np.array(counts)
    points = (problem.e[:, used] * rate[:, None] + problem.met[:, used]) @ share[used]
    return np.where(missing, points, problem.cpu_request)


def _task_order(problem: Problem, topology: int, counts: tuple[int, ...]) -> list[int]:
    """Algorithms 2 and 3: breadth-first over components, then one task of each in turn."""
    components = _breadth_first(problem, topology)
    left = {component: counts[component] for component in components}
    order = []
    while left:
        for component in list(left):
            order.append(component)
            left[component] -= 1
            if left[component] == 0:
                del left[component]
    return order


def _breadth_first(problem: Problem, topology: int) -> list[int]:
    components = components_of(problem, topology)
    spouts = [c for c in components if problem.components[c].kind is Kind.SPOUT]
    visited = dict.fromkeys(spouts)
    queue = deque(spouts)
    while queue:
        for index in problem.streams_from[queue.popleft()]:
            target = problem.streams[index].target
            if target not in visited:
                visited[target] = None
                queue.append(target)
    return [*visited, *(c for c in components if c not in visited)]


def _network_distance(problem: Problem, ref: int) -> FloatVector:
    """Distance of every machine from the ref node, 0 to 1, shape (machines,)."""
    cluster = problem.cluster
    distance: FloatVector = np.full(len(cluster.machines), Hop.OTHER_REGION.distance)
    distance[cluster.region_of == cluster.region_of[ref]] = Hop.OTHER_RACK.distance
    distance[cluster.rack_of == cluster.rack_of[ref]] = Hop.SAME_RACK.distance
    distance[ref] = Hop.SAME_MACHINE.distance
    # Nearer than the machine itself nothing is: 0 there, 1 in another region.
    return (distance - Hop.SAME_MACHINE.distance) / (
        Hop.OTHER_REGION.distance - Hop.SAME_MACHINE.distance
    )

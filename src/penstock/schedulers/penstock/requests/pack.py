"""Topologies packed one after the other, each into as few racks and machines as will hold it.

A packing may use the largest machines of the cluster only, so many as its order says; when a
topology finds no room among them, the next one is opened. A topology goes to one machine if one
holds it (the tightest such), else to the rack that holds it with least to spare, else to the rack
that holds most of it and on to the next. Cost: executors x components of a group, plus the machines
of the racks that are tried.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from penstock.evaluate.capacity import ROUNDING_POINTS
from penstock.model.arrays import BoolVector, FloatVector, IntVector, sum_by
from penstock.model.outcome import Shortfall
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.schedulers.penstock.requests.free_capacity import (
    DUST,
    FilledMachine,
    FreeCapacity,
    UnplacedExecutors,
    fill,
)
from penstock.schedulers.penstock.requests.packing_orders import RULES, AllRequests, PackingOrder
from penstock.schedulers.penstock.requests.topology_requests import TopologyRequests

#: Racks tried of those that seem to hold a topology, and of those that hold a part.
_RACKS_TRIED = 4
_PARTS_TRIED = 3
#: Asking for so many times more of a resource than the others do makes a topology lopsided.
_LOPSIDED = 1.5


@dataclass
class Packing:
    """What has been placed so far and the room that is left; ``run`` does it all."""

    problem: Problem
    free: FreeCapacity
    all_requests: list[TopologyRequests]
    order: PackingOrder
    filled: list[FilledMachine] = field(default_factory=list)
    shortfalls: list[Shortfall] = field(default_factory=list)
    refused: list[TopologyRequests] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.whole = AllRequests.of(self.free, self.all_requests)
        size = np.minimum(
            _times(self.free.cpu, self.whole.cpu), _times(self.free.memory, self.whole.memory)
        )
        # The largest machines first; equal ones rack by rack, so that whole racks are in use.
        self.largest_first = np.lexsort((self.free.rack, self.free.region, -size))
        self.open: BoolVector = np.zeros(len(size), dtype=np.bool_)
        self.opened = min(self.order.machines, len(size))
        self.open[self.largest_first[: self.opened]] = True
        cluster = self.problem.cluster
        racks = range(len(cluster.racks))
        self.racks = [np.flatnonzero(self.free.rack == rack) for rack in racks]
        self.regions = len(cluster.regions)
        self.region_of_rack = [int(cluster.region_of[machines[0]]) for machines in self.racks]

    def run(self) -> Packing:
        key = RULES[self.order.rule]
        turns = sorted(self.all_requests, key=lambda d: (key(d, self.whole), d.topology))
        if self.order.by_priority:
            turns.sort(key=lambda d: d.priority)
        for requests in turns:
            self._place_or_refuse(requests)
        return self

    def _place_or_refuse(self, requests: TopologyRequests) -> None:
        free, placed = self.free.copy(), len(self.filled)
        was_open, opened = self.open.copy(), self.opened
        missing = self._place(requests)
        if missing is None:
            return
        self.shortfalls.append(missing)
        self.refused.append(requests)
        self.free, self.open, self.opened = free, was_open, opened
        del self.filled[placed:]

    def _place(self, requests: TopologyRequests) -> Shortfall | None:
        left = UnplacedExecutors.all_of(requests)
        reserve = self._reserve(requests)
        full = False  # nothing of what is left fits into the open machines
        while left.any:
            steps = None
            if not full:
                steps = self._in_one_machine(left, reserve) or self._in_one_rack(left, reserve)
            if steps is None and self.opened < len(self.open):
                full = True
                steps = self._in_another_machine(left, reserve)
            elif steps is None and reserve != (0.0, 0.0):
                reserve, full = (0.0, 0.0), False  # better less for others than none for this one
            elif steps is None:
                return self._missing(left)
            for step in steps or ():
                self.free.take(step)
                left.take(step)
                self.filled.append(step)
        return None

    def _reserve(self, requests: TopologyRequests) -> tuple[float, float]:
        lean = self.whole.lean(requests)
        return (
            self.order.cpu_reserve if lean < 1 / _LOPSIDED else 0.0,
            self.order.memory_reserve if lean > _LOPSIDED else 0.0,
        )

    def _in_one_machine(
        self, left: UnplacedExecutors, reserve: tuple[float, float]
    ) -> list[FilledMachine] | None:
        holding = self._holding(left, np.flatnonzero(self.open))
        for machine in holding[:3].tolist():
            step = fill(self.free, left.copy(), machine, reserve)
            if step.executors == left.executors:
                return [step]
        return None

    def _in_another_machine(
        self, left: UnplacedExecutors, reserve: tuple[float, float]
    ) -> list[FilledMachine]:
        """Open the next machine; nothing fits into those that are open already."""
        machine = int(self.largest_first[self.opened])
        self.open[machine] = True
        self.opened += 1
        return [fill(self.free, left.copy(), machine, reserve)]

    def _holding(self, left: UnplacedExecutors, machines: IntVector) -> IntVector:
        """Machines whose free room seems to hold all that is left, the tightest first."""
        free = self.free
        cpu, memory, workers = left.needs(free.floor)
        holds = free.cpu[machines] >= cpu - DUST
        holds &= free.memory[machines] >= memory - DUST
        roomy = machines[holds & (free.slots[machines] >= workers)]
        order = np.lexsort((free.memory[roomy], free.cpu[roomy]))
        return roomy[order]

    def _in_one_rack(
        self, left: UnplacedExecutors, reserve: tuple[float, float]
    ) -> list[FilledMachine] | None:
        """The steps in the first rack that holds all, else in the one that holds most."""
        best: list[FilledMachine] | None = None
        most = 0.0
        likely, others = self._racks_to_try(left)
        for number, rack in enumerate(likely + others):
            if best is not None and number >= len(likely):
                break
            steps, rest = self._fill_rack(rack, left.copy(), reserve)
            part = left.placed_part(rest, self.whole.cpu, self.whole.memory)
            if steps and (best is None or part > most + 1e-12):
                best, most = steps, part
            if not rest.any:
                return steps
        return best

    def _racks_to_try(self, left: UnplacedExecutors) -> tuple[list[int], list[int]]:
        """Racks that seem to hold all, the tightest first, or most; and the others with room."""
        times = self._room_for(left, self.free.rack, len(self.racks))
        order = np.argsort(times, kind="stable").tolist()
        whole = [rack for rack in order if times[rack] >= 1]
        part = [rack for rack in reversed(order) if 0 < times[rack] < 1]
        if self.regions > 1:
            rank = self._region_rank(left)
            part.sort(key=lambda rack: rank[self.region_of_rack[rack]])
        likely = whole[:_RACKS_TRIED]
        if len(likely) < _RACKS_TRIED:
            likely += part[:_PARTS_TRIED]
        return likely, [rack for rack in whole + part if rack not in likely]

    def _region_rank(self, left: UnplacedExecutors) -> IntVector:
        """Position of each region: the tightest that holds all, then those with most room."""
        times = self._room_for(left, self.free.region, self.regions)
        order = np.lexsort((np.where(times >= 1, times, -times), times < 1))
        return np.argsort(order)

    def _room_for(self, left: UnplacedExecutors, place: IntVector, places: int) -> FloatVector:
        """How often the open machines of each place would hold what is left, by their totals."""
        free = self.free
        usable = self.open & (free.slots > 0)
        cpu = sum_by(place, np.where(usable, free.cpu, 0.0), places)
        memory = sum_by(place, np.where(usable, free.memory, 0.0), places)
        needed_cpu, needed_memory, _ = left.needs(free.floor)
        return np.minimum(_times(cpu, needed_cpu), _times(memory, needed_memory))

    def _fill_rack(
        self, rack: int, left: UnplacedExecutors, reserve: tuple[float, float]
    ) -> tuple[list[FilledMachine], UnplacedExecutors]:
        machines = self.racks[rack]
        machines = machines[self.open[machines] & (self.free.slots[machines] > 0)]
        machines = self._roomiest_first(left, machines)
        had_large = left.has_large
        steps = []
        while len(machines) and left.any:
            holding = self._holding(left, machines)
            machine = int(holding[0] if len(holding) else machines[0])
            machines = machines[machines != machine]
            step = fill(self.free, left, machine, reserve)
            if step.workers:
                steps.append(step)
            if had_large and not left.has_large:
                had_large = False
                machines = self._roomiest_first(left, machines)
        return steps, left

    def _roomiest_first(self, left: UnplacedExecutors, machines: IntVector) -> IntVector:
        """Most large executors first, then most room for what is left."""
        free = self.free
        cpu, memory, _ = left.needs(free.floor)
        room = np.minimum(_times(free.cpu[machines], cpu), _times(free.memory[machines], memory))
        large = left.large_that_fit(
            free.cpu[machines], free.memory[machines], free.others[machines]
        )
        return machines[np.lexsort((-room, -large))]

    def _missing(self, left: UnplacedExecutors) -> Shortfall:
        """What the machine that comes nearest to taking the next executor lacks."""
        requests, free = left.requests, self.free
        component = max(
            (c for c, n in enumerate(left.counts) if n), key=lambda c: (requests.share[c], -c)
        )
        cpu = max(requests.cpu[component], free.floor) + free.worker_cpu
        memory = requests.memory[component] + free.worker_memory
        everywhere = np.ones(len(free.cpu))
        lacking = {
            "slots": (everywhere, free.slots.astype(np.float64)),
            "memory_mb": (memory, free.memory),
            "cpu_points": (cpu, free.cpu),
            "MB worker heap": (
                everywhere * requests.heap[component],
                everywhere * requests.most_heap,
            ),
        }
        names = self.problem.resources.beyond_memory.names
        for name, asked, left_of in zip(
            names, requests.others[component], free.others.T, strict=True
        ):
            lacking[name] = (everywhere * asked, left_of)
        lack = {
            resource: np.maximum(needed - offered - ROUNDING_POINTS, 0) / np.maximum(needed, 1e-12)
            for resource, (needed, offered) in lacking.items()
        }
        nearest = int(np.argmin(sum(lack.values())))
        worst = max(lack, key=lambda resource: float(lack[resource][nearest]))
        needed, offered = lacking[worst]
        return Shortfall(
            worst,
            float(needed[nearest]),
            float(offered[nearest]),
            self.problem.topologies[requests.topology].name,
            self.problem.components[requests.first_component + component].name,
            self.problem.cluster.machines[nearest].name,
        )


def _times(offered: FloatVector, needed: float) -> FloatVector:
    """How often what is needed is there; no end of times where nothing is needed."""
    return offered / needed if needed > 0 else np.full(len(offered), np.inf)


def placement_of(filled: list[FilledMachine]) -> Placement | None:
    """Workers numbered from 0 on each machine, in the order in which they were placed."""
    component: list[int] = []
    machine: list[int] = []
    slot: list[int] = []
    next_slot: dict[int, int] = {}
    for step in filled:
        for worker in step.workers:
            number = next_slot.get(step.machine, 0)
            next_slot[step.machine] = number + 1
            component += [step.requests.first_component + c for c in worker]
            machine += [step.machine] * len(worker)
            slot += [number] * len(worker)
    return Placement.of(component, machine, slot) if component else None

"""Topologies packed one after the other, each into as few racks and machines as will hold it.

A packing may use the largest machines of the cluster only, so many as its way says; when a topology
finds no room among them, the next one is opened. A topology goes to one machine if one holds it
(the tightest such), else to the rack that holds it with least to spare, else to the rack that holds
most of it and on to the next. Cost: executors x components of a group, plus the machines of the
racks that are tried.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from penstock.evaluate.capacity import ROUNDING_POINTS
from penstock.model.arrays import BoolVector, FloatVector, IntVector, sum_by
from penstock.model.outcome import Shortfall
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.schedulers.penstock.requests.demand import Demand
from penstock.schedulers.penstock.requests.fill import DUST, Filled, Ground, Left, fill
from penstock.schedulers.penstock.requests.ways import ORDERS, Way, Whole

#: Racks tried of those that seem to hold a topology, and of those that hold a part.
_RACKS_TRIED = 4
_PARTS_TRIED = 3
#: Asking for so many times more of a resource than the others do makes a topology lopsided.
_LOPSIDED = 1.5


@dataclass
class Packing:
    """What has been placed so far and the room that is left; ``run`` does it all."""

    problem: Problem
    ground: Ground
    wanted: list[Demand]
    way: Way
    filled: list[Filled] = field(default_factory=list)
    shortfalls: list[Shortfall] = field(default_factory=list)
    refused: list[Demand] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.whole = Whole.of(self.ground, self.wanted)
        size = np.minimum(
            _times(self.ground.cpu, self.whole.cpu), _times(self.ground.memory, self.whole.memory)
        )
        # The largest machines first; equal ones rack by rack, so that whole racks are in use.
        self.largest_first = np.lexsort((self.ground.rack, self.ground.region, -size))
        self.open: BoolVector = np.zeros(len(size), dtype=np.bool_)
        self.opened = min(self.way.machines, len(size))
        self.open[self.largest_first[: self.opened]] = True
        cluster = self.problem.cluster
        racks = range(len(cluster.racks))
        self.racks = [np.flatnonzero(self.ground.rack == rack) for rack in racks]
        self.regions = len(cluster.regions)
        self.region_of_rack = [int(cluster.region_of[machines[0]]) for machines in self.racks]

    def run(self) -> Packing:
        key = ORDERS[self.way.order]
        turns = sorted(self.wanted, key=lambda d: (key(d, self.whole), d.topology))
        if self.way.by_priority:
            turns.sort(key=lambda d: d.priority)
        for demand in turns:
            self._place_or_refuse(demand)
        return self

    def _place_or_refuse(self, demand: Demand) -> None:
        ground, placed = self.ground.copy(), len(self.filled)
        was_open, opened = self.open.copy(), self.opened
        missing = self._place(demand)
        if missing is None:
            return
        self.shortfalls.append(missing)
        self.refused.append(demand)
        self.ground, self.open, self.opened = ground, was_open, opened
        del self.filled[placed:]

    def _place(self, demand: Demand) -> Shortfall | None:
        left = Left.all_of(demand)
        kept = self._kept(demand)
        full = False  # nothing of what is left fits into the open machines
        while left.any:
            steps = None
            if not full:
                steps = self._in_one_machine(left, kept) or self._in_one_rack(left, kept)
            if steps is None and self.opened < len(self.open):
                full = True
                steps = self._in_another_machine(left, kept)
            elif steps is None and kept != (0.0, 0.0):
                kept, full = (0.0, 0.0), False  # better less for others than none for this one
            elif steps is None:
                return self._missing(left)
            for step in steps or ():
                self.ground.take(step)
                left.take(step)
                self.filled.append(step)
        return None

    def _kept(self, demand: Demand) -> tuple[float, float]:
        lean = self.whole.lean(demand)
        return (
            self.way.cpu_kept if lean < 1 / _LOPSIDED else 0.0,
            self.way.memory_kept if lean > _LOPSIDED else 0.0,
        )

    def _in_one_machine(self, left: Left, kept: tuple[float, float]) -> list[Filled] | None:
        holding = self._holding(left, np.flatnonzero(self.open))
        for machine in holding[:3].tolist():
            step = fill(self.ground, left.copy(), machine, kept)
            if step.executors == left.executors:
                return [step]
        return None

    def _in_another_machine(self, left: Left, kept: tuple[float, float]) -> list[Filled]:
        """Open the next machine; nothing fits into those that are open already."""
        machine = int(self.largest_first[self.opened])
        self.open[machine] = True
        self.opened += 1
        return [fill(self.ground, left.copy(), machine, kept)]

    def _holding(self, left: Left, machines: IntVector) -> IntVector:
        """Machines whose free room seems to hold all that is left, the tightest first."""
        ground = self.ground
        cpu, memory, workers = left.needs(ground.floor)
        holds = ground.cpu[machines] >= cpu - DUST
        holds &= ground.memory[machines] >= memory - DUST
        found = machines[holds & (ground.slots[machines] >= workers)]
        order = np.lexsort((ground.memory[found], ground.cpu[found]))
        return found[order]

    def _in_one_rack(self, left: Left, kept: tuple[float, float]) -> list[Filled] | None:
        """The steps in the first rack that holds all, else in the one that holds most."""
        best: list[Filled] | None = None
        most = 0.0
        likely, others = self._racks_to_try(left)
        for number, rack in enumerate(likely + others):
            if best is not None and number >= len(likely):
                break
            steps, rest = self._fill_rack(rack, left.copy(), kept)
            part = left.placed_part(rest, self.whole.cpu, self.whole.memory)
            if steps and (best is None or part > most + 1e-12):
                best, most = steps, part
            if not rest.any:
                return steps
        return best

    def _racks_to_try(self, left: Left) -> tuple[list[int], list[int]]:
        """Racks that seem to hold all, the tightest first, or most; and the others with room."""
        times = self._room_for(left, self.ground.rack, len(self.racks))
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

    def _region_rank(self, left: Left) -> IntVector:
        """Position of each region: the tightest that holds all, then those with most room."""
        times = self._room_for(left, self.ground.region, self.regions)
        order = np.lexsort((np.where(times >= 1, times, -times), times < 1))
        return np.argsort(order)

    def _room_for(self, left: Left, place: IntVector, places: int) -> FloatVector:
        """How often the open machines of each place would hold what is left, by their totals."""
        ground = self.ground
        usable = self.open & (ground.slots > 0)
        cpu = sum_by(place, np.where(usable, ground.cpu, 0.0), places)
        memory = sum_by(place, np.where(usable, ground.memory, 0.0), places)
        needed_cpu, needed_memory, _ = left.needs(ground.floor)
        return np.minimum(_times(cpu, needed_cpu), _times(memory, needed_memory))

    def _fill_rack(
        self, rack: int, left: Left, kept: tuple[float, float]
    ) -> tuple[list[Filled], Left]:
        machines = self.racks[rack]
        machines = machines[self.open[machines] & (self.ground.slots[machines] > 0)]
        machines = self._roomiest_first(left, machines)
        had_large = left.has_large
        steps = []
        while len(machines) and left.any:
            holding = self._holding(left, machines)
            machine = int(holding[0] if len(holding) else machines[0])
            machines = machines[machines != machine]
            step = fill(self.ground, left, machine, kept)
            if step.workers:
                steps.append(step)
            if had_large and not left.has_large:
                had_large = False
                machines = self._roomiest_first(left, machines)
        return steps, left

    def _roomiest_first(self, left: Left, machines: IntVector) -> IntVector:
        """Most large executors first, then most room for what is left."""
        ground = self.ground
        cpu, memory, _ = left.needs(ground.floor)
        room = np.minimum(
            _times(ground.cpu[machines], cpu), _times(ground.memory[machines], memory)
        )
        large = left.large_that_fit(ground.cpu[machines], ground.memory[machines])
        return machines[np.lexsort((-room, -large))]

    def _missing(self, left: Left) -> Shortfall:
        """What the machine that comes nearest to taking the next executor lacks."""
        demand, ground = left.demand, self.ground
        component = max(
            (c for c, n in enumerate(left.counts) if n), key=lambda c: (demand.share[c], -c)
        )
        cpu = max(demand.cpu[component], ground.floor) + ground.worker_cpu
        memory = demand.memory[component] + ground.worker_memory
        everywhere = np.ones(len(ground.cpu))
        lacking = {
            "slots": (everywhere, ground.slots.astype(np.float64)),
            "memory_mb": (memory, ground.memory),
            "cpu_points": (cpu, ground.cpu),
            "MB worker heap": (everywhere * demand.heap[component], everywhere * demand.most_heap),
        }
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
            self.problem.topologies[demand.topology].name,
            self.problem.components[demand.first_component + component].name,
            self.problem.cluster.machines[nearest].name,
        )


def _times(offered: FloatVector, needed: float) -> FloatVector:
    """How often what is needed is there; no end of times where nothing is needed."""
    return offered / needed if needed > 0 else np.full(len(offered), np.inf)


def placement_of(filled: list[Filled]) -> Placement | None:
    """Workers numbered from 0 on each machine, in the order in which they were placed."""
    component: list[int] = []
    machine: list[int] = []
    slot: list[int] = []
    next_slot: dict[int, int] = {}
    for step in filled:
        for worker in step.workers:
            number = next_slot.get(step.machine, 0)
            next_slot[step.machine] = number + 1
            component += [step.demand.first_component + c for c in worker]
            machine += [step.machine] * len(worker)
            slot += [number] * len(worker)
    return Placement.of(component, machine, slot) if component else None

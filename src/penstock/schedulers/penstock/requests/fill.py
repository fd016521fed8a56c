"""One machine filled with one topology's executors, worker by worker."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from penstock.evaluate.capacity import ROUNDING_POINTS
from penstock.model.arrays import FloatVector, IntVector
from penstock.model.problem import Problem
from penstock.schedulers.penstock.requests.demand import Demand

#: An executor that takes more than this part of the largest machine is placed before small ones,
#: which fill what it leaves.
LARGE = 0.3
#: Sums may miss a limit by this much; half of what the check of limits lets pass.
DUST = ROUNDING_POINTS / 2


@dataclass(frozen=True)
class Filled:
    """Workers of one topology on one machine: the components they hold; what room is then left."""

    demand: Demand
    machine: int
    workers: list[list[int]]
    cpu: float
    memory: float
    slots: int

    @property
    def executors(self) -> int:
        return sum(len(worker) for worker in self.workers)


@dataclass
class Ground:
    """Free CPU points, MB and slots of every machine; shape (machines,)."""

    cpu: FloatVector
    memory: FloatVector
    slots: IntVector
    rack: IntVector
    region: IntVector
    worker_cpu: FloatVector
    worker_memory: FloatVector
    machine_cpu: FloatVector
    machine_memory: FloatVector
    #: A worker is charged at least this much CPU.
    floor: float

    @classmethod
    def of(cls, problem: Problem) -> Ground:
        """The whole cluster."""
        cluster = problem.cluster

        def per_machine(attribute: str, missing: float = np.nan) -> FloatVector:
            return cluster.per_type(attribute, missing)[cluster.type_of]

        memory = per_machine("memory_mb", np.inf)
        return cls(
            cpu=cluster.usable_cpu.copy(),
            memory=memory.copy(),
            slots=per_machine("slots").astype(np.int64),
            rack=cluster.rack_of,
            region=cluster.region_of,
            worker_cpu=per_machine("worker_cpu_points"),
            worker_memory=per_machine("worker_memory_mb"),
            machine_cpu=cluster.usable_cpu,
            machine_memory=memory,
            floor=cluster.worker_min_cpu_points,
        )

    def copy(self) -> Ground:
        """The same room, to be used up separately."""
        return replace(
            self, cpu=self.cpu.copy(), memory=self.memory.copy(), slots=self.slots.copy()
        )

    def take(self, step: Filled) -> None:
        self.cpu[step.machine] = step.cpu
        self.memory[step.machine] = step.memory
        self.slots[step.machine] = step.slots


@dataclass
class Left:
    """Executors of a topology still to be placed, by component."""

    demand: Demand
    counts: list[int]

    @classmethod
    def all_of(cls, demand: Demand) -> Left:
        return cls(demand, list(demand.counts))

    def copy(self) -> Left:
        return Left(self.demand, list(self.counts))

    def take(self, step: Filled) -> None:
        for worker in step.workers:
            for component in worker:
                self.counts[component] -= 1

    @property
    def executors(self) -> int:
        return sum(self.counts)

    @property
    def any(self) -> bool:
        return any(self.counts)

    @property
    def has_large(self) -> bool:
        return bool(self._large)

    @property
    def _large(self) -> list[int]:
        share = self.demand.share
        return [c for c, n in enumerate(self.counts) if n and share[c] > LARGE]

    def _total(self, values: tuple[float, ...]) -> float:
        return sum(n * value for n, value in zip(self.counts, values, strict=True))

    def needs(self, floor: float) -> tuple[float, float, int]:
        """CPU, memory and workers that all of it takes at least."""
        demand = self.demand
        workers = max(1, ceil(self._total(demand.heap) / demand.most_heap - 1e-9))
        cpu = max(self._total(demand.cpu), workers * floor)
        return cpu, self._total(demand.memory), workers

    def placed_part(self, rest: Left, cpu: float, memory: float) -> float:
        """How much of the cluster's demand is placed once only ``rest`` is left."""
        demand = self.demand
        placed_cpu = self._total(demand.cpu) - rest._total(demand.cpu)
        placed_memory = self._total(demand.memory) - rest._total(demand.memory)
        return max(placed_cpu / max(cpu, 1e-12), placed_memory / max(memory, 1e-12))

    def large_that_fit(self, cpu: FloatVector, memory: FloatVector) -> FloatVector:
        """How many large executors each machine holds, by the largest of them."""
        if not self._large:
            return np.zeros(len(cpu))
        demand = self.demand
        c = max(self._large, key=lambda large: demand.share[large])
        by_cpu = (cpu + DUST) / max(demand.cpu[c], 1e-12)
        by_memory = (memory + DUST) / max(demand.memory[c], 1e-12)
        return np.minimum(np.floor(np.minimum(by_cpu, by_memory)), self.counts[c])


def fill(ground: Ground, left: Left, machine: int, kept: tuple[float, float]) -> Filled:
    """As much of a topology as the machine holds; ``left`` is counted down, ``ground`` is not.

    ``kept``: parts of the machine's CPU and memory that are not to be used.
    """
    cpu_kept = kept[0] * float(ground.machine_cpu[machine]) if kept[0] else 0.0
    memory_kept = kept[1] * float(ground.machine_memory[machine]) if kept[1] else 0.0
    if np.isinf(memory_kept):
        memory_kept = 0.0
    room = _Room(
        float(ground.cpu[machine]) - cpu_kept,
        float(ground.memory[machine]) - memory_kept,
        ground.floor,
        float(ground.worker_cpu[machine]),
        float(ground.worker_memory[machine]),
    )
    slots = int(ground.slots[machine])
    workers: list[list[int]] = []
    while slots > len(workers):
        worker = room.next_worker(left)
        if not worker:
            break
        workers.append(worker)
    cpu, memory = room.cpu + cpu_kept, room.memory + memory_kept
    return Filled(left.demand, machine, workers, cpu, memory, slots - len(workers))


@dataclass
class _Room:
    """What one machine still has while workers are opened on it."""

    cpu: float
    memory: float
    floor: float
    worker_cpu: float
    worker_memory: float

    def next_worker(self, left: Left) -> list[int]:
        """The components of one more worker's executors; empty if none fits."""
        cpu, memory = self.cpu - self.worker_cpu, self.memory - self.worker_memory
        held: list[int] = []
        asked = charged = heap = 0.0
        demand, counts, floor = left.demand, left.counts, self.floor
        of_cpu, of_memory, of_heap = demand.cpu, demand.memory, demand.heap
        most_heap = demand.most_heap + DUST
        for group in demand.groups:
            fitting = [c for c in group if counts[c]]
            while fitting:
                fitting = [
                    c
                    for c in fitting
                    if counts[c]
                    and heap + of_heap[c] <= most_heap
                    and of_memory[c] <= memory + DUST
                    and max(asked + of_cpu[c], floor) - charged <= cpu + DUST
                ]
                if not fitting:
                    break
                c = _next_component(demand, counts, fitting)
                counts[c] -= 1
                held.append(c)
                asked += of_cpu[c]
                heap += of_heap[c]
                memory -= of_memory[c]
                cpu -= max(asked, floor) - charged
                charged = max(asked, floor)
            # A group goes on in the next worker; only what completes one shares it with others.
            if held and any(counts[c] for c in group):
                break
        if held:
            self.cpu, self.memory = cpu, memory
        return held


def _next_component(demand: Demand, counts: list[int], fitting: list[int]) -> int:
    """Large executors first, then the component that is most behind: a group goes in proportion."""
    best, most = fitting[0], -1.0
    for c in fitting:
        behind = counts[c] / demand.counts[c]
        if demand.share[c] > LARGE:
            behind += 10.0 * demand.share[c]
        if behind > most + 1e-12:
            best, most = c, behind
    return best

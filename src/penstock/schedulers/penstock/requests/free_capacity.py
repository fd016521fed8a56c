"""One machine filled with one topology's executors, worker by worker."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from penstock.evaluate.capacity import ROUNDING_POINTS
from penstock.model.arrays import FloatMatrix, FloatVector, IntVector
from penstock.model.problem import Problem
from penstock.schedulers.penstock.requests.topology_requests import TopologyRequests

#: An executor that takes more than this part of the largest machine is placed before small ones,
#: which fill what it leaves.
LARGE = 0.3
#: Sums may miss a limit by this much; half of what the check of limits lets pass.
DUST = ROUNDING_POINTS / 2


@dataclass(frozen=True)
class FilledMachine:
    """Workers of one topology on one machine: the components they hold; what room is then left."""

    requests: TopologyRequests
    machine: int
    workers: list[list[int]]
    cpu: float
    memory: float
    slots: int
    #: What is left of the hard resources beside memory.
    others: tuple[float, ...] = ()

    @property
    def executors(self) -> int:
        return sum(len(worker) for worker in self.workers)


@dataclass
class FreeCapacity:
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
    #: What is left of the hard resources beside memory, shape (machines, resources).
    others: FloatMatrix
    #: A worker is charged at least this much CPU.
    floor: float

    @classmethod
    def of(cls, problem: Problem) -> FreeCapacity:
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
            others=problem.resources.beyond_memory.capacity.copy(),
            floor=cluster.worker_min_cpu_points,
        )

    def copy(self) -> FreeCapacity:
        """The same room, to be used up separately."""
        return replace(
            self,
            cpu=self.cpu.copy(),
            memory=self.memory.copy(),
            slots=self.slots.copy(),
            others=self.others.copy(),
        )

    def take(self, step: FilledMachine) -> None:
        self.cpu[step.machine] = step.cpu
        self.memory[step.machine] = step.memory
        self.others[step.machine] = step.others
        self.slots[step.machine] = step.slots


@dataclass
class UnplacedExecutors:
    """Executors of a topology still to be placed, by component."""

    requests: TopologyRequests
    counts: list[int]

    @classmethod
    def all_of(cls, requests: TopologyRequests) -> UnplacedExecutors:
        return cls(requests, list(requests.counts))

    def copy(self) -> UnplacedExecutors:
        return UnplacedExecutors(self.requests, list(self.counts))

    def take(self, step: FilledMachine) -> None:
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
        share = self.requests.share
        return [c for c, n in enumerate(self.counts) if n and share[c] > LARGE]

    def _total(self, values: tuple[float, ...]) -> float:
        return sum(n * value for n, value in zip(self.counts, values, strict=True))

    def needs(self, floor: float) -> tuple[float, float, int]:
        """CPU, memory and workers that all of it takes at least."""
        requests = self.requests
        workers = max(1, ceil(self._total(requests.heap) / requests.most_heap - 1e-9))
        cpu = max(self._total(requests.cpu), workers * floor)
        return cpu, self._total(requests.memory), workers

    def placed_part(self, rest: UnplacedExecutors, cpu: float, memory: float) -> float:
        """How much of the cluster's demand is placed once only ``rest`` is left."""
        requests = self.requests
        placed_cpu = self._total(requests.cpu) - rest._total(requests.cpu)
        placed_memory = self._total(requests.memory) - rest._total(requests.memory)
        return max(placed_cpu / max(cpu, 1e-12), placed_memory / max(memory, 1e-12))

    def large_that_fit(
        self, cpu: FloatVector, memory: FloatVector, others: FloatMatrix
    ) -> FloatVector:
        """How many large executors each machine holds, by the largest of them."""
        if not self._large:
            return np.zeros(len(cpu))
        requests = self.requests
        c = max(self._large, key=lambda large: requests.share[large])
        by_cpu = (cpu + DUST) / max(requests.cpu[c], 1e-12)
        by_memory = (memory + DUST) / max(requests.memory[c], 1e-12)
        most = np.minimum(by_cpu, by_memory)
        for asked, left in zip(requests.others[c], others.T, strict=True):
            most = np.minimum(most, (left + DUST) / max(asked, 1e-12))
        return np.minimum(np.floor(most), self.counts[c])


def fill(
    free: FreeCapacity, left: UnplacedExecutors, machine: int, reserve: tuple[float, float]
) -> FilledMachine:
    """As much of a topology as the machine holds; ``left`` is counted down, ``free`` is not.

    ``reserve``: parts of the machine's CPU and memory that are not to be used.
    """
    cpu_reserve = reserve[0] * float(free.machine_cpu[machine]) if reserve[0] else 0.0
    memory_reserve = reserve[1] * float(free.machine_memory[machine]) if reserve[1] else 0.0
    if np.isinf(memory_reserve):
        memory_reserve = 0.0
    room = _Room(
        float(free.cpu[machine]) - cpu_reserve,
        float(free.memory[machine]) - memory_reserve,
        free.floor,
        float(free.worker_cpu[machine]),
        float(free.worker_memory[machine]),
        free.others[machine].tolist(),
    )
    slots = int(free.slots[machine])
    workers: list[list[int]] = []
    while slots > len(workers):
        worker = room.next_worker(left)
        if not worker:
            break
        workers.append(worker)
    cpu, memory = room.cpu + cpu_reserve, room.memory + memory_reserve
    still_free, others = slots - len(workers), tuple(room.others)
    return FilledMachine(left.requests, machine, workers, cpu, memory, still_free, others)


@dataclass
class _Room:
    """What one machine still has while workers are opened on it."""

    cpu: float
    memory: float
    floor: float
    worker_cpu: float
    worker_memory: float
    others: list[float]

    def next_worker(self, left: UnplacedExecutors) -> list[int]:
        """The components of one more worker's executors; empty if none fits."""
        cpu, memory = self.cpu - self.worker_cpu, self.memory - self.worker_memory
        held: list[int] = []
        requested = charged = heap = 0.0
        requests, counts, floor = left.requests, left.counts, self.floor
        of_cpu, of_memory, of_heap = requests.cpu, requests.memory, requests.heap
        most_heap = requests.most_heap + DUST
        for group in requests.groups:
            fitting = [c for c in group if counts[c]]
            while fitting:
                fitting = [
                    c
                    for c in fitting
                    if counts[c]
                    and heap + of_heap[c] <= most_heap
                    and of_memory[c] <= memory + DUST
                    and self._has_others(requests.others[c])
                    and max(requested + of_cpu[c], floor) - charged <= cpu + DUST
                ]
                if not fitting:
                    break
                c = _next_component(requests, counts, fitting)
                counts[c] -= 1
                held.append(c)
                requested += of_cpu[c]
                heap += of_heap[c]
                memory -= of_memory[c]
                self.others = [
                    left - asked
                    for left, asked in zip(self.others, requests.others[c], strict=True)
                ]
                cpu -= max(requested, floor) - charged
                charged = max(requested, floor)
            # A group goes on in the next worker; only what completes one shares it with others.
            if held and any(counts[c] for c in group):
                break
        if held:
            self.cpu, self.memory = cpu, memory
        return held

    def _has_others(self, asked: tuple[float, ...]) -> bool:
        return all(a <= left + DUST for a, left in zip(asked, self.others, strict=True))


def _next_component(requests: TopologyRequests, counts: list[int], fitting: list[int]) -> int:
    """Large executors first, then the component that is most behind: a group goes in proportion."""
    best, most = fitting[0], -1.0
    for c in fitting:
        behind = counts[c] / requests.counts[c]
        if requests.share[c] > LARGE:
            behind += 10.0 * requests.share[c]
        if behind > most + 1e-12:
            best, most = c, behind
    return best

"""One topology's workers as arrays, and what moving or exchanging executors would gain.

Distance falls by one for every connected pair that comes to share a region, a rack, a machine, a
worker. ``near[w, c]`` counts the executors joined to component c in worker w, on its machine, in
its rack and its region, all summed: an executor of c gains ``near[v, c] - near[w, c]`` by going
from w to v, corrected for the pairs within c and, in an exchange, between the two that pass each
other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.model.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from penstock.schedulers.penstock.requests.free_capacity import DUST, FilledMachine, FreeCapacity
from penstock.schedulers.penstock.requests.topology_requests import TopologyRequests


@dataclass(frozen=True, slots=True)
class ExecutorExchange:
    """An executor goes to another worker; one of ``back`` (-1: none) comes in exchange."""

    gain: float
    component: int
    source: int
    target: int
    back: int = -1


class TopologyWorkers:
    """Workers of one topology, shape (workers,) and (workers, components).

    Beside the workers there are, one per machine with a free slot, empty ones.
    """

    def __init__(
        self,
        requests: TopologyRequests,
        filled: list[FilledMachine],
        spare: list[int],
        free: FreeCapacity,
    ):
        self.requests, self.free = requests, free
        workers = [(step.machine, worker) for step in filled for worker in step.workers]
        self.machine: IntVector = np.array([m for m, _ in workers] + spare, dtype=np.int64)
        self.held = np.zeros((len(self.machine), len(requests.counts)))
        for row, (_, worker) in enumerate(workers):
            np.add.at(self.held[row], worker, 1.0)
        self.rack, self.region = free.rack[self.machine], free.region[self.machine]
        self.cpu, self.memory = np.array(requests.cpu), np.array(requests.memory)
        self.heap = np.array(requests.heap)
        self.others = np.array(requests.others)
        self.self_joined = np.diag(requests.joined)
        self.own_cpu = free.worker_cpu[self.machine]
        self.own_memory = free.worker_memory[self.machine]
        self.near = self._near()
        self.heap_used = self.held @ self.heap
        self.requested_cpu = self.held @ self.cpu
        self.busy: BoolVector = self.held.sum(axis=1) > 0

    def _near(self) -> FloatMatrix:
        near = self.held.copy()
        for place in (self.machine, self.rack, self.region):
            _, index = np.unique(place, return_inverse=True)
            summed = np.zeros((int(index.max()) + 1, self.held.shape[1]))
            np.add.at(summed, index, self.held)
            near += summed[index]
        return near @ self.requests.joined

    def _charged(self, requested_cpu: FloatVector, own: FloatVector | float) -> FloatVector:
        return np.maximum(requested_cpu, self.free.floor) + own

    def best_step(self, source: int, component: int) -> ExecutorExchange:
        """The move or exchange of one executor that gains most; no gain is 0 or less."""
        same = self.machine == self.machine[source]
        apart = (
            1.0 + ~same + (self.rack != self.rack[source]) + (self.region != self.region[source])
        )
        gain = self.near[:, component] - self.near[source, component]
        gain += apart * self.self_joined[component]
        now = np.where(self.busy, self._charged(self.requested_cpu, self.own_cpu), 0.0)
        move = self._best_move(source, component, gain, same, now)
        exchange = self._best_exchange(source, component, gain, apart, same, now)
        return exchange if exchange.gain > move.gain else move

    def _best_move(
        self, source: int, component: int, gain: FloatVector, same: BoolVector, now: FloatVector
    ) -> ExecutorExchange:
        free, cpu = self.free, self.cpu[component]
        more = self._charged(self.requested_cpu + cpu, self.own_cpu) - now
        alone = self.held[source].sum() <= 1
        after = 0.0
        if not alone:
            after = max(self.requested_cpu[source] - cpu, free.floor) + self.own_cpu[source]
        freed = np.where(same, now[source] - after, 0.0)
        memory = np.where(self.busy, 0.0, self.own_memory)
        memory += np.where(same, 0.0, self.memory[component])
        fits = self.heap_used + self.heap[component] <= self.requests.most_heap + DUST
        fits &= more - freed <= free.cpu[self.machine] + DUST
        fits &= memory <= free.memory[self.machine] + DUST
        fits &= same | (self.others[component] <= free.others[self.machine] + DUST).all(axis=1)
        fits &= self.busy | (free.slots[self.machine] > 0)
        fits[source] = False
        gains = np.where(fits, gain, -np.inf)
        target = int(np.argmax(gains))
        return ExecutorExchange(float(gains[target]), component, source, target)

    def _best_exchange(
        self,
        source: int,
        component: int,
        gain: FloatVector,
        apart: FloatVector,
        same: BoolVector,
        now: FloatVector,
    ) -> ExecutorExchange:
        joined, c = self.requests.joined, component
        gains = gain[:, None] + self.near[source] - self.near
        gains += apart[:, None] * (self.self_joined - 2.0 * joined[c])
        # Few exchanges gain anything; only those are looked at more closely.
        rows, backs = np.nonzero((gains > DUST) & (self.held > 0))
        eligible = (rows != source) & (backs != c)
        rows, backs = rows[eligible], backs[eligible]
        fits = self._may_exchange(source, c, rows, backs, same, now)
        if not fits.any():
            return ExecutorExchange(0.0, c, source, source)
        rows, backs = rows[fits], backs[fits]
        best = int(np.argmax(gains[rows, backs]))
        target, back = int(rows[best]), int(backs[best])
        return ExecutorExchange(float(gains[target, back]), c, source, target, back)

    def _may_exchange(
        self,
        source: int,
        c: int,
        rows: IntVector,
        backs: IntVector,
        same: BoolVector,
        now: FloatVector,
    ) -> BoolVector:
        free, most = self.free, self.requests.most_heap + DUST
        home, there = self.machine[source], self.machine[rows]
        cpu, memory = self.cpu[c] - self.cpu[backs], self.memory[c] - self.memory[backs]
        heap = self.heap[c] - self.heap[backs]
        fits = (self.heap_used[rows] + heap <= most) & (self.heap_used[source] - heap <= most)
        more = self._charged(self.requested_cpu[rows] + cpu, self.own_cpu[rows]) - now[rows]
        less = self._charged(self.requested_cpu[source] - cpu, self.own_cpu[source]) - now[source]
        together = more + less <= free.cpu[home] + DUST
        elsewhere = (more <= free.cpu[there] + DUST) & (less <= free.cpu[home] + DUST)
        elsewhere &= memory <= free.memory[there] + DUST
        elsewhere &= -memory <= free.memory[home] + DUST
        others = self.others[c] - self.others[backs]
        elsewhere &= (others <= free.others[there] + DUST).all(axis=1)
        elsewhere &= (-others <= free.others[home] + DUST).all(axis=1)
        return np.asarray(fits & np.where(same[rows], together, elsewhere))

    def apply(self, step: ExecutorExchange) -> None:
        if step.back >= 0:
            self._shift(step.back, step.target, step.source)
        self._shift(step.component, step.source, step.target)

    def _shift(self, component: int, source: int, target: int) -> None:
        joined = self.requests.joined[component]
        for row, sign in ((source, -1.0), (target, 1.0)):
            self.near[row] += sign * joined
        for place in (self.machine, self.rack, self.region):
            if place[source] != place[target]:
                self.near[place == place[source]] -= joined
                self.near[place == place[target]] += joined
        self._count(component, source, -1.0)
        self._count(component, target, 1.0)

    def _count(self, component: int, row: int, sign: float) -> None:
        """One executor more or less in a worker, which may open or close with it."""
        free, machine = self.free, self.machine[row]
        before = self._uses(row)
        self.held[row, component] += sign
        self.busy[row] = bool(self.held[row].any())
        # From the counts, not by adding up: a thousand steps leave no rounding behind.
        self.requested_cpu[row] = self.held[row] @ self.cpu
        self.heap_used[row] = self.held[row] @ self.heap
        after = self._uses(row)
        free.cpu[machine] -= after[0] - before[0]
        free.memory[machine] -= after[1] - before[1]
        free.others[machine] -= sign * self.others[component]
        free.slots[machine] -= after[2] - before[2]

    def _uses(self, row: int) -> tuple[float, float, int]:
        if not self.busy[row]:
            return 0.0, 0.0, 0
        cpu = max(float(self.requested_cpu[row]), self.free.floor) + float(self.own_cpu[row])
        memory = float(self.held[row] @ self.memory) + float(self.own_memory[row])
        return cpu, memory, 1

    def filled(self) -> list[FilledMachine]:
        """The workers as the packer has them."""
        machines = []
        for row in np.flatnonzero(self.busy).tolist():
            worker = np.repeat(np.arange(self.held.shape[1]), self.held[row].astype(np.int64))
            machines.append(
                FilledMachine(self.requests, int(self.machine[row]), [worker.tolist()], 0.0, 0.0, 0)
            )
        return machines

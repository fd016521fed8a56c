"""Instances on machines: what each machine holds and the scale at which it is full.

Kept up to date change by change, so that a search can look at thousands of them. CPU and network
cards by the approximate costs of :mod:`.costs`; the plan that comes out is judged by ``evaluate``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.model.arrays import BoolMatrix, FloatMatrix, FloatVector, IntMatrix, IntVector
from penstock.model.placement import Placement
from penstock.schedulers.penstock.manycore.costs import Costs

_TINY = 1e-200
_ROUNDING_MB = 1e-6


@dataclass(frozen=True)
class InstanceGroups:
    """Instances that are alike. G groups."""

    costs: Costs
    #: Component of each group, tuples/s of one instance at scale 1, mean and largest, shape (G,).
    component: IntVector
    rate: FloatVector
    largest: FloatVector
    #: Instance numbers within the component of each group.
    instances: tuple[IntVector, ...]

    @property
    def topology(self) -> IntVector:
        return self.costs.problem.topology_of[self.component]


class Machines:
    """The machines of a plan in the making. M machines, G groups, P topologies."""

    def __init__(
        self, groups: InstanceGroups, count: IntMatrix, stays: BoolMatrix | None = None
    ) -> None:
        costs, problem = groups.costs, groups.costs.problem
        cluster = problem.cluster
        self.groups, self.problem = groups, problem
        self.kind = cluster.type_of
        #: Instances of each group on each machine, shape (M, G).
        self.count = count.copy()
        #: Instances that others on the machine need beside them, shape (M, G).
        self.stays = np.zeros(count.shape, dtype=np.bool_) if stays is None else stays
        # Of one instance of each group on each machine: shape (G, M).
        c = groups.component
        self.met = problem.met[c][:, self.kind]
        self.slope_of = costs.e_on[c] * groups.rate[:, None]
        hottest = costs.e_on[c] * groups.largest[:, None]
        room = np.maximum(problem.instance_points - problem.met, 0.0)[c][:, self.kind]
        self.thread_full = np.where(hottest > 0, room / np.maximum(hottest, _TINY), np.inf)
        self.memory_of = costs.memory_mb[c]
        self.out_of = costs.bytes_out_on[c] * groups.rate[:, None]
        self.in_of = costs.bytes_in_on[c] * groups.rate[:, None]
        self.heap_of = problem.onheap_mb[c]
        # Of each machine: shape (M,).
        self.cpu, self.memory = costs.cpu[self.kind], costs.memory[self.kind]
        self.nic = costs.nic[self.kind]
        self.worker_cpu, self.worker_mb = costs.worker_cpu[self.kind], costs.worker_mb[self.kind]
        self.slots = cluster.per_type("slots", np.inf)[self.kind]
        self.topology = groups.topology
        limits = [t.worker_max_heap_mb for t in problem.topologies]
        self.most_heap = np.array([np.inf if h is None else h for h in limits])
        self._sum_up()

    def close(self, machines: list[int]) -> None:
        """Nothing more goes to these machines."""
        self.slots = self.slots.copy()
        self.slots[machines] = -1

    def _sum_up(self) -> None:
        count = self.count
        #: Instances of each topology on each machine, shape (P, M).
        self.held = np.stack(
            [count[:, self.topology == p].sum(axis=1) for p in range(len(self.most_heap))]
        )
        workers = (self.held > 0).sum(axis=0)
        self.fixed = (count * self.met.T).sum(axis=1) + workers * self.worker_cpu
        self.slope = (count * self.slope_of.T).sum(axis=1)
        self.used_mb = count @ self.memory_of + workers * self.worker_mb
        self.out, self.into = (
            (count * self.out_of.T).sum(axis=1),
            (count * self.in_of.T).sum(axis=1),
        )
        self.heap = np.stack(
            [
                count[:, self.topology == p] @ self.heap_of[self.topology == p]
                for p in range(len(self.most_heap))
            ]
        )
        self.workers = workers
        self.thread = np.where(count.T > 0, self.thread_full, np.inf).min(axis=0)
        self.full = np.minimum(
            self.full_at(self.fixed, self.slope, self.out, self.into, self.used_mb, slice(None)),
            self.thread,
        )

    def full_at(
        self,
        fixed: FloatVector,
        slope: FloatVector,
        out: FloatVector,
        into: FloatVector,
        used_mb: FloatVector,
        m: int | slice,
    ) -> FloatVector:
        """The scale at which machines with these loads are full; negative where fixed ones are."""
        room = self.cpu[m] - fixed
        full = np.where(room < 0, room, room / np.maximum(slope, _TINY))
        full = np.minimum(full, self.nic[m] / np.maximum(np.maximum(out, into), _TINY))
        over = used_mb - self.memory[m]
        return np.asarray(np.where(over > _ROUNDING_MB, np.minimum(full, -over), full))

    def arrivals(self, g: int | IntVector) -> FloatMatrix:
        """The scale at which each machine would be full with one more of group ``g``, (M,).

        For several groups a row each.
        """
        p = self.topology[g]
        opens = self.held[p] == 0
        full = self.full_at(
            self.fixed + self.met[g] + np.where(opens, self.worker_cpu, 0.0),
            self.slope + self.slope_of[g],
            self.out + self.out_of[g],
            self.into + self.in_of[g],
            self.used_mb,
            slice(None),
        )
        memory = self.used_mb + _column(self.memory_of[g]) + np.where(opens, self.worker_mb, 0.0)
        allowed = (memory <= self.memory + _ROUNDING_MB) & (self.workers + opens <= self.slots)
        allowed &= self.heap[p] + _column(self.heap_of[g]) <= _column(self.most_heap[p])
        full = np.minimum(np.minimum(full, self.thread_full[g]), self.thread)
        return np.where(allowed, full, -np.inf)

    def exchanges(self, g: int, back: IntVector) -> FloatMatrix:
        """The scale at which each machine would be full with ``g`` in place of each of ``back``."""
        p, q = self.topology[g], self.topology[back]
        other = (q != p)[:, None]
        workers = (other & (self.held[p] == 0)).astype(np.float64) - (other & (self.held[q] == 1))
        memory = self.used_mb + self.memory_of[g] - self.memory_of[back][:, None]
        full = self.full_at(
            self.fixed + self.met[g] - self.met[back] + workers * self.worker_cpu,
            self.slope + self.slope_of[g] - self.slope_of[back],
            self.out + self.out_of[g] - self.out_of[back],
            self.into + self.in_of[g] - self.in_of[back],
            memory + workers * self.worker_mb,
            slice(None),
        )
        heap = self.heap[p] + self.heap_of[g] - np.where(other, 0.0, self.heap_of[back][:, None])
        comes = (self.count[:, back] > 0) & ~self.stays[:, back]
        allowed = comes.T & (self.workers + workers <= self.slots)
        allowed &= heap <= self.most_heap[p]
        full = np.minimum(np.minimum(full, self.thread_full[g]), self.thread)
        return np.where(allowed, full, -np.inf)

    def returns(self, m: int) -> FloatVector:
        """The scale at which machine ``m`` would be full with one more of each group, (G,)."""
        opens = self.held[self.topology, m] == 0
        memory = self.used_mb[m] + self.memory_of + np.where(opens, self.worker_mb[m], 0.0)
        full = self.full_at(
            self.fixed[m] + self.met[:, m] + np.where(opens, self.worker_cpu[m], 0.0),
            self.slope[m] + self.slope_of[:, m],
            self.out[m] + self.out_of[:, m],
            self.into[m] + self.in_of[:, m],
            memory,
            m,
        )
        allowed = (memory <= self.memory[m] + _ROUNDING_MB) & (
            self.workers[m] + opens <= self.slots[m]
        )
        heap = self.heap[self.topology, m] + self.heap_of
        allowed &= heap <= self.most_heap[self.topology]
        full = np.minimum(np.minimum(full, self.thread_full[:, m]), self.thread[m])
        return np.where(allowed, full, -np.inf)

    def departures(self, m: int, g: IntVector) -> FloatVector:
        """The scale at which machine ``m`` would be full with one less of each group, (G,)."""
        closes = self.held[self.topology[g], m] == 1
        full = self.full_at(
            self.fixed[m] - self.met[g, m] - np.where(closes, self.worker_cpu[m], 0.0),
            self.slope[m] - self.slope_of[g, m],
            self.out[m] - self.out_of[g, m],
            self.into[m] - self.in_of[g, m],
            self.used_mb[m] - self.memory_of[g] - np.where(closes, self.worker_mb[m], 0.0),
            m,
        )
        # Of the threads left, the first to be full: another one only where the last of g goes.
        own = self.thread_full[self.count[m] > 0, m]
        first, second = np.sort(np.append(own, [np.inf, np.inf]))[:2]
        alone = (self.count[m, g] == 1) & (self.thread_full[g, m] <= first)
        return np.asarray(np.minimum(full, np.where(alone, second, first)))

    def add(self, m: int, g: int, number: int) -> None:
        """Put ``number`` instances of a group on a machine, or take them off if negative."""
        p = self.topology[g]
        before = self.held[p, m] > 0
        self.count[m, g] += number
        self.held[p, m] += number
        opened = int(self.held[p, m] > 0) - int(before)
        self.workers[m] += opened
        self.fixed[m] += number * self.met[g, m] + opened * self.worker_cpu[m]
        self.slope[m] += number * self.slope_of[g, m]
        self.used_mb[m] += number * self.memory_of[g] + opened * self.worker_mb[m]
        self.out[m] += number * self.out_of[g, m]
        self.into[m] += number * self.in_of[g, m]
        self.heap[p, m] += number * self.heap_of[g]
        held = self.count[m] > 0
        self.thread[m] = self.thread_full[held, m].min(initial=np.inf)
        own = self.full_at(
            self.fixed[m], self.slope[m], self.out[m], self.into[m], self.used_mb[m], m
        )
        self.full[m] = min(float(own), float(self.thread[m]))

    @property
    def is_legal(self) -> bool:
        """Whether memory and slots suffice for what the machines hold."""
        fits = (self.workers <= self.slots) | (self.workers == 0)
        heap_fits = self.heap <= self.most_heap[:, None]
        return bool(fits.all() and heap_fits.all() and not self.lacks_memory)

    @property
    def lacks_memory(self) -> bool:
        """Whether a machine holds more than its memory."""
        return bool((self.used_mb > self.memory + _ROUNDING_MB).any())

    def placement(self) -> Placement:
        """Every instance on its machine; one worker per topology and machine."""
        component, machine, number = [], [], []
        for g, instances in enumerate(self.groups.instances):
            where = _interleaved(self.count[:, g])
            component.append(np.full(len(where), self.groups.component[g]))
            machine.append(where)
            number.append(instances[: len(where)])
        components, machines = np.concatenate(component), np.concatenate(machine)
        order = np.lexsort((np.concatenate(number), components))
        components, machines = components[order], machines[order]
        slot = np.cumsum(self.held > 0, axis=0) - 1
        slots = slot[self.problem.topology_of[components], machines]
        return Placement.of(components, machines, slots)


def _column(values: FloatVector) -> FloatMatrix:
    """A value per row, or one for all."""
    return np.asarray(values)[..., None]


def _interleaved(counts: IntVector) -> IntVector:
    """Machines, each as often as it has instances, in an order that takes turns.

    Instances of a group are listed by size: so every machine gets large and small ones.
    """
    machine = np.repeat(np.arange(len(counts)), counts)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    turn = (np.arange(len(machine)) - first + 0.5) / np.repeat(counts, counts)
    return np.asarray(machine[np.argsort(turn, kind="stable")])

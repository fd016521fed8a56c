"""What becomes of a plan when a machine is lost and no rates are known: by requests alone.

No instance starts or ends. Those of the lost machine move, the largest request first, each to the
machine that then has the largest part of its CPU left; CPU may be overdrawn, memory and other
hard resources, a worker's heap and slots may not. Where CPU is equal, often because none was asked
for, the machine with the fewest instances for its size takes it. An instance that fits nowhere is
in no move: the engine has to put it somewhere, and says so. One pass over the machines per instance
in the plan.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import count

import numpy as np

from penstock.evaluate.capacity import workers_per_machine
from penstock.evaluate.limits import cpu_requested, resources_used
from penstock.evaluate.rates import worker_keys
from penstock.evaluate.terms import held_table
from penstock.model.arrays import BoolVector, FloatMatrix, FloatVector, IntVector, sum_by
from penstock.model.placement import Placement
from penstock.model.plan import Contingency
from penstock.model.problem import Problem
from penstock.model.resources import MEMORY
from penstock.schedulers.penstock.requests.free_capacity import DUST, FreeCapacity
from penstock.schedulers.penstock.requests.topology_requests import LargestUnits

#: Parts of a machine that agree to so many digits are equal; sums in another order differ in more.
_DIGITS = 9


def contingencies_by_requests(
    problem: Problem, placement: Placement, most_kinds: int | None = None
) -> tuple[Contingency, ...]:
    """For every machine in use, where its instances go; nothing if there are more kinds of losses.

    Machines of one type that hold the same are one kind.
    """
    if most_kinds is not None and _kinds_of_losses(problem, placement) > most_kinds:
        return ()
    asked, workers = _Asked.of(problem), _WorkerTable.of(problem, placement)
    ground, allowed = _ground_left(problem, placement), _allowed(problem)
    instances = np.bincount(placement.machine, minlength=len(allowed))
    contingencies = []
    for lost in placement.machines_used.tolist():
        rest = _Rest(
            asked, ground.copy(), workers.without(lost), instances.copy(), _but(allowed, lost)
        )
        contingencies.append(_contingency(problem, placement, lost, rest))
    return tuple(contingencies)


def _kinds_of_losses(problem: Problem, placement: Placement) -> int:
    rows = np.column_stack([problem.cluster.type_of, held_table(problem, placement)])
    return len(np.unique(rows[placement.machines_used], axis=0))


def _ground_left(problem: Problem, placement: Placement) -> FreeCapacity:
    ground = FreeCapacity.of(problem)
    ground.cpu -= cpu_requested(problem, placement)
    used, others = resources_used(problem, placement), problem.resources.hard.copy()
    others[MEMORY] = False
    ground.memory -= used[:, MEMORY]
    ground.others -= used[:, others]
    ground.slots -= workers_per_machine(problem, placement).astype(np.int64)
    return ground


def _allowed(problem: Problem) -> BoolVector:
    """Machines that the terms do not avoid."""
    index = problem.cluster.machine_index
    allowed = np.ones(len(index), dtype=np.bool_)
    allowed[[index[name] for name in problem.terms.avoid]] = False
    return allowed


def _but(allowed: BoolVector, lost: int) -> BoolVector:
    rest = allowed.copy()
    rest[lost] = False
    return rest


def _contingency(problem: Problem, placement: Placement, lost: int, rest: _Rest) -> Contingency:
    names = [machine.name for machine in problem.cluster.machines]
    leaving = np.flatnonzero(placement.machine == lost)
    component = placement.component[leaving]
    largest_first = np.argsort(-rest.asked.share[component], kind="stable")
    places = {int(i): rest.take_in(int(component[i])) for i in largest_first}
    starts = placement.starts(len(problem.components))
    moves = tuple(
        (problem.labels[c], instance - int(starts[c]), names[place[0]], place[1])
        for i, (instance, c) in enumerate(zip(leaving.tolist(), component.tolist(), strict=True))
        for place in [places[i]]
        if place is not None
    )
    return Contingency(names[lost], moves)


@dataclass(frozen=True)
class _Asked:
    """What one instance of each component asks for, shape (components,); undeclared is nothing."""

    cpu: FloatVector
    memory: FloatVector
    heap: FloatVector
    #: The most heap its worker may have.
    most_heap: FloatVector
    topology: IntVector
    #: The part of the largest machine's CPU, memory or other resource, whichever is most.
    share: FloatVector
    #: Hard resources beside memory, shape (components, resources).
    others: FloatMatrix

    @classmethod
    def of(cls, problem: Problem) -> _Asked:
        cpu, memory = np.nan_to_num(problem.cpu_request), np.nan_to_num(problem.memory_mb)
        limits = [t.worker_max_heap_mb for t in problem.topologies]
        most_heap = np.array([np.inf if limit is None else limit for limit in limits])
        sizes, others = LargestUnits.of(problem), problem.resources.beyond_memory.request
        return cls(
            cpu,
            memory,
            problem.onheap_mb,
            most_heap[problem.topology_of],
            problem.topology_of,
            sizes.share(cpu, memory, others),
            others,
        )


@dataclass
class _WorkerTable:
    """Worker processes and what runs in each, shape (workers,)."""

    machine: IntVector
    slot: IntVector
    topology: IntVector
    instances: IntVector
    #: CPU points its instances ask for, before any floor.
    cpu: FloatVector
    heap: FloatVector

    @classmethod
    def of(cls, problem: Problem, placement: Placement) -> _WorkerTable:
        keys, _ = worker_keys(placement)
        _, first, worker = np.unique(keys, return_index=True, return_inverse=True)
        component, workers = placement.component, len(first)
        return cls(
            placement.machine[first],
            placement.slot[first],
            problem.topology_of[component[first]],
            np.bincount(worker, minlength=workers),
            sum_by(worker, np.nan_to_num(problem.cpu_request)[component], workers),
            sum_by(worker, problem.onheap_mb[component], workers),
        )

    def without(self, lost: int) -> _WorkerTable:
        """Those of the other machines, to be changed separately."""
        stay = self.machine != lost
        return _WorkerTable(*(getattr(self, column.name)[stay] for column in fields(self)))

    def joined_by(self, topology: int, heap: float, most_heap: float, machines: int) -> IntVector:
        """The worker that takes one more instance on each machine, -1 where none does.

        Of a topology's workers on one machine the smallest, the first among equals.
        """
        own = np.flatnonzero((self.topology == topology) & (self.heap + heap <= most_heap + DUST))
        smallest_last = own[np.lexsort((-self.slot[own], -self.instances[own]))]
        joined = np.full(machines, -1)
        joined[self.machine[smallest_last]] = smallest_last  # the last one stays
        return joined

    def start(self, machine: int, topology: int) -> int:
        """A worker in the first free slot of a machine."""
        occupied = set(self.slot[self.machine == machine].tolist())
        slot = next(number for number in count() if number not in occupied)
        row = (machine, slot, topology, 0, 0.0, 0.0)
        for column, value in zip(fields(self), row, strict=True):
            setattr(self, column.name, np.append(getattr(self, column.name), value))
        return len(self.machine) - 1


@dataclass
class _Rest:
    """The cluster without one machine, as its instances are taken in one after the other."""

    asked: _Asked
    ground: FreeCapacity
    workers: _WorkerTable
    #: Instances on each machine, shape (machines,).
    instances: IntVector
    allowed: BoolVector

    def take_in(self, component: int) -> tuple[int, int] | None:
        """Machine and slot of one more instance; ``None`` if it fits nowhere."""
        asked, ground, workers = self.asked, self.ground, self.workers
        topology, heap = int(asked.topology[component]), float(asked.heap[component])
        most_heap = float(asked.most_heap[component])
        worker = workers.joined_by(topology, heap, most_heap, len(self.allowed))
        memory = asked.memory[component] + np.where(worker >= 0, 0.0, ground.worker_memory)
        may_start = (ground.slots > 0) & (heap <= most_heap + DUST)
        fits = self.allowed & ((worker >= 0) | may_start) & (memory <= ground.memory + DUST)
        fits &= (asked.others[component] <= ground.others + DUST).all(axis=1)
        if not fits.any():
            return None
        cpu = self._charged(worker, float(asked.cpu[component]))
        machine = self._most_left(np.flatnonzero(fits), cpu)
        joined = int(worker[machine])
        if joined < 0:
            joined = workers.start(machine, topology)
            ground.slots[machine] -= 1
        workers.instances[joined] += 1
        workers.cpu[joined] += asked.cpu[component]
        workers.heap[joined] += heap
        ground.cpu[machine] -= cpu[machine]
        ground.memory[machine] -= memory[machine]
        ground.others[machine] -= asked.others[component]
        self.instances[machine] += 1
        return machine, int(workers.slot[joined])

    def _charged(self, worker: IntVector, cpu: float) -> FloatVector:
        """CPU points one more instance costs each machine: a worker is charged at least a floor."""
        joins, floor = worker >= 0, self.ground.floor
        before, charged = np.zeros(len(worker)), np.zeros(len(worker))
        before[joins] = self.workers.cpu[worker[joins]]
        charged[joins] = np.maximum(before[joins], floor)
        return np.asarray(np.maximum(before + cpu, floor) - charged)

    def _most_left(self, machines: IntVector, cpu: FloatVector) -> int:
        """Of these machines the one with the largest part of its CPU left, then the emptiest."""
        size = self.ground.machine_cpu[machines]
        left = np.round((self.ground.cpu[machines] - cpu[machines]) / size, _DIGITS)
        equal = np.flatnonzero(left == left.max())
        crowd = self.instances[machines[equal]] / size[equal]
        return int(machines[equal[crowd.argmin()]])

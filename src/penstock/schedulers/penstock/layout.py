"""A weighted plan from a vertex of the linear programme: components laid end to end on each type.

A vertex gives work to few pairs of component and type (about components + types of them). On each
type the components are laid one after the other over its machines, so that only where one ends and
the next begins two share a machine and an overhead is paid that the programme did not count: about
one more instance per component than there are machines. How far the work must be scaled down until
the overheads fit is found by bisection. Cost: components x types, whatever the number of machines.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from penstock.model.arrays import FloatMatrix, FloatVector
from penstock.schedulers.penstock.aggregate import AggregateProblem, MachineGroups

_STEPS = 30
#: Points too few to be worth an instance.
_CRUMB = 1e-6


def lay_out(aggregate: AggregateProblem, rate: FloatMatrix) -> MachineGroups | None:
    """Groups that carry as much as they can of these tuples/s, shape (C, K)."""
    # Not all e are finite, but where there is work they are.
    points = np.where(rate > 0, aggregate.e, 0.0) * rate
    must = _places_of_idle(aggregate, points)
    low, high, best = 0.0, 1.0, None
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        groups = _all_kinds(aggregate, points * middle, must)
        if groups is None:
            high = middle
        else:
            low, best = middle, groups
    return best


def _places_of_idle(aggregate: AggregateProblem, points: FloatMatrix) -> FloatMatrix:
    """1 where a component without work gets its one instance: where that costs least."""
    must = np.zeros(points.shape)
    idle = np.flatnonzero(points.sum(axis=1) <= 0)
    must[idle, aggregate.met[idle].argmin(axis=1)] = 1.0
    return must


def _all_kinds(
    aggregate: AggregateProblem, points: FloatMatrix, must: FloatMatrix
) -> MachineGroups | None:
    kinds, machines, counts = [], [], []
    for kind in range(len(aggregate.kinds)):
        row = _Row(aggregate, kind)
        for c in np.flatnonzero((points[:, kind] > _CRUMB) | (must[:, kind] > 0)).tolist():
            if not row.lay(c, float(points[c, kind])):
                return None
        row.close()
        kinds += [kind] * len(row.done)
        machines += [number for _, number in row.done]
        counts += [held for held, _ in row.done]
    return MachineGroups(
        np.array(kinds, dtype=np.int64),
        np.array(machines, dtype=np.int64),
        np.array(counts, dtype=np.int64).reshape(len(kinds), len(aggregate.visits)),
    )


@dataclass
class _Row:
    """The machines of one kind, filled one after the other."""

    aggregate: AggregateProblem
    kind: int
    done: list[tuple[FloatVector, int]] = field(default_factory=list)
    used: int = 0
    #: The machine being filled: instances, points and memory left, topologies on it.
    held: FloatVector | None = None
    points: float = 0.0
    memory: float = 0.0
    topologies: set[int] = field(default_factory=set)

    def lay(self, component: int, points: float) -> bool:
        """Put that much work of a component on the machines; False if they are full."""
        first = True
        while first or points > _CRUMB:
            if self.held is None and not self._open():
                return False
            assert self.held is not None
            instances, carried = self._most(component, points)
            if not instances or (carried <= _CRUMB < points):
                if not self.held.any():
                    return False  # not even an empty machine takes it
                self.close()
                continue
            whole = int(points / carried) if carried > 0 and not self.held.any() else 1
            if whole > 1:  # as many machines as it fills alone, at once
                whole = min(whole, int(self.aggregate.machines[self.kind]) - self.used + 1)
                only = np.zeros(len(self.aggregate.visits))
                only[component] = instances
                self.done.append((only, whole))
                self.used += whole - 1
                self.held = None
            else:
                self._take(component, instances, carried)
            points -= whole * carried
            first = False
        return True

    def close(self) -> None:
        if self.held is not None and self.held.any():
            self.done.append((self.held, 1))
        elif self.held is not None:
            self.used -= 1
        self.held = None

    def _open(self) -> bool:
        if self.used >= self.aggregate.machines[self.kind]:
            return False
        kind = self.aggregate.problem.cluster.types[int(self.aggregate.kinds[self.kind])]
        self.used += 1
        self.held = np.zeros(len(self.aggregate.visits))
        self.points = float(self.aggregate.usable[self.kind] - self.aggregate.base[self.kind])
        self.memory = np.inf if kind.memory_mb is None else kind.memory_mb
        self.topologies = set()
        return True

    def _most(self, component: int, wanted: float) -> tuple[int, float]:
        """Instances to add to the open machine, and the work they carry."""
        aggregate, kind = self.aggregate, self.kind
        points, memory = self._left_for(component)
        met = float(aggregate.met[component, kind])
        busy = float(aggregate.threads[component, kind]) - met
        size = float(np.nan_to_num(aggregate.problem.memory_mb)[component])
        room = int(min(memory / size + 1e-9, 1e6)) if size > 0 else 1_000_000
        if points < met or busy < 0 or room < 1:
            return 0, 0.0
        if busy <= 0:
            return 1, 0.0
        full = points / (busy + met)
        options = {max(1, int(full)), int(np.ceil(full - 1e-9)), int(np.ceil(wanted / busy - 1e-9))}
        best = (0, 0.0)
        for n in sorted(max(1, min(option, room)) for option in options):
            carried = min(n * busy, points - n * met, wanted)
            if carried > best[1] + 1e-12 or not best[0]:
                best = (n, max(carried, 0.0))
        return best

    def _left_for(self, component: int) -> tuple[float, float]:
        """Points and memory left after a worker process that the component may need."""
        aggregate = self.aggregate
        kind = aggregate.problem.cluster.types[int(aggregate.kinds[self.kind])]
        if int(aggregate.problem.topology_of[component]) in self.topologies:
            return self.points, self.memory
        if len(self.topologies) >= kind.slots:
            return 0.0, 0.0
        return self.points - kind.worker_cpu_points, self.memory - kind.worker_memory_mb

    def _take(self, component: int, instances: int, carried: float) -> None:
        assert self.held is not None
        aggregate = self.aggregate
        points, memory = self._left_for(component)
        self.held[component] += instances
        self.points = points - carried - instances * float(aggregate.met[component, self.kind])
        size = float(np.nan_to_num(aggregate.problem.memory_mb)[component])
        self.memory = memory - instances * size
        self.topologies.add(int(aggregate.problem.topology_of[component]))

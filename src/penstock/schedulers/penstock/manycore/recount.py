"""Numbers of instances changed on the machines themselves, where memory or slots are short.

Packing may leave instances out. Those with keys of their own push out others; of the rest there
are then fewer, each with more to do. What limits is then the component whose threads are full
first: it gets one more instance, in free memory or in the place of one that others can spare,
again and again, until no exchange relieves it. Cost of a step: components x machines.
"""

from __future__ import annotations

import numpy as np

from penstock.model.arrays import BoolVector, FloatVector, IntMatrix, IntVector
from penstock.schedulers.penstock.aggregate import cannot_divide
from penstock.schedulers.penstock.manycore.machines import InstanceGroups, Machines
from penstock.schedulers.penstock.manycore.options import Options

#: What counts as better.
_BETTER = 1.0 + 1e-6
_ROUNDING_MB = 1e-6
_MOST_STEPS = 3000
#: Part of the scale that an instance must carry where it is put.
_NEAR = 0.99


def recounted(machines: Machines, options: Options, scale: float) -> Machines:
    """The plan with other numbers of instances of the components that may have them.

    Counts were chosen for ``scale``: a thread on which that is far off is no place for an instance.
    """
    _add_missing(machines, scale * _NEAR)
    return _Recount(machines, options, scale).run()


def _add_missing(machines: Machines, least: float) -> None:
    """Instances that are on no machine go where that machine stays emptiest, if there is room."""
    groups = machines.groups
    for g in np.argsort(-groups.largest, kind="stable").tolist():
        for _ in range(len(groups.instances[g]) - int(machines.count[:, g].sum())):
            full = machines.arrivals(g)
            best = int(full.argmax())
            if not full[best] > least:
                break
            machines.add(best, g, 1)


class _Recount:
    """The instances of a plan in the making, by component. M machines, C components."""

    def __init__(self, machines: Machines, options: Options, scale: float) -> None:
        groups, problem = machines.groups, machines.problem
        costs = groups.costs
        self.machines, self.costs, self.scale = machines, costs, scale * _NEAR
        self.kind = problem.cluster.type_of
        #: What a thread of each component takes on each machine, (C, M).
        self.rate = options.thread_rate[:, self.kind]
        self.visits = np.maximum(problem.visits, 1e-300)
        fixed = options.keyed & ~costs.weighs
        fixed |= cannot_divide(problem) | (problem.given_counts is not None)
        self.divisible = ~fixed & (problem.visits > 0)
        self.most = problem.most_instances
        self.held: IntMatrix = np.zeros((len(self.kind), len(self.visits)), dtype=np.int64)
        np.add.at(self.held.T, groups.component, machines.count.T)
        self.topology = problem.topology_of
        self.used_mb = machines.used_mb.copy()
        self.workers = machines.held.copy()
        self.heap = machines.heap.copy()
        #: The scale at which a thread of another component is full: nothing here changes it.
        fixed_groups = ~self.divisible[groups.component]
        full = np.where(machines.count.T > 0, machines.thread_full, np.inf)[fixed_groups]
        self.fixed_scale = float(full.min(initial=np.inf))

    def run(self) -> Machines:
        """The same plan with other numbers of instances."""
        for g, missing in self._missing().items():
            for _ in range(missing):
                self._insert(g)
        for _ in range(_MOST_STEPS):
            if not self._relieve():
                break
        return self._rebuilt()

    def _missing(self) -> dict[int, int]:
        """Instances of components that must have them all that are on no machine, by group."""
        groups = self.machines.groups
        total = self.machines.count.sum(axis=0)
        must = ~self.divisible[groups.component]
        missing = {
            g: len(groups.instances[g]) - int(total[g])
            for g in np.flatnonzero(must).tolist()
            if len(groups.instances[g]) > total[g]
        }
        return dict(sorted(missing.items(), key=lambda item: -float(groups.largest[item[0]])))

    # -- threads ------------------------------------------------------------------------------

    def _capacity(self, held: IntMatrix) -> FloatVector:
        """The scale at which the threads of each component are full, (C,)."""
        shared = self.costs.weighs
        with_shares = (np.where(held.T > 0, self.rate, 0.0) * held.T).sum(axis=1)
        slowest = np.where(held.T > 0, self.rate, np.inf).min(axis=1)
        even = held.sum(axis=0) * np.where(held.any(axis=0), slowest, 0.0)
        scale = np.where(shared, with_shares, even) / self.visits
        return np.asarray(np.where(self.divisible, scale, np.inf))

    def _with_one(self, c: int, change: int) -> FloatVector:
        """The scale of component ``c`` with one instance more or less on each machine, (M,)."""
        held, rate = self.held[:, c], self.rate[c]
        if self.costs.weighs[c]:
            return np.asarray(
                (float(held @ np.where(held > 0, rate, 0.0)) + change * rate) / self.visits[c]
            )
        slowest = float(np.where(held > 0, rate, np.inf).min())
        number = int(held.sum()) + change
        if change < 0:
            return np.full(len(held), number * slowest / self.visits[c])
        return np.asarray(number * np.minimum(rate, slowest) / self.visits[c])

    def _without_slowest(self, c: int) -> tuple[int, FloatVector]:
        """The machine with the slowest instance of ``c``, and the scale with it elsewhere, (M,)."""
        held, rate = self.held[:, c], self.rate[c]
        slow = int(np.where(held > 0, rate, np.inf).argmin())
        others = held.copy()
        others[slow] -= 1
        slowest = float(np.where(others > 0, rate, np.inf).min())
        return slow, np.asarray(held.sum() * np.minimum(rate, slowest) / self.visits[c])

    def _relieve(self) -> bool:
        """One more instance of the component whose threads are full first, or a faster thread."""
        scale = self._capacity(self.held)
        c = int(scale.argmin())
        least = float(scale[c]) * _BETTER
        if not np.isfinite(least) or least >= self.fixed_scale:
            return False
        if self.held[:, c].sum() < self.most[c] and self._give(c, self._with_one(c, 1), least):
            return True
        if self.costs.weighs[c]:
            return False
        slow, after = self._without_slowest(c)
        if not self._give(c, after, least):
            return False
        self._put(slow, c, -1)
        return True

    def _give(self, c: int, after: FloatVector, least: float) -> bool:
        """An instance of ``c`` where it is best: in free memory, or where others can spare one."""
        better = (after > least) & (self.rate[c] > 0)
        free = better & self._fits(c, None)
        if free.any():
            self._put(int(np.where(free, after, -np.inf).argmax()), c, 1)
            return True
        scale = self._capacity(self.held)
        best: tuple[float, float, int, int] | None = None
        total = self.held.sum(axis=0)
        for h in np.flatnonzero(self.divisible & (total > 1)).tolist():
            if h == c or scale[h] <= least:
                continue
            left = self._with_one(h, -1)
            value = np.minimum(after, left)
            able = better & (left > least) & (self.held[:, h] > 0) & self._fits(c, h)
            if not able.any():
                continue
            value = np.where(able, value, -np.inf)
            m = int(value.argmax())
            spare = -float(self.costs.memory_mb[h])
            if best is None or (float(value[m]), spare) > best[:2]:
                best = (float(value[m]), spare, h, m)
        if best is None:
            return False
        _, _, h, m = best
        self._put(m, h, -1)
        self._put(m, c, 1)
        return True

    # -- places -------------------------------------------------------------------------------

    def _fits(self, c: int, h: int | None) -> BoolVector:
        """Machines with room for one more of ``c``, if one of ``h`` goes, (M,)."""
        costs, machines = self.costs, self.machines
        p = self.topology[c]
        memory = self.used_mb + costs.memory_mb[c]
        heap = self.heap[p] + costs.problem.onheap_mb[c]
        opens = (self.workers[p] == 0).astype(np.float64)
        count = (self.workers > 0).sum(axis=0) + opens
        if h is not None:
            q = self.topology[h]
            memory = memory - costs.memory_mb[h]
            closes = self.workers[q] == 1
            if q == p:
                opens = np.zeros_like(opens)
                count = (self.workers > 0).sum(axis=0)
                heap = heap - costs.problem.onheap_mb[h]
            else:
                memory = memory - np.where(closes, machines.worker_mb, 0.0)
                count = count - closes
        memory = memory + opens * machines.worker_mb
        fits = (memory <= machines.memory + _ROUNDING_MB) & (count <= machines.slots)
        return np.asarray(fits & (heap <= machines.most_heap[p]))

    def _put(self, m: int, c: int, number: int) -> None:
        p = self.topology[c]
        before = self.workers[p, m] > 0
        self.held[m, c] += number
        self.workers[p, m] += number
        opened = int(self.workers[p, m] > 0) - int(before)
        self.used_mb[m] += number * self.costs.memory_mb[c] + opened * self.machines.worker_mb[m]
        self.heap[p, m] += number * self.costs.problem.onheap_mb[c]

    def _insert(self, g: int) -> None:
        """An instance of a group that must be somewhere; others make room where they can."""
        machines, c = self.machines, int(self.machines.groups.component[g])
        full = machines.thread_full[g]
        fast = full >= min(self.scale, float(full.max()))
        free = np.flatnonzero(self._fits(c, None) & fast)
        if len(free):
            m = int(free[np.argmax(machines.thread_full[g, free])])
        else:
            best: tuple[float, int, list[int]] | None = None
            for m in np.flatnonzero(fast).tolist():
                pushed = self._pushed_out(m, c)
                if pushed is not None and (best is None or pushed[0] > best[0]):
                    best = (pushed[0], m, pushed[1])
            if best is None:
                return
            _, m, out = best
            for h in out:
                self._put(m, h, -1)
        self._put(m, c, 1)
        machines.count[m, g] += 1

    def _pushed_out(self, m: int, c: int) -> tuple[float, list[int]] | None:
        """Instances whose leaving makes room for one of ``c`` on a machine, and what is left."""
        need = self.costs.memory_mb[c] + self.used_mb[m] - self.machines.memory[m]
        if self.workers[self.topology[c], m] == 0:
            return None
        held, out = self.held.copy(), []
        while need > _ROUNDING_MB:
            scale = self._capacity(held)
            able = self.divisible & (held[m] > 0) & (held.sum(axis=0) > 1)
            if not able.any():
                return None
            total = held.sum(axis=0)
            left = np.where(
                able, np.where(able, scale, 0.0) * (total - 1) / np.maximum(total, 1), -np.inf
            )
            h = int(left.argmax())
            held[m, h] -= 1
            out.append(h)
            need -= self.costs.memory_mb[h]
        return float(self._capacity(held).min()), out

    # -- groups -------------------------------------------------------------------------------

    def _rebuilt(self) -> Machines:
        old, problem = self.machines.groups, self.costs.problem
        rows: list[tuple[int, float, float, IntVector]] = []
        count: list[IntVector] = []
        for c in range(len(self.visits)):
            if not self.divisible[c]:
                for g in np.flatnonzero(old.component == c).tolist():
                    rows.append((c, float(old.rate[g]), float(old.largest[g]), old.instances[g]))
                    count.append(self.machines.count[:, g])
                continue
            held, first = self.held[:, c], 0
            if not self.costs.weighs[c]:
                rate = float(problem.visits[c]) / int(held.sum())
                rows.append((c, rate, rate, np.arange(int(held.sum()))))
                count.append(held)
                continue
            in_all = float(held @ np.where(held > 0, self.rate[c], 0.0))
            for t in np.unique(self.kind[held > 0]).tolist():
                mine = np.where(self.kind == t, held, 0)
                number = int(mine.sum())
                thread = float(self.rate[c][self.kind == t][0])
                rate = float(problem.visits[c]) * thread / max(in_all, 1e-300)
                rows.append((c, rate, rate, first + np.arange(number)))
                count.append(mine)
                first += number
        component, rate_of, largest, instances = zip(*rows, strict=True)
        groups = InstanceGroups(
            self.costs,
            np.array(component, dtype=np.int64),
            np.array(rate_of),
            np.array(largest),
            tuple(instances),
        )
        return Machines(groups, np.array(count).T)

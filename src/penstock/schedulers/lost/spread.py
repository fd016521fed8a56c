"""What becomes of a plan when a machine is lost: each of its instances goes where most is left.

For many-core machines and for streams that are not divided evenly, where it matters which instance
goes where: an instance keeps its number, and with it its keys. The costliest goes first, each to
the machine that stays emptiest with it; then a few instances more may move to relieve the fullest
machine. What fits nowhere ends, if others of its component are left and counts may change. Cost:
instances of the lost machine x machines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from penstock.evaluate.capacity import Capacity, capacity
from penstock.evaluate.limits import violations
from penstock.model.arrays import IntMatrix, IntVector
from penstock.model.placement import Placement
from penstock.model.plan import Contingency
from penstock.model.problem import Problem
from penstock.schedulers.penstock.manycore.balance import balance
from penstock.schedulers.penstock.manycore.costs import Costs, kept_on_machines
from penstock.schedulers.penstock.manycore.machines import InstanceGroups, Machines
from penstock.schedulers.penstock.manycore.shares import fit_shares

#: Instances whose tuples/s differ by less than this part are alike.
_ALIKE = 0.03


class LossPlanner:
    """Works out the loss of any one machine of a plan."""

    def __init__(self, problem: Problem, placement: Placement, *, same_counts: bool) -> None:
        self.problem, self.placement, self.same_counts = problem, placement, same_counts
        self.judged = capacity(problem, placement)
        parts = kept_on_machines(problem, placement, self.judged)
        self.costs = Costs.of(problem, parts, weighted=True)
        self.groups, self.group_of = _grouped(self.costs, placement, self.judged)
        self.count = _count(placement, self.group_of, self.groups, len(problem.cluster.machines))

    def without(self, lost: int, extra: int, spent: Callable[[], bool]) -> Contingency:
        """Where the instances of a machine go if it is lost; ``extra`` others may move."""
        problem, name = self.problem, self.problem.cluster.machines[lost].name
        machines = Machines(self.groups, self.count)
        index = problem.cluster.machine_index
        machines.close([lost, *(index[m] for m in problem.terms.avoid)])
        dropped = self._spread(machines, lost)
        if dropped is None:
            return Contingency(name, (), rate_left_per_s=0.0)
        if not self.same_counts:
            balance(machines, extra, spent)
        made, moves, ended = self._carried_out(machines.count, lost, dropped)
        if self.placement.has_shares:
            made = self._reshared(made)
        scale = 0.0 if violations(problem, made) else capacity(problem, made).scale
        rate = scale * float(problem.demand.sum()) if np.isfinite(scale) else None
        return Contingency(name, moves if rate != 0.0 else (), rate, (), ended)

    def _spread(self, machines: Machines, lost: int) -> IntVector | None:
        """Put its instances elsewhere; how many of each group end, ``None`` if they may not."""
        leaving = machines.count[lost].copy()
        for g in np.flatnonzero(leaving).tolist():
            machines.add(lost, g, -int(leaving[g]))
        dropped: IntVector = np.zeros(len(leaving), dtype=np.int64)
        left = np.bincount(self.groups.component, machines.count.sum(axis=0),
                           minlength=len(self.problem.components))  # fmt: skip
        cost = machines.slope_of.mean(axis=1)
        for g in sorted(np.flatnonzero(leaving).tolist(), key=lambda g: (-cost[g], g)):
            for _ in range(int(leaving[g])):
                full = machines.arrivals(g)
                target = int(full.argmax())
                if full[target] > 0:
                    machines.add(target, g, 1)
                    left[self.groups.component[g]] += 1
                elif self.same_counts or not left[self.groups.component[g]]:
                    return None
                else:
                    dropped[g] += 1
        return dropped

    def _carried_out(
        self, after: IntMatrix, lost: int, dropped: IntVector
    ) -> tuple[Placement, tuple[tuple[str, int, str, int], ...], tuple[tuple[str, int], ...]]:
        """The placement with instances where they go, the moves, and the instances that end."""
        placement, problem = self.placement, self.problem
        machine, slot = placement.machine.copy(), placement.slot.copy()
        ends = np.zeros(len(placement), dtype=np.bool_)
        moved: list[int] = []
        for g in np.flatnonzero((after != self.count).any(axis=0)).tolist():
            change = after[:, g] - self.count[:, g]
            leaving = self._leaving(g, change, lost)
            targets = np.repeat(np.arange(len(change)), np.maximum(change, 0))
            machine[leaving[: len(targets)]] = targets
            moved += leaving[: len(targets)]
            ends[leaving[len(targets) :]] = True
        slots = _Slots(problem, placement, gone={lost})
        for i in sorted(moved):
            slot[i] = slots.of(int(problem.topology_of[placement.component[i]]), int(machine[i]))
        starts = placement.starts(len(problem.components))[placement.component]
        names = [m.name for m in problem.cluster.machines]

        def label(i: int) -> tuple[str, int]:
            return problem.labels[placement.component[i]], int(i - starts[i])

        moves = tuple((*label(i), names[machine[i]], int(slot[i])) for i in sorted(moved))
        ended = tuple(label(i) for i in np.flatnonzero(ends).tolist())
        made = Placement.of(
            placement.component[~ends], machine[~ends], slot[~ends], placement.share[~ends]
        )
        assert int(ends.sum()) == int(dropped.sum())
        return made, moves, ended

    def _leaving(self, g: int, change: IntVector, lost: int) -> list[int]:
        """Instances of a group that leave their machine, those of the lost one first."""
        mine = np.flatnonzero(self.group_of == g)
        at = self.placement.machine[mine]
        found: list[int] = []
        for m in sorted(np.flatnonzero(change < 0).tolist(), key=lambda m: (m != lost, m)):
            found += mine[at == m][: -int(change[m])].tolist()
        return found

    def _reshared(self, made: Placement) -> Placement:
        """The shares that are best without the machine, where that is better."""
        total = np.bincount(made.component, np.nan_to_num(made.share),
                            minlength=len(self.problem.components))  # fmt: skip
        kept = replace(made, share=made.share / np.where(total > 0, total, 1.0)[made.component])
        costs = replace(self.costs, weighs=self.costs.weighs & _has_shares(self.problem, made))
        better = fit_shares(costs, kept, may_drop=False)
        if (
            better is None
            or capacity(self.problem, better).scale <= capacity(self.problem, kept).scale
        ):
            return kept
        return better


class _Slots:
    """The worker of a topology on a machine: its own, or the first free slot."""

    def __init__(self, problem: Problem, placement: Placement, gone: set[int]) -> None:
        self._own: dict[tuple[int, int], int] = {}
        self._taken: dict[int, set[int]] = {}
        topology = problem.topology_of[placement.component]
        rows = np.unique(np.stack([placement.machine, placement.slot, topology]), axis=1)
        for machine, slot, own in rows.T.tolist():
            if machine not in gone:
                self._own.setdefault((own, machine), slot)
                self._taken.setdefault(machine, set()).add(slot)

    def of(self, topology: int, machine: int) -> int:
        if (topology, machine) not in self._own:
            taken = self._taken.setdefault(machine, set())
            free = next(s for s in range(len(taken) + 1) if s not in taken)
            taken.add(free)
            self._own[topology, machine] = free
        return self._own[topology, machine]


def _has_shares(problem: Problem, placement: Placement) -> np.ndarray:
    has = np.zeros(len(problem.components), dtype=np.bool_)
    has[placement.component[~np.isnan(placement.share)]] = True
    return has


def _grouped(
    costs: Costs, placement: Placement, judged: Capacity
) -> tuple[InstanceGroups, IntVector]:
    """The instances of a plan in groups that are alike, and the group of each."""
    rates = judged.rates.per_instance
    size = np.round(np.log(np.maximum(rates, 1e-12)) / np.log1p(_ALIKE)).astype(np.int64)
    keys, group_of = np.unique(np.stack([placement.component, size]), axis=1, return_inverse=True)
    group_of = group_of.reshape(-1).astype(np.int64)
    number = np.bincount(group_of)
    largest = np.zeros(keys.shape[1])
    np.maximum.at(largest, group_of, rates)
    members = tuple(np.flatnonzero(group_of == g) for g in range(keys.shape[1]))
    mean = np.bincount(group_of, rates) / number
    return InstanceGroups(costs, keys[0].astype(np.int64), mean, largest, members), group_of


def _count(
    placement: Placement, group_of: IntVector, groups: InstanceGroups, machines: int
) -> IntMatrix:
    width = len(groups.component)
    cells = np.bincount(placement.machine * width + group_of, minlength=machines * width)
    return cells.reshape(machines, width).astype(np.int64)

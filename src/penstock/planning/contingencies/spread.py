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
from penstock.model.arrays import IntMatrix, IntVector
from penstock.model.placement import Placement
from penstock.model.plan import Contingency
from penstock.model.problem import Problem
from penstock.planning.contingencies.changes import InstanceChanges
from penstock.planning.contingencies.conditions import rate_left, reshared
from penstock.planning.contingencies.same_counts import same_counts_contingency
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
        problem = self.problem
        machines = Machines(self.groups, self.count)
        index = problem.cluster.machine_index
        machines.close([lost, *(index[m] for m in problem.terms.avoid)])
        if not self._spread(machines, lost):
            return same_counts_contingency(problem, self.placement, lost)
        if not self.same_counts:
            balance(machines, extra, spent)
        changes = self._changes(machines.count, lost)
        after = changes.carried_out(self.placement)
        if self.placement.has_shares:
            after = self._reshared(after)
        rate = rate_left(problem, after)
        if rate == 0.0:
            return same_counts_contingency(problem, self.placement, lost)
        return changes.contingency(problem, self.placement, lost, after, rate)

    def _spread(self, machines: Machines, lost: int) -> bool:
        """Put its instances elsewhere; whether each found a place or may end."""
        leaving = machines.count[lost].copy()
        for g in np.flatnonzero(leaving).tolist():
            machines.add(lost, g, -int(leaving[g]))
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
                    return False
        return True

    def _changes(self, after: IntMatrix, lost: int) -> InstanceChanges:
        """Which instances go where, and which end."""
        moves: list[tuple[int, int]] = []
        ended: list[int] = []
        for g in np.flatnonzero((after != self.count).any(axis=0)).tolist():
            change = after[:, g] - self.count[:, g]
            leaving = self._leaving(g, change, lost)
            targets = np.repeat(np.arange(len(change)), np.maximum(change, 0)).tolist()
            moves += zip(leaving, targets, strict=False)
            ended += leaving[len(targets) :]
        return InstanceChanges.in_workers(self.problem, self.placement, lost, moves, [], ended)

    def _leaving(self, g: int, change: IntVector, lost: int) -> list[int]:
        """Instances of a group that leave their machine, those of the lost one first."""
        mine = np.flatnonzero(self.group_of == g)
        at = self.placement.machine[mine]
        leaving: list[int] = []
        for m in sorted(np.flatnonzero(change < 0).tolist(), key=lambda m: (m != lost, m)):
            leaving += mine[at == m][: -int(change[m])].tolist()
        return leaving

    def _reshared(self, changed: Placement) -> Placement:
        """The shares that are best without the machine, where that is better."""
        costs = replace(self.costs, weighs=self.costs.weighs & _has_shares(self.problem, changed))
        return reshared(self.problem, changed, fit_shares(costs, changed, may_drop=False))


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

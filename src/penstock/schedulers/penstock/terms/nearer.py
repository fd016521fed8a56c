"""Less traffic between machines and racks at the same rate: instances change places.

Under shuffle grouping every instance of a source sends the same to every instance of a target, so
what an instance costs the network at a machine is a sum over where its partners are: one product of
the table of instances with the distances gives that for all components on all machines. The best
exchange (or move into free room) that leaves both machines within their CPU at the rate to be
carried is made, until none helps.
"""

from __future__ import annotations

import numpy as np

from penstock.evaluate.capacity import ROUNDING_POINTS, capacity, overhead_cpu
from penstock.evaluate.limits import violations
from penstock.evaluate.network import traffic
from penstock.evaluate.terms import held_as_table, held_table
from penstock.model.arrays import BoolVector, FloatMatrix, FloatVector, IntMatrix, IntVector
from penstock.model.cluster import Hop
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.schedulers.base import Budget
from penstock.schedulers.machine_groups import placement_of
from penstock.schedulers.packing import Patterns

#: Exchanges are looked for among this many machines at a time.
_AT_ONCE = 256
#: Exchanges made at most, per machine.
_PER_MACHINE = 6
_ENOUGH = 1.0 - 1e-9
_LESS = -1e-12


def distance_per_tuple(problem: Problem, placement: Placement) -> float:
    """Mean network distance of a tuple's hop: 0 the same process, 4 another region."""
    return traffic(problem, placement, capacity(problem, placement).rates).mean_distance


def bring_nearer(
    problem: Problem,
    placement: Placement,
    scale: float,
    budget: Budget,
    rng: np.random.Generator,
) -> Placement:
    """Less traffic while ``scale`` is still carried; the same machines stay in use."""
    if placement.has_shares or not problem.streams:
        return placement
    search = _Exchange(problem, placement, scale)
    search.run(budget, rng)
    plan = placement_of(problem, search.table)
    keeps = capacity(problem, plan).scale >= scale * _ENOUGH and not violations(problem, plan)
    nearer = distance_per_tuple(problem, plan) < distance_per_tuple(problem, placement)
    return plan if keeps and nearer else placement


#: Places in the group of the two machines, the component that goes, and the one that comes back.
_Step = tuple[int, int, int, int | None]


class _Exchange:
    """The table of instances, and what each costs the network at each machine."""

    def __init__(self, problem: Problem, placement: Placement, scale: float) -> None:
        cluster = problem.cluster
        self.problem = problem
        self.table: IntMatrix = held_table(problem, placement)
        totals = self.table.sum(axis=0)
        kind = cluster.type_of
        #: CPU of one instance at the rate, shape (M, C).
        flow = (problem.visits * scale / np.maximum(totals, 1))[:, None]
        each = np.where(flow > 0, problem.e, 0.0) * flow + problem.met
        self.points: FloatMatrix = each.T[kind]
        used_points = overhead_cpu(problem, placement) + (self.table * self.points).sum(axis=1)
        self.room: FloatVector = cluster.usable_cpu - used_points + ROUNDING_POINTS
        self.pull = _pull_between(problem, totals)
        self.fixed = held_as_table(problem, problem.terms.fixed)
        used = self.table.any(axis=1)
        self.machines: IntVector = np.flatnonzero(used)

    def run(self, budget: Budget, rng: np.random.Generator) -> None:
        most = _PER_MACHINE * len(self.machines)
        idle, rounds = 0, 0
        parts = max(1, -(-len(self.machines) // _AT_ONCE))
        while rounds < most and idle < 3 * parts and not budget.spent(rounds):
            rounds += 1
            group = self.machines
            if parts > 1:
                group = np.sort(rng.choice(self.machines, _AT_ONCE, replace=False))
            idle = 0 if self._improve(group) else idle + 1
            if idle and parts == 1:
                return

    def _improve(self, group: IntVector) -> bool:
        """Make the best exchange among these machines, if one helps."""
        cost = self._cost(group)
        apart = self._distance(group, group)
        table, points, room = self.table[group], self.points[group], self.room[group]
        best: float = _LESS
        step: _Step | None = None
        topology = self.problem.topology_of
        for c in range(len(cost)):
            movable = table[:, c] > self.fixed[group, c]
            best, step = self._best_move(group, cost[c], c, movable, best, step)
            for d in range(c + 1, len(cost)):
                if topology[c] != topology[d]:
                    continue
                # (a, b): c goes from a to b, d from b to a.
                gain = (cost[c][None, :] - cost[c][:, None]) + (cost[d][:, None] - cost[d][None, :])
                gain = gain + 2.0 * self.pull[c, d] * apart
                swap = points[:, d] - points[:, c]
                fits = (swap <= room)[:, None] & (-swap <= room)[None, :]
                other = table[:, d] > self.fixed[group, d]
                gain[~(fits & movable[:, None] & other[None, :])] = np.inf
                at = int(gain.argmin())
                if gain.flat[at] < best:
                    a, b = divmod(at, len(group))
                    if self._allowed(group, a, b, c, d):
                        best, step = float(gain.flat[at]), (a, b, c, d)
        if step is None:
            return False
        here, there, goes, comes = step
        self._go(int(group[here]), int(group[there]), goes)
        if comes is not None:
            self._go(int(group[there]), int(group[here]), comes)
        return True

    def _best_move(
        self,
        group: IntVector,
        cost: FloatVector,
        c: int,
        movable: BoolVector,
        best: float,
        step: _Step | None,
    ) -> tuple[float, _Step | None]:
        """The best move of an instance of c into free room, if it gains more than ``best``."""
        gain = cost[None, :] - cost[:, None]
        fits = self.points[group, c] <= self.room[group]
        gain[~(movable[:, None] & fits[None, :])] = np.inf
        at = int(gain.argmin())
        if gain.flat[at] >= best:
            return best, step
        a, b = divmod(at, len(group))
        if not self._allowed(group, a, b, c, None):
            return best, step
        return float(gain.flat[at]), (a, b, c, None)

    def _go(self, a: int, b: int, c: int) -> None:
        """An instance of c goes from a to b."""
        for machine, by in ((a, -1), (b, 1)):
            self.table[machine, c] += by
            self.room[machine] -= by * self.points[machine, c]

    def _allowed(self, group: IntVector, a: int, b: int, c: int, d: int | None) -> bool:
        """Whether memory, heap, slots and terms allow the two patterns that come out."""
        rows = self.table[group[[a, b]]].copy()
        rows[:, c] += (-1, 1)
        if d is not None:
            rows[:, d] += (1, -1)
        kinds = self.problem.cluster.type_of[group[[a, b]]]
        return bool(Patterns.listed(self.problem, rows).allowed[[0, 1], kinds].all())

    def _cost(self, group: IntVector) -> FloatMatrix:
        """Network cost of an instance of each component on each machine, shape (C, group)."""
        reach = self._distance(group, self.machines) @ self.table[self.machines]
        return np.asarray(self.pull @ reach.T)

    def _distance(self, a: IntVector, b: IntVector) -> FloatMatrix:
        cluster = self.problem.cluster
        rack, region = cluster.rack_of, cluster.region_of
        far = np.where(
            rack[a][:, None] == rack[b][None, :], Hop.SAME_RACK.distance, Hop.OTHER_RACK.distance
        )
        far = np.where(region[a][:, None] == region[b][None, :], far, Hop.OTHER_REGION.distance)
        return np.where(a[:, None] == b[None, :], Hop.SAME_PROCESS.distance, far)


def _pull_between(problem: Problem, totals: IntVector) -> FloatMatrix:
    """Tuples/s at scale 1 between one instance of each and one of the other, both ways, (C, C)."""
    size = len(problem.components)
    pull = np.zeros((size, size))
    for stream in problem.streams:
        rate = problem.visits[stream.source] * stream.selectivity
        each = rate / max(1, totals[stream.source] * totals[stream.target])
        pull[stream.source, stream.target] += each
        pull[stream.target, stream.source] += each
    return pull

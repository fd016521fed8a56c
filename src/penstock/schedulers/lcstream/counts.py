"""How many executors each component gets: Lc-Stream's Algorithms 2 and 3.

Every executor is a queue (:mod:`penstock.evaluate.queues`) whose arrival rate is its part of the
component's input. Where keys divide a stream unevenly, the busiest executor stands for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penstock.evaluate.division import divide_evenly, divide_stream, largest_bucket
from penstock.evaluate.queues import best_count, load, mean_queue, mean_wait
from penstock.evaluate.rates import visit_ratios
from penstock.model.arrays import FloatVector
from penstock.model.flat_stream import FlatStream
from penstock.model.problem import Problem
from penstock.schedulers.base import Budget

#: A component that no count brings within the limits, because its keys are uneven, is still given
#: executors until all of the pool would take less than a tenth off its busiest one.
_NEAR_THE_BEST = 0.9
_ROUNDING = 1e-9


@dataclass
class Rounds:
    """Rounds of Lc-Stream's loops against the budget, and whether it cut one of them short."""

    budget: Budget
    done: int = 0
    cut: bool = False

    def spent(self) -> bool:
        """Asked by a loop that still has something to do; counts a round if there is one."""
        self.cut = self.cut or self.budget.spent(self.done)
        self.done += not self.cut
        return self.cut


@dataclass(frozen=True, slots=True)
class LatenessLimits:
    """The paper's L and W: an executor is late when its queue *and* its wait are over them."""

    queue: float
    wait_s: float

    def holds(self, arrival: float, service: float) -> bool:
        """Whether an executor is within them; a load of 1 or more never is (eq. 3)."""
        rho = load(arrival, service)
        short = mean_queue(rho) <= self.queue * (1.0 + _ROUNDING)
        return rho < 1.0 and (short or mean_wait(arrival, service) <= self.wait_s)


def service_rates(problem: Problem) -> FloatVector:
    """Tuples/s one executor can serve, the mean over the machines, shape (components,).

    ``(points it can use - met) / e``; every tuple is taken to cross a process boundary at either
    end, which most do once a component has executors on several machines.
    """
    crossing = np.zeros(len(problem.components))
    for stream in problem.streams:
        crossing[stream.source] += stream.selectivity
    fed = {stream.target for stream in problem.streams}
    crossing += [float(c in fed) for c in range(len(problem.components))]
    kinds = np.flatnonzero(problem.cluster.machines_per_type)
    cost = problem.e[:, kinds] + problem.e_remote[:, kinds] * crossing[:, None]
    points = np.maximum(problem.instance_points[:, kinds] - problem.met[:, kinds], 0.0)
    rate = np.full(cost.shape, np.inf)
    np.divide(points, cost, out=rate, where=cost > 0)
    machines = problem.cluster.machines_per_type[kinds]
    return np.asarray((rate * machines).sum(axis=1) / machines.sum())


@dataclass(frozen=True)
class Stations:
    """The executors of every component as queues, at one operating rate."""

    problem: Problem
    scale: float
    limits: LatenessLimits

    @cached_property
    def service(self) -> FloatVector:
        """Tuples/s one executor of each component can serve, shape (components,)."""
        return service_rates(self.problem)

    @cached_property
    def _into(self) -> tuple[tuple[FlatStream, ...], ...]:
        into: list[list[FlatStream]] = [[] for _ in self.problem.components]
        for stream in self.problem.streams:
            into[stream.target].append(stream)
        return tuple(tuple(streams) for streams in into)

    def totals(self, counts: Sequence[int]) -> FloatVector:
        """Tuples/s into each component, shape (components,)."""
        return visit_ratios(self.problem, np.asarray(counts, dtype=np.int64)) * self.scale

    def arrivals(self, component: int, count: int, totals: FloatVector) -> FloatVector:
        """Tuples/s into each of ``count`` executors, shape (count,).

        Local-or-shuffle depends on the placement and is taken as shuffle.
        """
        target = self.problem.components[component]
        spout = self.problem.spout_rate[component] * self.scale
        rates = spout * divide_evenly(target, count)
        nothing_said = np.full(count, np.nan)
        for stream in self._into[component]:
            sent = totals[stream.source] * stream.selectivity
            rates = rates + sent * divide_stream(stream, target, nothing_said)
        return np.asarray(rates)

    def busiest(self, component: int, count: int, totals: FloatVector) -> float:
        """Tuples/s into the busiest of ``count`` executors."""
        streams, tasks = self._into[component], self.problem.components[component].tasks
        if tasks is None and len(streams) == 1 and streams[0].grouping.is_keyed and streams[0].keys:
            # The largest bucket's part does not depend on how much comes.
            stream = streams[0]
            sent = float(totals[stream.source]) * stream.selectivity
            return sent * largest_bucket(stream.keys, stream.key_skew, count)
        known = self._busiest.get((component, count))
        if known is None or not np.array_equal(known[0], totals):
            rate = float(self.arrivals(component, count, totals).max())
            known = self._busiest[component, count] = (totals, rate)
        return known[1]

    @cached_property
    def _busiest(self) -> dict[tuple[int, int], tuple[FloatVector, float]]:
        """What :meth:`busiest` has worked out, with the totals it holds for."""
        return {}

    def holds(self, component: int, count: int, totals: FloatVector) -> bool:
        """Whether so many executors of a component are within the limits."""
        arrival = self.busiest(component, count, totals)
        return self.limits.holds(arrival, float(self.service[component]))

    def loads(self, counts: Sequence[int]) -> FloatVector:
        """rho of each component's busiest executor, shape (components,)."""
        totals = self.totals(counts)
        busiest = [self.busiest(c, count, totals) for c, count in enumerate(counts)]
        pairs = zip(busiest, self.service.tolist(), strict=True)
        return np.array([load(arrival, service) for arrival, service in pairs])

    def has_uneven_keys(self, component: int) -> bool:
        return any(s.grouping.is_keyed and s.keys for s in self._into[component])


def first_counts(stations: Stations, executor_cost: float, pool: int) -> list[int]:
    """The counts laid down where there are some, else k* (Algorithm 2), all in one pool."""
    problem = stations.problem
    most = np.minimum(problem.most_instances, pool).tolist()
    totals = stations.totals([1] * len(most))
    counts = [
        min(asked, most[c])
        if asked is not None
        else best_count(float(totals[c]), float(stations.service[c]), executor_cost, 1.0, most[c])
        for c, asked in enumerate(problem.counts_asked)
    ]
    while sum(counts) > pool and max(counts) > 1:
        loads = stations.loads([max(count - 1, 1) for count in counts])
        spare = np.where(np.array(counts) > 1, loads, np.inf)
        counts[int(np.argmin(spare))] -= 1
    return counts


def rebalance(stations: Stations, counts: list[int], pool: int, rounds: Rounds) -> list[int]:
    """Algorithm 3: executors for the components that are late, from the pool or from others.

    The most loaded component goes first. What has been given is not taken back, so it ends.
    """
    counts = counts.copy()
    most = np.minimum(stations.problem.most_instances, pool).tolist()
    helped: set[int] = set()
    while late := _worth_raising(stations, counts, most):
        if rounds.spent():
            break
        loads = stations.loads(counts)
        worst = max(late, key=lambda c: (loads[c], -c))
        if sum(counts) >= pool:
            giver = _giver(stations, counts, loads, {*helped, worst})
            if giver is None:
                break  # at the limit: the maximum is what there is
            counts[giver] -= 1
        counts[worst] += 1  # lines 11 and 17: k++
        helped.add(worst)
    return counts


def _worth_raising(stations: Stations, counts: list[int], most: list[int]) -> list[int]:
    """Line 9: the components that are late, and that more executors would help."""
    totals = stations.totals(counts)
    return [
        c
        for c, count in enumerate(counts)
        if count < most[c]
        and not stations.holds(c, count, totals)
        and _more_would_help(stations, c, count, most[c], totals)
    ]


def _more_would_help(
    stations: Stations, component: int, count: int, most: int, totals: FloatVector
) -> bool:
    if stations.holds(component, most, totals):
        return True
    gain = _NEAR_THE_BEST if stations.has_uneven_keys(component) else 1.0 - _ROUNDING
    now = stations.busiest(component, count, totals)
    return stations.busiest(component, most, totals) < gain * now


def _giver(
    stations: Stations, counts: list[int], loads: FloatVector, not_these: set[int]
) -> int | None:
    """The least loaded component that stays within the limits with one executor less."""
    for c in sorted(range(len(counts)), key=lambda c: (loads[c], c)):
        if c in not_these or counts[c] == 1:
            continue
        fewer = [count - (i == c) for i, count in enumerate(counts)]
        if stations.holds(c, fewer[c], stations.totals(fewer)):
            return c
    return None

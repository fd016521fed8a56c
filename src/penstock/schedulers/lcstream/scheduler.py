"""``lcstream``: elastic scheduling with latency constraints, Lc-Stream of Sun et al.

Concurrency and Computation 2024, doi:10.1002/cpe.8085, Algorithms 1 to 4. Every executor is a
queue; a component gets as many as keep its queue L and wait W within limits (Algorithms 2 and 3,
``lcstream_counts``). A pool hands out the executors (Algorithm 1, ``lcstream_pool``): those that
talk to each other in one process, else on one machine, else in the nearest region by round-trip
time, else where there is most room, and never on a machine over its load threshold
(``lcstream_layout``). When most machines have little to do, some are emptied and put to sleep
(Algorithm 4, ``lcstream_sleep``).

Where the paper is silent or at odds with itself:

- The *operating rate*, which it measures, is the declared demand; without one, the fraction
  ``load`` of the upper bound, lowered step by step until everything fits and the limits hold.
- An executor's arrival rate is its part of the component's input, that of the busiest executor
  where keys divide a stream unevenly. Its service rate is what one instance can use, less met, over
  the cost of a tuple, the mean over the machines.
- Algorithm 3 acts while L_k > L *and* W_k > W. Its W_k never exceeds 1.58 service times, so a W
  above that switches L off. We add that a load of 1 is always too much (its eq. 3). Defaults: L is
  0.8, the machines' load threshold, since L = rho; W is 0, which keeps L in force everywhere.
- Algorithm 2 computes mu* and never uses it; neither do we. Its c'/W is ``executor_cost``.
- Counts given by the topology are where Algorithm 3 starts, not what it must keep.
- Executors too large for what is left on any one machine, while there is room enough in all, are
  made smaller: their component gets a fifth more, at least one.
- Executors are placed all components in step, so that each machine gets the same part of each.
- A thread that would be more than full is refused like a machine over its threshold. Memory and
  other hard resources are limits; the paper does not mention them. One worker per machine and
  topology; topologies by priority, each whole or not at all. Merging of packets is left to the
  engine.

Cost: O(machines * streams) per executor placed, times the steps the rate is lowered.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from typing import ClassVar

import numpy as np

from penstock.errors import InputError, NotMeasuredError, TooMuchWorkError, quantity
from penstock.evaluate.bound import upper_bound
from penstock.evaluate.queues import load as load_of
from penstock.evaluate.queues import mean_queue, mean_wait, mm1_queue, mm1_wait, mmc_wait
from penstock.model.outcome import Outcome, Shortfall
from penstock.model.problem import Problem
from penstock.schedulers.base import Budget, Looks
from penstock.schedulers.counts import topologies_by_priority
from penstock.schedulers.lcstream.counts import (
    LatenessLimits,
    Rounds,
    Stations,
    first_counts,
    rebalance,
    service_rates,
)
from penstock.schedulers.lcstream.layout import Rules, ServerLayout
from penstock.schedulers.lcstream.place import place_topology
from penstock.schedulers.lcstream.sleep import Saved, save_energy
from penstock.schedulers.lcstream.work import ExecutorWork

#: The rate is lowered by this factor down to half of the first one, then halved.
_STEP = 0.95
#: What a look at a component costs, in looks at a machine.
_PER_COMPONENT = 20
#: Below this part of the first rate the search for one that fits is given up.
_LEAST_RATE = 0.01


@dataclass(frozen=True)
class LcStreamScheduler:
    """As many executors as the queues need, related ones together, idle machines asleep."""

    name: ClassVar[str] = "lcstream"
    summary: ClassVar[str] = "counts from queue and wait limits, related tasks together, sleep"
    paper: ClassVar[str] = "Sun et al. 2024 (Lc-Stream), Algorithms 1 to 4"
    looks: ClassVar[Looks] = Looks(
        counts=True,
        unlike_machines=True,
        memory=True,
        network=True,
        latency=True,
        energy=True,
        topologies_together=True,
    )

    load: float = field(
        default=0.7,
        metadata={"help": "without declared demand: plan for this fraction of the upper bound"},
    )
    queue: float = field(
        default=0.8, metadata={"help": "L, the longest mean queue of an executor, in tuples"}
    )
    wait_ms: float = field(
        default=0.0, metadata={"help": "W, a mean wait in ms that is short whatever the queue"}
    )
    executor_cost: float = field(
        default=0.25,
        metadata={
            "help": "c'/W: another executor must take this much off the queue to be worth it"
        },
    )
    per_machine: int = field(default=10, metadata={"help": "executors each machine offers"})
    threshold: float = field(
        default=0.8, metadata={"help": "no machine is loaded over this fraction of its CPU"}
    )
    sleep: bool = field(default=True, metadata={"help": "put machines with little to do to sleep"})
    low: float = field(
        default=0.25, metadata={"help": "CPU utilisation under which a machine has little to do"}
    )
    low_share: float = field(
        default=0.7, metadata={"help": "part of the machines in use that must have little to do"}
    )
    work: float = field(
        default=2e7,
        metadata={"help": "refuse more than so many executors x (machines + 20 x components)"},
    )

    def __post_init__(self) -> None:
        for name in ("load", "queue", "threshold", "low", "low_share"):
            value = getattr(self, name)
            if not 0.0 < value <= 1.0:
                raise InputError(f"lcstream: {name} must be over 0 and at most 1, not {value}")
        for name in ("wait_ms", "executor_cost"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0.0):
                raise InputError(f"lcstream: {name} must be at least 0, not {value}")
        if self.per_machine < 1:
            raise InputError(f"lcstream: per_machine must be at least 1, not {self.per_machine}")

    def solve(self, problem: Problem, budget: Budget, rng: np.random.Generator) -> Outcome:
        if not problem.has_costs:
            raise NotMeasuredError(
                "lcstream works from arrival and service rates, and this problem has only "
                "requests; give it a profile (--profile)"
            )
        if not problem.acyclic:
            problem.order  # noqa: B018 - raises, and names the cycle
        if (needed := self.work_for(problem)) > self.work:
            raise TooMuchWorkError(
                f"lcstream: some {needed:.1e} steps, executors x (machines + 20 x components), at "
                f"most {self.work:.1e} are made, which takes many minutes; take another scheduler, "
                f"or allow so many (--set work={np.ceil(needed):.0f})"
            )
        wanted = self._wanted(problem)
        rounds = Rounds(budget)
        tried = self._lowered_until_it_fits(problem, wanted, rounds)
        saved = None
        if self.sleep and problem.given_counts is None:  # sleeping may give up executors
            saved = save_energy(tried.layout, self.low, self.low_share, rounds)
        layout = saved.layout if saved else tried.layout
        notes = (
            wanted.note(layout.work.stations.scale),
            *_queue_notes(layout),
            *_sleep_notes(layout, saved),
            *_division_notes(layout),
            *_region_notes(problem),
        )
        return Outcome(
            layout.placement(),
            tuple(tried.missing),
            rounds.done,
            notes,
            interrupted=rounds.cut,
            asleep=_names_of(problem, saved.asleep if saved else ()),
        )

    def work_for(self, problem: Problem) -> float:
        """About how much there is to do: every executor is added and placed on its own."""
        machines, components = len(problem.cluster.machines), len(problem.components)
        if problem.given_counts is not None:
            executors = float(sum(problem.given_counts))
        else:
            wanted = self._wanted(problem).scale
            busy = problem.visits * wanted / np.maximum(service_rates(problem), 1e-300)
            executors = float(np.ceil(busy / self.queue).clip(1).sum())
            executors = min(executors, float(self.per_machine * machines))
        return executors * (machines + _PER_COMPONENT * components)

    def _wanted(self, problem: Problem) -> _OperatingRate:
        """The operating rate to begin with."""
        if all(t.demand_per_s is not None for t in problem.topologies):
            return _OperatingRate(1.0, None, declared=True)
        bound = upper_bound(problem).scale
        if np.isinf(bound):
            return _OperatingRate(1.0, bound)
        return _OperatingRate(self.load * bound, bound)

    def _lowered_until_it_fits(
        self, problem: Problem, wanted: _OperatingRate, rounds: Rounds
    ) -> _RateTrial:
        """The first rate at which L and W hold and everything is placed, else the nearest to it."""
        scales = [wanted.scale] if wanted.declared else _lower_and_lower(wanted.scale)
        first = self._first_within_limits(problem, scales, rounds)
        # At a lower rate there are fewer executors, which ask for less.
        of_the_rate = {"cpu_points", *problem.resources.names}
        best = tried = self._try(problem, scales[first], rounds)
        for scale in scales[first + 1 :]:
            mendable = any(missing.resource in of_the_rate for missing in tried.missing)
            if not mendable or rounds.spent():
                break
            tried = self._try(problem, scale, rounds)
            if len(tried.missing) < len(best.missing):
                best = tried
        return best

    def _first_within_limits(self, problem: Problem, scales: list[float], rounds: Rounds) -> int:
        """Index of the first rate at which L and W hold, 0 if there is none."""
        for i, scale in enumerate(scales):
            if not self._count(problem, scale, rounds).late:
                return i
            if len(scales) > 1 and rounds.spent():
                break
        return 0

    def _count(self, problem: Problem, scale: float, rounds: Rounds) -> ExecutorWork:
        """Counts at one operating rate: Algorithms 2 and 3."""
        stations = Stations(problem, scale, LatenessLimits(self.queue, self.wait_ms / 1e3))
        if problem.given_counts is not None:
            return ExecutorWork(stations, problem.given_counts)
        pool = self.per_machine * len(problem.cluster.machines)
        counts = first_counts(stations, self.executor_cost, pool)
        return ExecutorWork(stations, tuple(rebalance(stations, counts, pool, rounds)))

    def _try(self, problem: Problem, scale: float, rounds: Rounds) -> _RateTrial:
        """Counts and placement at one operating rate."""
        rules = Rules(self.per_machine, self.threshold)
        layout = ServerLayout.empty(self._count(problem, scale, rounds), rules)
        missing = []
        for topology in topologies_by_priority(problem):
            placed = place_topology(layout, topology, rounds)
            if isinstance(placed, Shortfall):
                missing.append(placed)
            else:
                layout = placed
        return _RateTrial(layout, missing)


def _lower_and_lower(scale: float) -> list[float]:
    """Rates to try, highest first."""
    scales = [scale]
    while scales[-1] > scale * _LEAST_RATE:
        scales.append(scales[-1] * (_STEP if scales[-1] > scale / 2 else 0.5))
    return scales


@dataclass(frozen=True, slots=True)
class _OperatingRate:
    """The operating rate asked for."""

    scale: float
    bound: float | None
    declared: bool = False

    def note(self, scale: float) -> str:
        """The operating rate and where it is from."""
        if self.declared:
            return "operating rate: the declared demand"
        if self.bound is None or np.isinf(self.bound) or self.bound == 0.0:
            return (
                f"operating rate: a scale of {quantity(scale)}; there is no bound to take a part of"
            )
        part = (
            f"operating rate: a scale of {quantity(scale)}, "
            f"{scale / self.bound:.2f} of the upper bound"
        )
        if scale == self.scale:
            return part
        first = f"at {self.scale / self.bound:.2f} of it"
        return f"{part}; {first} not everything fits, or L and W do not hold"


#: Of a queue that more arrives at than it serves.
_UNBOUNDED = "unbounded"


@dataclass(frozen=True, slots=True)
class _RateTrial:
    """What came of one operating rate."""

    layout: ServerLayout
    missing: list[Shortfall]


def _queue_notes(layout: ServerLayout) -> list[str]:
    """The component whose executors are worst off, in the paper's model and in theory's."""
    if not layout.placed:
        return []
    work, stations = layout.work, layout.work.stations
    totals, loads = stations.totals(work.counts), stations.loads(work.counts)
    late = [c for c in work.late if c in layout.placed]
    worst = max(late or layout.placed, key=lambda c: (loads[c], -c))
    service, count = float(stations.service[worst]), work.counts[worst]
    arrival = stations.busiest(worst, count, totals)
    limits = stations.limits
    notes = [
        (
            f"longest queue: {work.problem.labels[worst]} with {count} executors, "
            f"L {_length(mean_queue(load_of(arrival, service)))} (limit {limits.queue:g}), "
            f"W {_ms(mean_wait(arrival, service))} (limit {_ms(limits.wait_s)}); "
            f"M/M/1 says L {_length(mm1_queue(arrival, service))}, "
            f"W {_ms(mm1_wait(arrival, service))}, "
            f"M/M/{count} over all of them W {_ms(mmc_wait(float(totals[worst]), service, count))}"
        )
    ]
    if late:
        names = ", ".join(work.problem.labels[c] for c in late)
        notes.append(f"L and W are not reachable for {names}: more executors do not help there")
    return notes


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if isfinite(seconds) else _UNBOUNDED


def _length(tuples: float) -> str:
    return f"{tuples:.2f}" if isfinite(tuples) else _UNBOUNDED


def _sleep_notes(layout: ServerLayout, saved: Saved | None) -> list[str]:
    if saved is None or not saved.in_use:
        return []
    before = f"{saved.low} of {saved.in_use} machines in use had little to do"
    if not saved.asleep:
        return [f"no machine put to sleep: {before}"]
    names = _names_of(layout.work.problem, saved.asleep)
    return [
        (
            f"{len(names)} machines put to sleep ({', '.join(names)}): {before}; "
            f"{saved.moved} executors moved, {saved.given_up} given up"
        )
    ]


def _names_of(problem: Problem, machines: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(sorted(problem.cluster.machines[machine].name for machine in machines))


def _division_notes(layout: ServerLayout) -> list[str]:
    """Streams that are divided otherwise than planned, and whether that breaks a limit."""
    problem = layout.work.problem
    if not any(stream.grouping.is_local for stream in problem.streams):
        return []
    over = "" if layout.within_limits() else "; so divided, a machine or thread is over its limit"
    return [f"lcstream takes local-or-shuffle as shuffle{over}"]


def _region_notes(problem: Problem) -> list[str]:
    """Said where regions are told apart, but not how far apart they are."""
    cluster = problem.cluster
    if len(cluster.regions) < 2 or cluster.region_latency_ms.any():
        return []
    return [
        (
            "no latency between regions is known: a topology stays in one region while that has "
            "room, and all others are as near as each other"
        )
    ]

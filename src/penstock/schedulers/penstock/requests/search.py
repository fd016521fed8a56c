"""Requests mode of ``penstock``: given counts, CPU and memory asked for, nothing measured.

Few machines, then little network distance between connected executors (0 same worker, 1 same
machine, 2 same rack, 3 other rack, 4 other region; the mean over pairs). The two pull in opposite
directions, so several packings are made (:mod:`.pack`), from as many machines as the requests need
at least up to some more, in several orders; where memory and CPU are both scarce also with some of
each machine kept back from lopsided topologies. The best ones by ``nearness`` are polished
(:mod:`.polish`) and the best of those is the answer. If no packing holds all topologies, the more
urgent ones are placed.

How many machines any plan needs is proved by :func:`fewest_machines` and noted with the plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

import numpy as np

from penstock.evaluate.network import pair_hops
from penstock.model.cluster import HOP_DISTANCE, Hop
from penstock.model.outcome import Outcome
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.schedulers.base import Budget
from penstock.schedulers.counts import required_counts
from penstock.schedulers.penstock.requests.free_capacity import FreeCapacity
from penstock.schedulers.penstock.requests.pack import Packing, placement_of
from penstock.schedulers.penstock.requests.packing_orders import RULES, PackingOrder
from penstock.schedulers.penstock.requests.polish import polish
from penstock.schedulers.penstock.requests.topology_requests import (
    FewestMachines,
    fewest_machines,
    requests_by_topology,
)

#: Machines beyond the fewest to begin with, as a part of those, at nearness 1.
_MORE_MACHINES = (0.02, 0.05, 0.1, 0.4, 1.0)
#: Memory and CPU kept back from lopsided topologies, as parts of a machine.
_RESERVES = ((0.05, 0.0), (0.1, 0.1), (0.12, 0.12), (0.3, 0.03), (0.4, 0.03))
#: Memory kept back where CPU alone is scarce.
_MEMORY_RESERVE = 0.25
#: Memory and CPU are both scarce if the machines needed by one are this part of the other's.
_BOTH_SCARCE = 0.6
#: Packings that are polished, and the effort of that for one and for all.
_POLISHED = 8
_EFFORT = 2.5e7
_WHOLE_EFFORT = 4e7


@dataclass(frozen=True)
class PackingCandidate:
    """A packing and what it is worth."""

    packing: Packing
    placement: Placement | None
    machines: int
    distance: float

    @classmethod
    def of(cls, packing: Packing) -> PackingCandidate:
        placement = placement_of(packing.filled)
        if placement is None:
            return cls(packing, None, 0, 0.0)
        distance = mean_distance(packing.problem, placement)
        return cls(packing, placement, len(placement.machines_used), distance)


def place_requests(
    problem: Problem, budget: Budget, rng: np.random.Generator, nearness: float
) -> Outcome:
    """Place the counts asked for; ``nearness`` 0 weighs machines alone, 1 distance alone."""
    return _Search(problem, budget, rng, nearness).run()


def mean_distance(problem: Problem, placement: Placement) -> float:
    """Mean network distance of connected executor pairs; 0 where there is none."""
    hops = pair_hops(problem, placement)
    pairs = float(hops.sum())
    return float(hops @ HOP_DISTANCE) / pairs if pairs else 0.0


class _Search:
    """The packings tried so far."""

    def __init__(
        self, problem: Problem, budget: Budget, rng: np.random.Generator, nearness: float
    ) -> None:
        self.problem, self.budget, self.rng, self.nearness = problem, budget, rng, nearness
        self.all_requests = requests_by_topology(problem, required_counts(problem, "penstock"))
        self.fewest = fewest_machines(problem, self.all_requests)
        self.candidates: list[PackingCandidate] = []
        self.rounds = 0
        self.interrupted = False

    def run(self) -> Outcome:
        if self.fewest.possible:
            self._pack(self._orders_on_fewest_machines())
            if self._whole:
                self._pack(self._orders_on_more_machines())
            if self._both_scarce or not self._whole:
                self._pack(self._orders_with_reserves())
        if not self._whole:
            # The most urgent first, even if the budget is spent: what was found may refuse others.
            self.candidates.clear()
            self._pack(self._orders_by_priority())
        if self._whole:
            self._polish()
        return self._outcome(min(self.candidates, key=self._rank))

    @property
    def _whole(self) -> bool:
        return any(not candidate.packing.refused for candidate in self.candidates)

    def _pack(self, orders: Iterator[PackingOrder]) -> None:
        for order in dict.fromkeys(orders):
            if self.candidates and self.budget.spent(self.rounds):
                self.interrupted = True
                return
            packing = Packing(self.problem, FreeCapacity.of(self.problem), self.all_requests, order)
            self.candidates.append(PackingCandidate.of(packing.run()))
            self.rounds += 1

    @property
    def _both_scarce(self) -> bool:
        less, more = sorted((self.fewest.by_cpu, self.fewest.by_memory))
        return less > _BOTH_SCARCE * more

    def _orders_on_fewest_machines(self) -> Iterator[PackingOrder]:
        for order in RULES:
            yield PackingOrder(order, self.fewest.machines)
        # A few that ask for much memory would otherwise leave CPU that nobody gets at.
        yield PackingOrder("core", self.fewest.machines, memory_reserve=_MEMORY_RESERVE)

    def _orders_on_more_machines(self) -> Iterator[PackingOrder]:
        for more in _MORE_MACHINES:
            machines = ceil(self.fewest.machines * (1 + more * self.nearness))
            if machines > self.fewest.machines:
                yield PackingOrder("value", machines)

    def _orders_with_reserves(self) -> Iterator[PackingOrder]:
        for memory, cpu in _RESERVES:
            for order in RULES:
                yield PackingOrder(order, self.fewest.machines, memory, cpu)

    def _orders_by_priority(self) -> Iterator[PackingOrder]:
        for memory, cpu in ((0.0, 0.0), _RESERVES[1]) if self._both_scarce else ((0.0, 0.0),):
            for order in RULES:
                yield PackingOrder(order, self.fewest.machines, memory, cpu, by_priority=True)

    def _rank(self, candidate: PackingCandidate) -> tuple[tuple[int, ...], float, float, int]:
        """Less is better: the topologies refused, then machines and distance as weighed."""
        # Same rack, where most pairs end up, counts as much as the fewest machines.
        weighed = (1 - self.nearness) * candidate.machines / self.fewest.machines
        weighed += self.nearness * candidate.distance / Hop.SAME_RACK.distance
        return self._refusals(candidate), weighed, candidate.distance, candidate.machines

    def _refusals(self, candidate: PackingCandidate) -> tuple[int, ...]:
        """How many are refused of each priority, the most urgent first."""
        refused = [requests.priority for requests in candidate.packing.refused]
        priorities = sorted({requests.priority for requests in self.all_requests})
        return tuple(refused.count(priority) for priority in priorities)

    def _polish(self) -> None:
        effort = _WHOLE_EFFORT
        # Each from the same seed: what becomes of a packing does not depend on those before it.
        seed = int(self.rng.integers(2**32))
        for candidate in self._worth_polishing():
            if effort <= 0 or self.interrupted:
                return
            if self.budget.spent(self.rounds):
                self.interrupted = True
                return
            packing = candidate.packing
            packing.filled, spent = polish(
                packing.filled,
                packing.free,
                np.random.default_rng(seed),
                min(effort, _EFFORT),
                stop=lambda: self.budget.spent(self.rounds),
            )
            effort -= spent
            self.candidates.append(PackingCandidate.of(packing))
            self.interrupted = self.budget.spent(self.rounds)
            self.rounds += 1

    def _worth_polishing(self) -> list[PackingCandidate]:
        """The best packings, but first the best for each part kept back: the looser gain more."""
        whole = [candidate for candidate in self.candidates if not candidate.packing.refused]
        reserves: set[tuple[float, float]] = set()
        first: list[PackingCandidate] = []
        then: list[PackingCandidate] = []
        for candidate in sorted(whole, key=self._rank):
            reserve = (candidate.packing.order.memory_reserve, candidate.packing.order.cpu_reserve)
            (then if reserve in reserves else first).append(candidate)
            reserves.add(reserve)
        return (first + then)[:_POLISHED]

    def _outcome(self, best: PackingCandidate) -> Outcome:
        return Outcome(
            best.placement,
            tuple(best.packing.shortfalls),
            self.rounds,
            tuple(self._notes(best)),
            interrupted=self.interrupted,
        )

    def _notes(self, best: PackingCandidate) -> Iterator[str]:
        if not best.packing.refused:
            yield _proof(self.fewest, best.machines)
        if best.placement is not None:
            yield (
                f"connected instances are {best.distance:.3f} apart on average "
                "(0 same worker, 1 same machine, 2 same rack, 3 other rack)"
            )
        if np.isnan(self.problem.memory_mb).any():
            yield "memory is unknown for some components and counts as none"


def _proof(fewest: FewestMachines, machines: int) -> str:
    needed = "1 machine is" if fewest.machines == 1 else f"{fewest.machines} machines are"
    same = "no more than that" if machines == fewest.machines else str(machines)
    return f"at least {needed} needed by {fewest.resource} requests; this plan uses {same}"

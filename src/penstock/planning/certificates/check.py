"""Is a certificate a proof? Plain loops over what it says; no solver, nothing of the search.

The steps say how all vectors of instance counts were split into boxes, and why no plan with counts
in a box carries more than ``bound_scale`` = R. This file works out both again from the problem's
figures: that the boxes leave nothing out, and that every reason holds.

**Fillings.** In a box, N instances of a component with ``least <= N <= most`` get between
``even / most`` and ``even / least + other`` of R each, where ``even`` is the input that is divided
evenly and ``other`` that of which an instance may get anything. For prices y >= 0 the most that a
machine's instances can be worth, by ``sum y_c z_c`` over what they take in, is found by trying all
numbers of instances that fit, with a bound to leave out those that cannot be the best. If all
machines together are worth less than ``sum y_c k_c``, all input, no plan in the box carries R.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.errors import InputError
from penstock.model.certificate import Certificate, ProofStep, Refutation
from penstock.model.problem import UNLIMITED
from penstock.planning.certificates.best_filling import BestFilling
from penstock.planning.certificates.figures import (
    SLACK_POINTS,
    SLACK_RESOURCES,
    MachineLimits,
    even_input,
    machines_of,
)

#: Machines must be worth less than the input by this part: far more than rounding.
_CLEARLY_LESS = 1e-12
#: Ways to deal counts over machines that are tried before a step counts as not checked.
_MOST_WAYS = 500_000


@dataclass(frozen=True)
class CountRanges:
    least: list[float]
    most: list[float]

    def parts(self, component: int, at: int) -> tuple[CountRanges, CountRanges]:
        below, above = list(self.most), list(self.least)
        below[component], above[component] = float(at), float(at + 1)
        return CountRanges(self.least, below), CountRanges(above, self.most)


def check(certificate: Certificate) -> int:
    """Check every step; how many boxes were refuted. An error says which step proves nothing."""
    checker = Checker(certificate)
    leaves = 0
    for number, step, box in boxes_of(certificate.steps, checker.all_counts()):
        if not checker.is_refuted(step, box):
            counts = ", ".join(
                f"{label} {least:g} to {most:g}"
                for label, least, most in zip(
                    certificate.plan.problem.labels, box.least, box.most, strict=True
                )
            )
            raise InputError(f"step {number} proves nothing about plans with {counts}")
        leaves += 1
    return leaves


def boxes_of(
    steps: Sequence[ProofStep], everything: CountRanges
) -> Iterator[tuple[int, ProofStep, CountRanges]]:
    """The boxes that are refuted; together they are everything, or an error says what is wrong."""
    waiting = [(0, everything)]
    seen = 0
    while waiting:
        number, box = waiting.pop()
        if not 0 <= number < len(steps):
            raise InputError(f"step {number} is missing")
        seen += 1
        step = steps[number]
        if step.component is None:
            yield number, step, box
            continue
        inside = 0 <= step.component < len(box.least)
        if not inside or not box.least[step.component] <= step.at < box.most[step.component]:
            raise InputError(f"step {number} splits a box where it cannot be split")
        if step.above <= number + 1:
            raise InputError(f"step {number}: its upper part does not come after it")
        below, above = box.parts(step.component, step.at)
        waiting += [(step.above, above), (number + 1, below)]
    if seen != len(steps):
        raise InputError(f"{len(steps) - seen} of {len(steps)} steps belong to no box")


class Checker:
    """The problem's figures as lists, and what can be said with them."""

    def __init__(self, certificate: Certificate) -> None:
        problem = certificate.plan.problem
        self.problem, self.scale = problem, certificate.bound_scale
        if not 0 < self.scale < math.inf:
            raise InputError(f"a bound must be positive, not {self.scale:g}")
        self.visits = problem.visits.tolist()
        self.even = even_input(problem)
        self.components = range(len(self.visits))
        self.fed = [c for c in self.components if self.visits[c] > 0]
        self.machines = machines_of(problem)
        self.request = problem.resources.only_hard.request.tolist()
        self.heap = problem.onheap_mb.tolist()

    def all_counts(self) -> CountRanges:
        given = self.problem.given_counts
        if given is not None:
            return CountRanges([float(n) for n in given], [float(n) for n in given])
        limits = self.problem.most_instances.tolist()
        most = [math.inf if n == UNLIMITED else float(n) for n in limits]
        return CountRanges(
            [1.0 for _ in most],
            [n if k > 0 else 1.0 for n, k in zip(most, self.visits, strict=True)],
        )

    def is_refuted(self, step: ProofStep, box: CountRanges) -> bool:
        """Whether the reason that a step gives for a box holds."""
        if any(not 0 <= price < math.inf for price in step.prices):
            return False
        number = len(self.visits)
        match step.by:
            case Refutation.ALIKE:
                return any(
                    box.least[a] > box.most[b] and self._are_alike(a, b)
                    for a in self.fed
                    for b in self.fed
                    if a < b
                )
            case Refutation.POINTS:
                return len(step.prices) == 2 * number and self._by_points(step.prices, box)
            case Refutation.FILLINGS:
                return len(step.prices) == number and self._by_fillings(step.prices, box)
            case Refutation.PACKING:
                return box.least == box.most and not self._can_be_packed(box)
        return False

    # -- sizes --------------------------------------------------------------------------------

    def sizes(self, box: CountRanges) -> tuple[list[float], list[float]]:
        """The least and the most input of an instance of each component, as part of the scale."""
        least, most = [], []
        for c, component in enumerate(self.problem.components):
            high, low = 1.0 / box.least[c], 1.0 / box.most[c]
            if component.tasks:
                low = math.floor(component.tasks * low + 1e-9) / component.tasks
                high = math.ceil(component.tasks * high - 1e-9) / component.tasks
            other = max(self.visits[c] - self.even[c], 0.0)
            least.append(self.even[c] * low)
            most.append(min(self.even[c] * high + other, self.visits[c]))
        return least, most

    def _are_alike(self, a: int, b: int) -> bool:
        problem, tasks = self.problem, [c.tasks for c in self.problem.components]
        return (
            problem.given_counts is None
            and problem.topology_of[a] == problem.topology_of[b]
            and problem.most_instances[a] == problem.most_instances[b]
            and tasks[a] == tasks[b]
            and self.visits[a] == self.visits[b]
            and self.even[a] == self.even[b]
            and self.request[a] == self.request[b]
            and self.heap[a] == self.heap[b]
            and all(
                (m.e[a], m.met[a], m.thread[a]) == (m.e[b], m.met[b], m.thread[b])
                for m in self.machines
            )
        )

    # -- machines as points of CPU ------------------------------------------------------------

    def _by_points(self, prices: Sequence[float], box: CountRanges) -> bool:
        number = len(self.visits)
        least, most = self.sizes(box)
        total = 0.0
        for machine in self.machines:
            best = 0.0
            for c in self.fed:
                e = machine.e[c]
                if e is None:
                    continue
                cost = e * self.scale
                room = max(machine.thread[c] - machine.met[c], 0.0)
                high = min(most[c], room / cost) if cost > 0 else most[c]
                if high < least[c] * (1.0 - 1e-9):
                    continue
                for size in (least[c], max(high, least[c])):
                    worth = prices[c] * size + prices[number + c]
                    points = cost * size + machine.met[c]
                    if worth > 0 and points <= 0:
                        return False
                    best = max(best, worth / points if points > 0 else 0.0)
            total += machine.number * machine.points * best
        wanted = sum(prices[c] * self.visits[c] for c in self.fed)
        wanted += sum(prices[number + c] * box.least[c] for c in self.fed)
        return bool(total < wanted * (1.0 - _CLEARLY_LESS))

    # -- fillings -----------------------------------------------------------------------------

    def _by_fillings(self, prices: Sequence[float], box: CountRanges) -> bool:
        least, most = self.sizes(box)
        wanted = sum(prices[c] * self.visits[c] for c in self.fed)
        total = 0.0
        for machine in self.machines:
            # A little more than is left decides nothing: another machine may be worth nothing.
            best = BestFilling(self, machine, prices, box, least, most).worth()
            total += machine.number * best
            if total >= wanted * (1.0 - _CLEARLY_LESS):
                return False
        return True

    def workers(self, counts: Sequence[int]) -> int:
        """Worker processes that these instances need at least."""
        needed = 0
        first = 0
        for topology in self.problem.topologies:
            mine = range(first, first + len(topology.components))
            first += len(topology.components)
            if not any(counts[c] for c in mine):
                continue
            heap, limit = sum(counts[c] * self.heap[c] for c in mine), topology.worker_max_heap_mb
            needed += max(1, math.ceil(heap / limit - 1e-6)) if limit else 1
        return needed

    def fits_beside_cpu(self, machine: MachineLimits, counts: Sequence[int], workers: int) -> bool:
        if workers > machine.slots:
            return False
        return all(
            sum(counts[c] * self.request[c][r] for c in self.fed)
            + machine.worker_needs[r] * workers
            <= offered + SLACK_RESOURCES
            for r, offered in enumerate(machine.offered)
        )

    # -- packing ------------------------------------------------------------------------------

    def _can_be_packed(self, box: CountRanges) -> bool:
        """Whether machines can hold these counts; also true if there are too many ways to try."""
        counts = tuple(int(n) for n in box.least)
        if any(k <= 0 for k in self.visits):
            return True
        least, _ = self.sizes(box)
        reached = {counts}
        ways = 0
        for machine in self.machines:
            fitting = list(self._packable(machine, counts, least))
            for _ in range(machine.number):
                ways += len(reached) * len(fitting)
                if ways > _MOST_WAYS:
                    return True
                reached |= {
                    tuple(n - p for n, p in zip(left, filling, strict=True))
                    for left in reached
                    for filling in fitting
                    if all(n >= p for n, p in zip(left, filling, strict=True))
                }
        return tuple(0 for _ in counts) in reached

    def _packable(
        self, machine: MachineLimits, counts: tuple[int, ...], least: list[float]
    ) -> Iterator[tuple[int, ...]]:
        """Numbers of instances that fit a machine."""
        filling: list[int] = []

        def more(room: float) -> Iterator[tuple[int, ...]]:
            c = len(filling)
            if c == len(counts):
                workers = self.workers(filling)
                extra = machine.worker_points * max(workers - 1, 0)
                if extra <= room and self.fits_beside_cpu(machine, filling, workers):
                    yield tuple(filling)
                return
            points = self.points(machine, c, least[c])
            for n in range(counts[c] + 1):
                if n and (points is None or n * points > room):
                    return
                filling.append(n)
                yield from more(room - n * (points or 0.0))
                filling.pop()

        yield from more(machine.points + SLACK_POINTS)

    def points(self, machine: MachineLimits, c: int, size: float) -> float | None:
        """Points of an instance that takes in so much; ``None`` if it may not run there."""
        e = machine.e[c]
        if e is None:
            return None
        points = e * self.scale * size + machine.met[c]
        return points if points <= machine.thread[c] + SLACK_POINTS else None

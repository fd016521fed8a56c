"""The most that the instances on one machine can be worth, by trying all numbers of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.planning.certificates.figures import SLACK_POINTS, MachineLimits

if TYPE_CHECKING:
    from penstock.planning.certificates.check import Checker, CountRanges


class BestFilling:
    """The most that the instances on one machine can be worth."""

    def __init__(
        self,
        checker: Checker,
        machine: MachineLimits,
        prices: Sequence[float],
        box: CountRanges,
        least: list[float],
        most: list[float],
    ) -> None:
        self.checker, self.machine, self.prices, self.box = checker, machine, prices, box
        self.least = least
        self.points = {c: checker.points(machine, c, least[c]) for c in checker.fed}
        self.here = [c for c in checker.fed if self.points[c] is not None and prices[c] > 0]
        self.here.sort(key=lambda c: -self._per_point(c))
        self.spread = {c: self._most(c, most[c]) - least[c] for c in self.here}
        self.best = 0.0

    def worth(self) -> float:
        self._add(0, {}, self.machine.points + SLACK_POINTS, 0.0)
        return self.best

    def _per_point(self, c: int) -> float:
        """What a point is worth that goes into tuples of a component."""
        cost = (self.machine.e[c] or 0.0) * self.checker.scale
        return self.prices[c] / cost if cost > 0 else math.inf

    def _most(self, c: int, size: float) -> float:
        cost = (self.machine.e[c] or 0.0) * self.checker.scale
        if cost > 0:
            size = min(
                size, max(self.machine.thread[c] - self.machine.met[c] + SLACK_POINTS, 0.0) / cost
            )
        return max(size, self.least[c])

    def _add(self, position: int, held: dict[int, int], room: float, worth: float) -> None:
        """Try all numbers of the components from here on, beside those that are held."""
        if held:
            self._fill(held, room, worth)
        if position == len(self.here):
            return
        # No point that is left can be worth more than one of the best component's tuples.
        first = min([self.here.index(c) for c in held], default=position)
        ahead = self._per_point(self.here[min(first, position)])
        if worth + room * ahead + self._free(held) <= self.best:
            return
        for at in range(position, len(self.here)):
            c = self.here[at]
            points = self.points[c] or 0.0
            number = 1
            while number * points <= room and number <= self.box.most[c]:
                self._add(
                    at + 1,
                    {**held, c: number},
                    room - number * points,
                    worth + number * self.prices[c] * self.least[c],
                )
                if self._has_enough(c, number):
                    break
                number += 1

    def _free(self, held: dict[int, int]) -> float:
        """What tuples that cost nothing may add; anything where some may still come."""
        return math.inf if any(self._per_point(c) == math.inf for c in self.here) else 0.0

    def _has_enough(self, c: int, number: int) -> bool:
        """Whether another instance of a component can only cost: these could use all points."""
        cost = (self.machine.e[c] or 0.0) * self.checker.scale
        return number * cost * (self.least[c] + self.spread[c]) > self.machine.points + SLACK_POINTS

    def _fill(self, held: dict[int, int], room: float, worth: float) -> None:
        """The rest of the points goes to where a point is worth most."""
        counts = [held.get(c, 0) for c in self.checker.components]
        workers = self.checker.workers(counts)
        if not self.checker.fits_beside_cpu(self.machine, counts, workers):
            return
        room -= self.machine.worker_points * max(workers - 1, 0)
        if room < 0:
            return
        for c in self.here:
            if c not in held:
                continue
            cost = (self.machine.e[c] or 0.0) * self.checker.scale
            more = held[c] * self.spread[c]
            taken = more if cost == 0 else min(more, room / cost)
            worth += self.prices[c] * taken
            room -= taken * cost
        self.best = max(self.best, worth)

"""How many more machines of each type a rate needs that a plan does not carry.

By the upper bound: with fewer machines of the type no plan carries the rate, whatever is tried.
A plan leaves something of its bound, too; if the next one leaves as large a part of it as this one,
it needs the number called likely. Costs some twenty linear programmes for each type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from penstock.evaluate.assess import assess
from penstock.evaluate.bound import upper_bound
from penstock.evaluate.hot_keys import HottestKey
from penstock.model.cluster import MachineType
from penstock.model.placement import Placement
from penstock.model.problem import Problem

#: More machines than this are not tried.
MOST_BOUGHT = 4096


@dataclass(frozen=True, slots=True)
class Need:
    """More machines of one type, if only that type is bought; ``None``: no number is enough."""

    machine_type: str
    at_least: int | None
    likely: int | None
    #: Price of the likely number.
    price_per_hour: float | None


@dataclass(frozen=True)
class Purchase:
    """What would carry an offered scale. Cheapest first where prices are known, else fewest."""

    offered_scale: float
    bound_scale: float
    needs: tuple[Need, ...]
    #: The key that fills a thread before machines are short, with as many of them as are tried.
    hottest_key: HottestKey | None = None

    @property
    def another_plan_may_do(self) -> bool:
        """Whether today's machines are not ruled out."""
        return self.offered_scale <= self.bound_scale


def purchase(problem: Problem, placement: Placement, offered_scale: float) -> Purchase:
    """What to buy so that the offered scale can be carried."""
    bound = upper_bound(problem).scale
    reached = assess(problem, placement).sustainable_scale / bound if bound > 0 else 0.0
    needs = [
        _need(problem, kind, offered_scale, reached)
        for kind, count in zip(
            problem.cluster.types, problem.cluster.machines_per_type.tolist(), strict=True
        )
        if count
    ]
    is_enough = any(need.at_least is not None for need in needs)
    key = None if is_enough else _key_that_limits(problem, offered_scale)
    return Purchase(offered_scale, bound, tuple(sorted(needs, key=_cheapest)), key)


def _key_that_limits(problem: Problem, offered: float) -> HottestKey | None:
    """The key that no number of machines would carry, with plenty of every type there is."""
    cluster = problem.cluster
    for kind, count in zip(cluster.types, cluster.machines_per_type.tolist(), strict=True):
        if count:
            cluster = cluster.with_more(kind.name, MOST_BOUGHT)
    bound = upper_bound(replace(problem, cluster=cluster))
    return bound.hottest_key if bound.scale < offered else None


def _need(problem: Problem, kind: MachineType, offered: float, reached: float) -> Need:
    @cache
    def bound_with(number: int) -> float:
        cluster = problem.cluster.with_more(kind.name, number)
        return upper_bound(replace(problem, cluster=cluster)).scale

    at_least = _fewest(lambda number: bound_with(number) >= offered)
    likely = _fewest(lambda number: bound_with(number) * reached >= offered)
    price = None
    if likely is not None and kind.price_per_hour is not None:
        price = likely * kind.price_per_hour
    return Need(kind.name, at_least, likely, price)


def _fewest(enough: Callable[[int], bool]) -> int | None:
    """The smallest number that is enough, by doubling and then halving."""
    if enough(0):
        return 0
    high = 1
    while not enough(high):
        high *= 2
        if high > MOST_BOUGHT:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _cheapest(need: Need) -> tuple[bool, bool, float, int]:
    price = need.price_per_hour
    return need.likely is None, price is None, price or 0.0, need.likely or 0

"""What to change about a cluster or a topology, by planning again with the change made.

Each piece of advice is a plan of its own, with its rate and its bound, against one for the problem
as it is, made with the same effort.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from penstock.errors import InputError
from penstock.evaluate.assess import assess
from penstock.evaluate.bound import upper_bound
from penstock.evaluate.capacity import capacity
from penstock.evaluate.hot_keys import hottest_key_in_words
from penstock.model.cluster import Machine
from penstock.model.plan import Plan
from penstock.model.problem import Problem
from penstock.model.terms import Least
from penstock.planning import solve
from penstock.schedulers.base import Budget

#: A component made this much faster.
SPEED_UP = 1.1
#: Standard errors to both sides that hold the truth nineteen times out of twenty.
_SURE = 1.96
_SCHEDULER = "penstock"
#: Without the exact search of small problems: a dozen plans are made.
_LIGHT: dict[str, float] = {"effort": 0.0}
#: Utilisation of a type, in the ideal solution, below which it is wasted.
_WASTED = 0.5


@dataclass(frozen=True, slots=True)
class Change:
    """One thing to change, and what the plan would carry then; rates of all topologies."""

    what: str
    rate_per_s: float
    #: No plan can exceed this after the change.
    bound_per_s: float
    #: Part of today's rate that it adds.
    gain: float


@dataclass(frozen=True)
class Advice:
    """What a plan carries, what would help, what is not needed, and how sure this is."""

    problem: Problem
    #: Of the plan asked about, and of one made with the effort of the others.
    rate_per_s: float
    replanned_per_s: float
    #: What runs out first in the plan, and the key that limits every plan, if one does, in words.
    limited_by: str
    hottest_key: str
    one_more: tuple[Change, ...]
    faster: tuple[Change, ...]
    #: Machines of each type that can go at the same rate, by name of the type.
    can_go: tuple[tuple[str, int], ...]
    #: Types that the ideal solution hardly uses, with the part of their CPU that it does.
    wasted: tuple[tuple[str, float], ...]
    #: The plan's rate, and that of the best plan, with all costs at the high and the low end of
    #: their error bars; ``None`` where the profile has none.
    range_of_plan: tuple[float, float] | None
    range_of_best: tuple[float, float] | None


def advise(
    plan: Plan,
    *,
    seed: int = 0,
    budget: Callable[[], Budget] = Budget,
    progress: Callable[[str], None] = lambda _text: None,
) -> Advice:
    """Plan again with one more machine of each type, faster components, fewer machines."""
    # What says where instances may be still holds; what says how much or what changes does not.
    terms = replace(
        plan.problem.terms, carry_per_s=None, least=(), current=(), most_moves=None, latency_ms=()
    )
    problem = replace(plan.problem, terms=terms, given_counts=None)
    if not problem.has_rates or problem.profile is None:
        raise InputError("advice needs rates: plan with a profile")
    demand = float(problem.demand.sum())

    def in_hand(changed: Problem) -> float:
        """What the plan as it is carries after a change that keeps its machines."""
        return capacity(changed, plan.placement).scale * demand

    def rate_of(changed: Problem) -> float:
        result = solve.plan(changed, _SCHEDULER, parameters=_LIGHT, seed=seed, budget=budget)
        return (result.facts.scale or 0.0) * demand

    progress("today's machines")
    base = max(rate_of(problem), in_hand(problem), 1e-300)

    def change(what: str, changed: Problem) -> Change:
        progress(what)
        # Nobody has to plan anew: the plan in hand, and what is known to be carried, are a floor.
        best = max(rate_of(changed), in_hand(changed), base)
        return Change(what, best, upper_bound(changed).scale * demand, _gain(best, base))

    one_more = [change(f"one more {name}", other) for name, other in _one_more(problem)]
    faster = [
        change(f"{label} {100 * (SPEED_UP - 1):.0f} % faster", other)
        for label, other in _faster(problem)
    ]
    progress("which machines can go")
    key = upper_bound(problem).hottest_key
    return Advice(
        problem=problem,
        rate_per_s=(capacity(problem, plan.placement).scale) * demand,
        replanned_per_s=base,
        limited_by=assess(problem, plan.placement).limited_by,
        hottest_key="" if key is None else hottest_key_in_words(problem, key),
        one_more=tuple(sorted(one_more, key=lambda c: -c.gain)),
        faster=tuple(sorted(faster, key=lambda c: -c.gain)),
        can_go=_can_go(problem, base, seed, budget),
        wasted=_wasted(problem),
        range_of_plan=_range(problem, in_hand),
        range_of_best=_range(problem, rate_of),
    )


def _gain(best: float, base: float) -> float:
    """What is unlimited already gains nothing."""
    return 0.0 if best == base else best / base - 1.0


def _one_more(problem: Problem) -> Iterator[tuple[str, Problem]]:
    cluster = problem.cluster
    for t, kind in enumerate(cluster.types):
        if cluster.machines_per_type[t]:
            like = next(m for m in cluster.machines if m.type == kind.name)
            added = Machine(f"one more {kind.name}", kind.name, like.rack, like.region)
            wider = replace(cluster, machines=(*cluster.machines, added))
            yield kind.name, replace(problem, cluster=wider)


def _faster(problem: Problem) -> Iterator[tuple[str, Problem]]:
    assert problem.profile is not None
    for row in dict.fromkeys(problem.cost_rows):
        label = ", ".join(
            name
            for name, mine in zip(problem.labels, problem.cost_rows, strict=True)
            if mine == row
        )
        yield label, replace(problem, profile=problem.profile.sped_up(row, SPEED_UP))


def _can_go(
    problem: Problem, rate_per_s: float, seed: int, budget: Callable[[], Budget]
) -> tuple[tuple[str, int], ...]:
    """Machines of each type that the same rate does not need."""
    carried = rate_per_s * (1 - 1e-9)
    terms = replace(problem.terms, carry_per_s=carried, least=(Least.MACHINES,))
    asked = replace(problem, terms=terms)
    result = solve.plan(asked, _SCHEDULER, parameters=_LIGHT, seed=seed, budget=budget)
    if result.plan is None or not result.outcome.feasible:
        return ()
    cluster = problem.cluster
    used = np.bincount(
        cluster.type_of[result.plan.placement.machines_used], minlength=len(cluster.types)
    )
    spare = cluster.machines_per_type - used
    return tuple((kind.name, int(spare[t])) for t, kind in enumerate(cluster.types) if spare[t] > 0)


def _wasted(problem: Problem) -> tuple[tuple[str, float], ...]:
    bound = upper_bound(problem)
    return tuple(
        (kind.name, float(bound.type_utilisation[t]))
        for t, kind in enumerate(problem.cluster.types)
        if problem.cluster.machines_per_type[t] and bound.type_utilisation[t] < _WASTED
    )


def _range(problem: Problem, rate_of: Callable[[Problem], float]) -> tuple[float, float] | None:
    """A rate with every cost at the high end of its error bar, and at the low end."""
    profile = problem.profile
    if profile is None or not profile.has_errors:
        return None
    low, high = (
        rate_of(replace(problem, profile=profile.shifted(sign * _SURE))) for sign in (1, -1)
    )
    return low, high

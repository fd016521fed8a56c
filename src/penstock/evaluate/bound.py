"""An upper bound on the scale that no plan can exceed, under any grouping, with its proof.

A linear programme over machine types. Variables: the scale; ``x[c,t]``, tuples/s of component c
handled on machines of type t; ``n[c,t]``, instances of c there (not rounded). Every real plan,
whatever its counts, places and shares, is a solution of it:

- all input of a component is handled: ``sum_t x[c,t] = k[c] * scale``;
- an instance is at most as busy as its thread: ``e x <= (limit - met) n``, so overheads are paid;
- a type's CPU: ``sum_c (e x + met n) <= machines * (usable - base - one worker)``;
- a type's memory, and likewise every other hard resource:
  ``sum_c memory n <= machines * (memory - one worker's)``;
- at least one instance of each component, at most its ``max_instances``.

- one key goes to one instance: what the hottest key of a component brings fits its fastest thread
  and widest card (:mod:`.hot_keys`);
- where there is room for few instances, the largest of so few buckets of keys fits a thread
  (:mod:`.key_buckets`);
- what cannot stay on a machine crosses, which costs CPU and goes through network cards
  (:mod:`.movement`). Those rows hold for plans of at least the scale R they are made for, so the
  bound is the larger of R and the programme's value, for the R that makes it least.

**Safe against rounding.** The solver's answer is not trusted: its dual prices, clipped to be
non-negative, give by weak duality ``b y + sum_j max(0, c_j - A_j y) u_j`` with u_j an upper limit
of variable j (Neumaier and Shcherbina, Math. Prog. 99, 2004), true for any prices whatever.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from penstock.evaluate.hot_keys import HottestKey, hottest_keys
from penstock.evaluate.rates import visit_ratios
from penstock.model.arrays import FloatVector, IntVector
from penstock.model.problem import Problem

if TYPE_CHECKING:
    from penstock.evaluate.programme import Programme, Solution

_ANY_RATE = 1e6
KIND = "linear programme over machine types"
KIND_HOTTEST_KEY = "the hottest key, which one thread must take"
KIND_FEW_INSTANCES = "the largest bucket of keys, with as many instances as there is room for"
#: Rounds in which the scale is sought at which what must move leaves just that scale, and how many
#: may gain next to nothing before it ends.
_ROUNDS, _IDLE_ROUNDS, _NEAR = 20, 3, 1e-3
_CLOSE = 1e-4


#: Where a problem keeps its bound.
_DERIVED = "upper bound"


@dataclass(frozen=True)
class Bound:
    """The bound and what it says about the problem. Prices are in scale per unit of the limit."""

    scale: float
    #: Price of one CPU point of each type, shape (types,).
    cpu_price: FloatVector
    #: Scale that one more machine of each type would add, at the margin, shape (types,).
    added_by_one_machine: FloatVector
    #: Part of the binding capacity that each component needs; sums to 1, shape (components,).
    component_share: FloatVector
    #: Fraction of each type's CPU that the ideal solution uses, shape (types,); NaN if no machine.
    type_utilisation: FloatVector
    #: Tuples/s of each component on each type in the ideal solution, shape (components, types).
    ideal_rate: FloatVector
    ideal_instances: FloatVector
    #: The key that limits every plan, where one does.
    hottest_key: HottestKey | None = None
    #: The component of which there is room for so few instances that its largest bucket of keys
    #: limits every plan.
    few_instances_of: int | None = None

    @property
    def kind(self) -> str:
        """What the bound comes from, in words."""
        if self.few_instances_of is not None:
            return KIND_FEW_INSTANCES
        return KIND if self.hottest_key is None else KIND_HOTTEST_KEY

    @property
    def binding_types(self) -> IntVector:
        """Types of which one more machine would help."""
        return np.flatnonzero(self.added_by_one_machine > 1e-9 * max(self.scale, 1e-300))


def upper_bound(problem: Problem) -> Bound:
    """The bound of a problem with rates; 0 where no plan can even pay its overheads.

    It is solved once: planning, schedulers and reports that ask for it later get the same.
    """
    if _DERIVED not in problem.derived:
        problem.derived[_DERIVED] = solve_bound(problem)
    bound = problem.derived[_DERIVED]
    assert isinstance(bound, Bound)
    return bound


def solve_bound(problem: Problem) -> Bound:
    """The bound, worked out anew."""
    # scipy takes longer to load than most commands to run, and many commands need no bound.
    from penstock.evaluate.key_buckets import limit_by_buckets
    from penstock.evaluate.movement import can_matter
    from penstock.evaluate.programme import formulate, solve

    components, types = len(problem.components), len(problem.cluster.types)
    programme = formulate(problem)
    unlimited = bool(np.isinf(programme.upper[-1]))
    if unlimited:  # no tuple costs anything; are the overheads paid at any rate at all?
        programme = replace(programme, upper=np.minimum(programme.upper, _ANY_RATE))
    solved = solve(programme)
    if solved is None or unlimited:
        return _without_prices(0.0 if solved is None else np.inf, components, types)
    bound = _read(problem, programme, solved)
    if can_matter(problem):
        bound = _with_movement(problem, programme, bound)
    hottest = min(hottest_keys(problem), key=lambda key: key.scale, default=None)
    if hottest is not None and hottest.scale < bound.scale:
        bound = _limited_by_key(bound, hottest)
    few = limit_by_buckets(problem, programme, bound.scale)
    return bound if few is None else replace(bound, scale=few[0], few_instances_of=few[1])


def _limited_by_key(bound: Bound, hottest: HottestKey) -> Bound:
    """The bound where a key binds before machines do: no machine of any type would help."""
    part = hottest.scale / bound.scale
    none = np.zeros_like(bound.cpu_price)
    return replace(
        bound,
        scale=hottest.scale,
        cpu_price=none,
        added_by_one_machine=none,
        component_share=np.eye(len(bound.component_share))[hottest.component],
        type_utilisation=bound.type_utilisation * part,
        ideal_rate=bound.ideal_rate * part,
        ideal_instances=bound.ideal_instances * part,
        hottest_key=hottest,
    )


def _with_movement(problem: Problem, programme: Programme, bound: Bound) -> Bound:
    """The bound with what must move: the least that any round proves.

    The rows hold for plans of at least the scale they are made for. Every round makes them for the
    middle between its scale and the value they had there, with rows for all solutions so far.
    """
    from penstock.evaluate.movement import with_movement
    from penstock.evaluate.programme import solve

    at, best, idle = bound.scale, bound, 0
    guesses = [bound.ideal_rate]
    for _ in range(_ROUNDS):
        moving = with_movement(problem, programme, at, guesses)
        solved = solve(moving)
        # No solution at all: no plan carries that much.
        value = 0.0 if solved is None else _safe_value(moving, solved)
        proven = max(value, at)
        idle = idle + 1 if proven > best.scale * (1.0 - _CLOSE) else 0
        if solved is not None:
            last = replace(_read(problem, moving, solved), scale=proven)
            guesses.append(last.ideal_rate)
            best = last if proven < best.scale else best
        if idle >= _IDLE_ROUNDS and abs(value - at) <= _NEAR * at:
            break
        at = 0.5 * (at + value)
    return best


def _safe_value(programme: Programme, solved: Solution) -> float:
    """An upper bound on the programme's value, true whatever the solver's prices are."""
    prices = np.maximum(solved.prices, 0.0)
    # Only the scale, the last variable, counts in the objective.
    reduced = -(programme.matrix.T @ prices)
    reduced[-1] += 1.0
    return float(programme.right @ prices + np.maximum(reduced, 0.0) @ programme.upper)


def _read(problem: Problem, programme: Programme, solved: Solution) -> Bound:
    components, types = len(problem.components), len(problem.cluster.types)
    prices = np.maximum(solved.prices, 0.0)
    scale = _safe_value(programme, solved)

    rate, count = np.zeros((components, types)), np.zeros((components, types))
    rate[programme.component, programme.kind] = solved.rate
    count[programme.component, programme.kind] = solved.instances
    cpu = np.where(rate > 0, problem.e, 0.0) * rate + problem.met * count
    capacity = programme.right[programme.cpu_rows]
    weight = prices[programme.handled_rows] * visit_ratios(problem)
    return Bound(
        scale=scale,
        cpu_price=prices[programme.cpu_rows],
        added_by_one_machine=prices[programme.cpu_rows] * programme.cpu_per_machine
        + sum(prices[rows] * each for rows, each in programme.resource_rows),
        component_share=weight / weight.sum() if weight.any() else weight,
        type_utilisation=np.divide(
            cpu.sum(axis=0), capacity, out=np.full(types, np.nan), where=capacity > 0
        ),
        ideal_rate=rate,
        ideal_instances=count,
    )


def _without_prices(scale: float, components: int, types: int) -> Bound:
    nothing = np.zeros((components, types))
    none = np.zeros(types)
    return Bound(scale, none, none, np.zeros(components), none, nothing, nothing)

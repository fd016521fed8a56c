"""An upper bound on the scale that no plan can exceed, under any grouping, with its proof.

A linear programme over machine types. Variables: the scale; ``x[c,t]``, tuples/s of component c
handled on machines of type t; ``n[c,t]``, instances of c there (not rounded). Every real plan,
whatever its counts, places and shares, is a solution of it:

- all input of a component is handled: ``sum_t x[c,t] = k[c] * scale``;
- an instance is at most as busy as its thread: ``e x <= (limit - met) n``, so overheads are paid;
- a type's CPU: ``sum_c (e x + met n) <= machines * (usable - base - one worker)``;
- a type's memory: ``sum_c memory n <= machines * (memory - one worker's)``;
- at least one instance of each component, at most its ``max_instances``.

Costs that only some placements have (e_remote, NIC) are left out, which can only raise the bound.

**Safe against rounding.** The solver's answer is not trusted: its dual prices, clipped to be
non-negative, give by weak duality ``b y + sum_j max(0, c_j - A_j y) u_j`` with u_j an upper limit
of variable j (Neumaier and Shcherbina, Math. Prog. 99, 2004), true for any prices whatever.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from penstock.evaluate.rates import visit_ratios
from penstock.model.arrays import FloatVector, IntVector
from penstock.model.problem import Problem

_ANY_RATE = 1e6
KIND = "linear programme over machine types"


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

    @property
    def binding_types(self) -> IntVector:
        """Types of which one more machine would help."""
        return np.flatnonzero(self.added_by_one_machine > 1e-9 * max(self.scale, 1e-300))


def upper_bound(problem: Problem) -> Bound:
    """The bound of a problem with rates; 0 where no plan can even pay its overheads."""
    # scipy takes longer to load than most commands to run, and many commands need no bound.
    from penstock.evaluate.programme import formulate, solve

    components, types = len(problem.components), len(problem.cluster.types)
    programme = formulate(problem)
    unlimited = bool(np.isinf(programme.upper[-1]))
    if unlimited:  # no tuple costs anything; are the overheads paid at any rate at all?
        programme = replace(programme, upper=np.minimum(programme.upper, _ANY_RATE))
    solved = solve(programme)
    if solved is None or unlimited:
        return _without_prices(0.0 if solved is None else np.inf, components, types)

    prices = np.maximum(solved.prices, 0.0)
    # Only the scale, the last variable, counts in the objective.
    reduced = -(programme.matrix.T @ prices)
    reduced[-1] += 1.0
    scale = float(programme.right @ prices + np.maximum(reduced, 0.0) @ programme.upper)

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
        + prices[programme.memory_rows] * programme.memory_per_machine,
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

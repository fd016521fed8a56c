"""A rate with as few machines, euros or watts as possible, and a proof of how few it takes.

How many machines of each type are needed at least is a small mixed-integer programme: the bound's
own constraints at the rate asked for, machines whole, instances and tuples not. Its value is a
lower limit for every plan. The throughput search then fills machines chosen so, for a rate a little
above the one asked for, because whole instances waste a little; from the first choice that carries
enough, machines are taken away again while the rate allows it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint

from penstock.evaluate.assess import assess
from penstock.evaluate.capacity import capacity
from penstock.evaluate.programme import formulate
from penstock.evaluate.terms import held_table
from penstock.model.arrays import FloatVector, IntMatrix, IntVector
from penstock.model.outcome import Outcome
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.model.terms import Least
from penstock.schedulers.base import Budget
from penstock.schedulers.machine_groups import Allowance, Classes, placement_of
from penstock.schedulers.penstock.aggregate import allows_shares
from penstock.schedulers.regroup import Regroup
from penstock.schedulers.restricted import Restricted
from penstock.schedulers.whole_numbers import solve_whole

#: Choices of machines tried before all of them are taken.
_MOST_CHOICES = 8
#: How far above the rate the first choice aims, and how much further each next one does; where
#: shares may differ next to nothing is wasted.
_FIRST_MARGIN, _FIRST_MARGIN_WEIGHTED = 0.01, 0.001
_ENOUGH = 1.0 - 1e-9
#: Machines are taken away one by one on clusters up to this size.
_MOST_TAKEN_AWAY = 1000

#: Plans a problem for throughput.
Search = Callable[[Problem], Outcome]


@dataclass(frozen=True)
class LeastUsePlan:
    """A placement that carries the rate, what it uses, and what no plan can stay below."""

    placement: Placement
    used: float
    at_least: float


@dataclass(frozen=True)
class ResourcePrices:
    """What a machine of each type costs, and a CPU point on it; shape (types,)."""

    machine: FloatVector
    point: FloatVector


def prices_of(problem: Problem, what: Least) -> ResourcePrices | None:
    """Prices of machines and points; ``None`` where the cluster does not say them."""
    cluster = problem.cluster
    nothing = np.zeros(len(cluster.types))
    if what is Least.MACHINES:
        return ResourcePrices(nothing + 1.0, nothing)
    used = cluster.machines_per_type > 0
    if what is Least.PRICE:
        price = cluster.per_type("price_per_hour")
        return (
            None if np.isnan(price[used]).any() else ResourcePrices(np.nan_to_num(price), nothing)
        )
    idle, full = cluster.per_type("idle_watts"), cluster.per_type("full_watts")
    if np.isnan(idle[used]).any() or np.isnan(full[used]).any():
        return None
    return ResourcePrices(
        np.nan_to_num(idle), np.nan_to_num(full - idle) / cluster.per_type("cpu_points")
    )


def amount(problem: Problem, placement: Placement, what: Least, scale: float) -> float:
    """Machines, price per hour or watts of a placement at a scale."""
    if what is Least.MACHINES:
        return float(len(placement.machines_used))
    judged = assess(problem, placement, scale)
    used = judged.price_per_hour if what is Least.PRICE else judged.watts
    return float("nan") if used is None else used


def carry_with_least(
    problem: Problem,
    scale: float,
    what: Least,
    start: Placement,
    search: Search,
    budget: Budget,
) -> LeastUsePlan | None:
    """Carry ``scale`` with as little as possible; ``start`` is known to carry it."""
    prices = prices_of(problem, what)
    if prices is None:
        return None
    at_least, _ = choose_machines(problem, scale, prices)
    best, used = start, amount(problem, start, what, scale)
    first = _FIRST_MARGIN_WEIGHTED if allows_shares(problem) else _FIRST_MARGIN
    margin, tried = first, set[tuple[int, ...]]()
    for _ in range(_MOST_CHOICES):
        if budget.spent(len(tried)):
            break
        cost, number = choose_machines(problem, scale * (1.0 + margin), prices)
        if number is None or cost >= used:
            break
        margin += max(first, 0.5 * margin)
        if tuple(number) in tried:
            continue
        tried.add(tuple(number))
        sub = Restricted.to(problem, _first_of_each(problem, number), problem.terms)
        plan = search(sub.problem).placement
        if plan is None:
            continue
        reached = capacity(sub.problem, plan).scale
        if reached >= scale * _ENOUGH:
            placement = sub.back(plan)
            here = amount(problem, placement, what, scale)
            if here < used:
                best, used = placement, here
            break
        margin = max(margin, scale / max(reached, 1e-300) - 1.0 + margin - first)
    fewer = take_away(problem, best, scale, prices, budget)
    left = amount(problem, fewer, what, scale)
    # Fewer machines work harder: with watts that may cost more than it saves.
    best, used = (fewer, left) if left < used else (best, used)
    return LeastUsePlan(best, used, at_least)


def choose_machines(
    problem: Problem, scale: float, prices: ResourcePrices
) -> tuple[float, IntVector | None]:
    """The least cost of machines that could carry a scale by the bound's constraints, and which.

    ``(inf, None)`` where even all of them could not.
    """
    programme = formulate(problem)
    pairs, types = len(programme.component), len(problem.cluster.types)
    machines = problem.cluster.machines_per_type.astype(np.float64)
    width = 2 * pairs + types
    # Variables: tuples and instances of each pair, machines of each type; the scale is a constant.
    matrix = sparse.lil_array((len(programme.right) + 1, width))
    matrix[:-1, : 2 * pairs] = programme.matrix[:, :-1]
    # The last row: what costs nothing needs a machine, too.
    matrix[-1, 2 * pairs :] = -1.0
    right = programme.right - programme.matrix[:, [-1]].toarray().ravel() * scale
    right = np.append(right, -1.0)
    for rows, each in (
        (programme.cpu_rows, programme.cpu_per_machine),
        *programme.resource_rows,
    ):
        for t in range(types):
            matrix[rows.start + t, 2 * pairs + t] = -each[t]
            right[rows.start + t] = 0.0
    e = problem.e[programme.component, programme.kind]
    met = problem.met[programme.component, programme.kind]
    point = prices.point[programme.kind]
    # Nor does anything run on a type without machines, however little it costs there.
    most = np.where(machines[programme.kind] > 0, np.inf, 0.0)
    solved = solve_whole(
        np.concatenate([e * point, met * point, prices.machine]),
        integrality=np.concatenate([np.zeros(2 * pairs), np.ones(types)]),
        bounds=Bounds(0, np.concatenate([most, most, machines])),
        constraints=LinearConstraint(matrix.tocsr(), -np.inf, right),
        options={"mip_rel_gap": 0.0, "node_limit": 2000, "presolve": False},
    )
    if solved.x is None:
        return np.inf, None
    bound = solved.mip_dual_bound if solved.mip_dual_bound is not None else solved.fun
    return float(bound), np.round(solved.x[2 * pairs :]).astype(np.int64)


def _first_of_each(problem: Problem, number: IntVector) -> list[int]:
    of = problem.cluster.type_of
    return [int(m) for t, n in enumerate(number.tolist()) for m in np.flatnonzero(of == t)[:n]]


def take_away(
    problem: Problem, placement: Placement, scale: float, prices: ResourcePrices, budget: Budget
) -> Placement:
    """Empty one machine after the other, the dearest first, while the rate allows it."""
    if placement.has_shares or len(problem.cluster.machines) > _MOST_TAKEN_AWAY:
        return placement
    closed = [m for m in range(len(problem.cluster.machines)) if m not in placement.machines_used]
    table = held_table(problem, placement)
    stuck: set[bytes] = set()
    rounds = 0
    while not budget.spent(rounds):
        rounds += 1
        machine = _next_to_go(problem, table, prices, stuck)
        if machine is None:
            break
        lost = table[machine].copy()
        rest = table.copy()
        rest[machine] = 0
        classes = Classes.of(problem, (*closed, machine))
        search = Regroup(classes, rest, Allowance(10**9, lost), budget, lost[None])
        search.enough = scale
        best = search.run()
        if best.scale < scale * _ENOUGH:
            stuck.add(_kind_key(problem, machine, lost))
            continue
        table = search.table_of(best)
        closed.append(machine)
        stuck.clear()
    plan = placement_of(problem, table)
    return plan if capacity(problem, plan).scale >= scale * _ENOUGH else placement


def _next_to_go(
    problem: Problem, table: IntMatrix, prices: ResourcePrices, stuck: set[bytes]
) -> int | None:
    """The dearest machine in use, of those the one with least on it, whose like did not fail."""
    of = problem.cluster.type_of
    used = np.flatnonzero(table.any(axis=1)).tolist()
    order = sorted(used, key=lambda m: (-prices.machine[of[m]], int(table[m].sum()), m))
    return next((m for m in order if _kind_key(problem, m, table[m]) not in stuck), None)


def _kind_key(problem: Problem, machine: int, held: IntVector) -> bytes:
    return bytes([int(problem.cluster.type_of[machine]) % 256]) + held.tobytes()

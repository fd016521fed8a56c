"""``penstock`` under terms: the throughput search, then what they ask for, one after the other.

1. Machines to avoid are taken off; patterns with components that must be apart are not listed.
2. The throughput search plans on the rest. Its bound holds for every plan under the terms too:
   terms only take plans away.
3. Savings, in the order the user gave them, at the rate asked for or a little below the highest:
   :mod:`~penstock.schedulers.fewest`, :mod:`~penstock.schedulers.nearer`. One that comes later
   never spends what an earlier one saved.
4. Instances fixed on machines, and a limit on moves, by a few changes to a plan that exists
   (:mod:`~penstock.schedulers.regroup`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from penstock.evaluate.capacity import capacity
from penstock.evaluate.limits import violations
from penstock.evaluate.terms import changes_between, held_as_table, held_table
from penstock.model.arrays import IntMatrix, IntVector
from penstock.model.outcome import Outcome, Shortfall
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.model.terms import Least, Terms
from penstock.schedulers.base import Budget
from penstock.schedulers.fewest import amount, carry_with_least
from penstock.schedulers.nearer import bring_nearer, distance_per_tuple
from penstock.schedulers.penstock_ground import may_weigh
from penstock.schedulers.penstock_shares import best_shares
from penstock.schedulers.regroup import Allowance, Classes, Regroup, placement_of
from penstock.schedulers.restricted import Restricted, open_machines
from penstock.schedulers.settle import nearest_machines, pulled_apart, settled

#: Plans a problem for throughput.
Search = Callable[[Problem], Outcome]
#: Changes enough for any plan.
_ANY = 10**9
_ENOUGH = 1.0 - 1e-9
_UNITS = {Least.MACHINES: "machines", Least.PRICE: "per hour", Least.ENERGY: "watts"}


@dataclass
class _Terms:
    """One answer in the making, on the machines that may be used."""

    open: Restricted
    search: Search
    budget: Budget
    rng: np.random.Generator
    notes: list[str] = field(default_factory=list)

    @property
    def problem(self) -> Problem:
        return self.open.problem

    @property
    def terms(self) -> Terms:
        return self.open.whole.terms


def plan_by_terms(
    problem: Problem, search: Search, budget: Budget, rng: np.random.Generator
) -> Outcome:
    """Plan a problem whose terms bind; ``search`` plans one for throughput alone."""
    terms = problem.terms
    restricted = Restricted.to(problem, open_machines(problem), terms.bare)
    run = _Terms(restricted, search, budget, rng)
    free = _carry_most(run)
    if free.placement is None:
        return free
    scale = capacity(run.problem, free.placement).scale
    asked = problem.scale_asked
    if asked is not None and scale < asked * _ENOUGH:
        return replace(free, placement=None, shortfalls=(_too_little(problem, scale),))
    run.open = _with_places(run.open, terms)
    placement = _save(run, free.placement, scale)
    placement = _put_where_fixed(run, placement)
    placement = _within_moves(run, placement)
    made = run.open.back(placement)
    if violations(problem, made):
        run.notes.append("no plan was found that keeps all terms; what it breaks is listed")
    return replace(free, placement=made, notes=(*free.notes, *run.notes))


def _carry_most(run: _Terms) -> Outcome:
    """The throughput search; where it cannot keep components apart, they are pulled apart."""
    found = run.search(run.problem)
    if found.placement is not None or not run.terms.apart:
        return found
    together = run.search(replace(run.problem, terms=Terms(weights=run.terms.weights)))
    if together.placement is None:
        return together
    table = pulled_apart(run.problem, held_table(run.problem, together.placement))
    made = _changed(run, table, Allowance(_ANY, table.max(axis=0)))
    return found if violations(run.problem, made) else replace(together, placement=made)


def _with_places(open_: Restricted, terms: Terms) -> Restricted:
    """The problem with the terms that name machines, all of which it has."""
    named = replace(terms, avoid=(), carry_per_s=None, least=(), latency_ms=())
    return replace(open_, problem=replace(open_.problem, terms=named))


def _too_little(problem: Problem, scale: float) -> Shortfall:
    wanted = problem.terms.carry_per_s or 0.0
    return Shortfall("tuples/s", wanted, scale * float(problem.demand.sum()))


# -- savings ---------------------------------------------------------------------------------------


def _save(run: _Terms, placement: Placement, highest: float) -> Placement:
    """Use little of what the terms name, the first of them first."""
    terms, problem = run.terms, run.problem
    scale = run.open.whole.scale_asked or highest * (1.0 - terms.give_up)
    plain = replace(problem, terms=terms.bare)
    for position, what in enumerate(terms.least):
        found = _saved(run, plain, placement, what, scale)
        earlier = terms.least[:position]
        if all(
            _amount(plain, found, other, scale) <= _amount(plain, placement, other, scale) + 1e-9
            for other in earlier
        ):
            placement = found
    return placement


def _saved(
    run: _Terms, problem: Problem, placement: Placement, what: Least, scale: float
) -> Placement:
    if what is Least.TRAFFIC:
        return bring_nearer(problem, placement, scale, run.budget, run.rng)
    found = carry_with_least(problem, scale, what, placement, run.search, run.budget)
    if found is None:
        run.notes.append(f"{what.value} cannot be saved: the cluster does not say what it costs")
        return placement
    run.notes.append(
        f"{found.used:.6g} {_UNITS[what]} carry {scale * float(problem.demand.sum()):.6g} tuples/s;"
        f" no plan can with less than {found.at_least:.6g}"
    )
    return found.placement


def _amount(problem: Problem, placement: Placement, what: Least, scale: float) -> float:
    if what is Least.TRAFFIC:
        return distance_per_tuple(problem, placement)
    return amount(problem, placement, what, scale)


# -- places and moves ------------------------------------------------------------------------------


def _put_where_fixed(run: _Terms, placement: Placement) -> Placement:
    """The same plan with the fixed instances where they belong, and the rest around them."""
    if not run.terms.fixed:
        return placement
    table = settled(run.problem, held_table(run.problem, placement))
    return _changed(run, table, Allowance(_ANY, np.zeros(table.shape[1], dtype=np.int64)))


def _within_moves(run: _Terms, placement: Placement) -> Placement:
    """The plan, or as much of it as can be had for the moves allowed."""
    terms, problem = run.terms, run.problem
    if not terms.current:
        return placement
    now = held_as_table(problem, terms.current)
    wanted = nearest_machines(problem, held_table(problem, placement), now)
    relabelled = _reshared(problem, placement_of(problem, wanted), placement.has_shares)
    if terms.most_moves is None:
        return relabelled
    lost = _no_longer_there(run, now)
    allowance = Allowance(terms.most_moves, lost)
    came, went = np.maximum(wanted - now, 0).sum(axis=0), np.maximum(now - wanted, 0).sum(axis=0)
    if int(allowance.cost(came[None], went[None])[0]) <= terms.most_moves:
        return relabelled
    made = _changed(run, now, allowance, wanted)
    full, less = capacity(problem, relabelled).scale, capacity(problem, made).scale
    changed = changes_between(now, wanted)
    run.notes.append(
        f"at most {terms.most_moves} changes cost {100 * (1 - less / full):.2f} % of the rate;"
        f" the plan without that limit changes {changed} instances"
    )
    return made


def _no_longer_there(run: _Terms, now: IntMatrix) -> IntVector:
    """Instances in force on machines that are gone or avoided: they must go somewhere."""
    labels = {label: c for c, label in enumerate(run.problem.labels)}
    total = np.zeros(len(labels), dtype=np.int64)
    for held in run.terms.current:
        if held.component in labels:
            total[labels[held.component]] += held.instances
    here: IntVector = now.sum(axis=0)
    missing: IntVector = (here == 0).astype(np.int64)
    return np.asarray(np.maximum(total - here, missing), dtype=np.int64)


def _changed(
    run: _Terms, table: IntMatrix, allowance: Allowance, towards: IntMatrix | None = None
) -> Placement:
    patterns = None if towards is None else np.unique(towards, axis=0)
    search = Regroup(Classes.of(run.problem), table, allowance, run.budget, patterns)
    made = placement_of(run.problem, search.table_of(search.run()))
    return _reshared(run.problem, made, may_weigh(run.problem))


def _reshared(problem: Problem, placement: Placement, weighted: bool) -> Placement:
    return best_shares(problem, placement) if weighted else placement

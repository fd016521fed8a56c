"""``penstock`` under terms: the throughput search, then what they ask for, one after the other.

1. Machines to avoid are taken off; patterns with components that must be apart are not listed.
2. The throughput search plans on the rest. Its bound holds for every plan under the terms too:
   terms only take plans away.
3. Savings, in the order the user gave them, at the rate asked for or a little below the highest:
   :mod:`.fewest`, :mod:`.nearer`. One that comes later never spends what an earlier one saved.
4. Instances fixed on machines, and a limit on moves, by a few changes to a plan that exists
   (:mod:`~penstock.schedulers.regroup`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from penstock.evaluate.agreed import agreed_scale
from penstock.evaluate.assess import assess
from penstock.evaluate.capacity import capacity
from penstock.evaluate.latency import path_latency_ms
from penstock.evaluate.limits import violations
from penstock.evaluate.terms import changes_between, current_table, held_table
from penstock.model.arrays import IntMatrix
from penstock.model.outcome import RATE, Outcome, Shortfall
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.model.terms import Least, Terms
from penstock.schedulers.base import Budget
from penstock.schedulers.machine_groups import Allowance, Classes, placement_of
from penstock.schedulers.penstock.aggregate import allows_shares
from penstock.schedulers.penstock.shares import best_shares
from penstock.schedulers.penstock.terms.fewest import amount, carry_with_least, prices_of
from penstock.schedulers.penstock.terms.nearer import bring_nearer, distance_per_tuple
from penstock.schedulers.penstock.terms.settle import nearest_machines, pulled_apart, settled
from penstock.schedulers.regroup import Regroup
from penstock.schedulers.restricted import Restricted, open_machines

#: Plans a problem for throughput.
Search = Callable[[Problem], Outcome]
#: Changes enough for any plan.
_ANY = 10**9
_ENOUGH = 1.0 - 1e-9
#: Amounts that differ by less are the same.
_SAME = 1e-9
#: Rounds in which a plan is changed to keep terms.
_ROUNDS = 200
_UNITS = {Least.MACHINES: "machines", Least.PRICE: "per hour", Least.ENERGY: "watts"}


@dataclass
class _TermsSearch:
    """One answer in the making, on the machines that may be used."""

    #: The problem on those machines, under the terms that name machines.
    open: Restricted
    search: Search
    budget: Budget
    rng: np.random.Generator
    notes: list[str] = field(default_factory=list)
    #: What is saved on, and what no plan can stay below.
    at_least: dict[Least, float] = field(default_factory=dict)
    #: The scale that has to be carried; what is beyond is not wanted. inf: as much as can be.
    enough: float = np.inf

    @property
    def problem(self) -> Problem:
        return self.open.problem

    @property
    def bare(self) -> Problem:
        """The problem as the throughput search sees it."""
        return replace(self.open.problem, terms=self.terms.bare)

    @property
    def terms(self) -> Terms:
        return self.open.whole.terms


def plan_by_terms(
    problem: Problem, search: Search, budget: Budget, rng: np.random.Generator
) -> Outcome:
    """Plan a problem whose terms bind; ``search`` plans one for throughput alone."""
    terms = problem.terms
    named = replace(terms, avoid=(), carry_per_s=None, least=(), latency_ms=())
    run = _TermsSearch(Restricted.to(problem, open_machines(problem), named), search, budget, rng)
    free = _carry_most(run)
    if free.placement is None:
        return free
    scale = capacity(problem, run.open.back(free.placement)).scale
    asked = problem.scale_asked
    if asked is not None and scale < asked * _ENOUGH:
        best = run.open.back(free.placement)
        return replace(free, placement=best, missed=(_too_little(problem, scale),))
    if asked is not None:
        run.enough = asked
    elif terms.least and np.isfinite(scale):
        run.enough = scale * (1.0 - terms.give_up)
    placement = _save(run, free.placement)
    placement = _put_where_fixed(run, placement)
    placement = _within_moves(run, placement)
    made = run.open.back(placement)
    broken = _broken(problem, made)
    if broken and all(short.resource == RATE for short in broken):
        return replace(free, placement=made, missed=broken)
    if broken:
        return replace(free, placement=None, shortfalls=broken)
    return replace(free, placement=made, notes=(*free.notes, *run.notes, *_saved_notes(run, made)))


def _carry_most(run: _TermsSearch) -> Outcome:
    """The throughput search; where it cannot keep components apart, they are pulled apart."""
    found = run.search(run.bare)
    if found.placement is not None or not run.terms.apart:
        return found
    together = run.search(replace(run.bare, terms=Terms(weights=run.terms.weights)))
    if together.placement is None:
        return together
    table = pulled_apart(run.bare, held_table(run.bare, together.placement))
    made = _changed(run, run.bare, table, Allowance(_ANY, table.max(axis=0)))
    return found if violations(run.bare, made) else replace(together, placement=made)


def _broken(problem: Problem, made: Placement) -> tuple[Shortfall, ...]:
    """What the plan does not keep to, as what is missing for one that does."""
    found = [
        Shortfall(v.resource, v.needed, v.available, machine=v.place)
        for v in violations(problem, made)
    ]
    if not made.counts(len(problem.components)).all():
        found.append(Shortfall("instances", 1, 0))
    if found:
        return tuple(found)
    judged = assess(problem, made)
    if judged.sustainable_scale <= 0:
        over = judged.capacity.machine_fixed - problem.cluster.usable_cpu
        worst = int(over.argmax())
        needed = float(judged.capacity.machine_fixed[worst])
        usable = float(problem.cluster.usable_cpu[worst])
        name = problem.cluster.machines[worst].name
        return (Shortfall("cpu_points", needed, usable, machine=name),)
    agreed, asked = agreed_scale(judged), problem.scale_asked
    if agreed < (asked or 0.0) * _ENOUGH:
        return (_too_little(problem, agreed),)
    if problem.terms.latency_ms and agreed <= 0:
        limit = min(ms for _, ms in problem.terms.latency_ms)
        idle = path_latency_ms(judged, 0.0) or 0.0
        return (Shortfall("ms from spout to sink", idle, limit),)
    return ()


def _too_little(problem: Problem, scale: float) -> Shortfall:
    wanted = problem.terms.carry_per_s or 0.0
    return Shortfall(RATE, wanted, scale * float(problem.demand.sum()))


# -- savings ---------------------------------------------------------------------------------------


def _save(run: _TermsSearch, placement: Placement) -> Placement:
    """Use little of what the terms name, the first of them first."""
    if not np.isfinite(run.enough):
        return placement  # tuples cost nothing: there is no rate to hold
    kept: list[Least] = []
    for what in run.terms.least:
        if what is not Least.TRAFFIC and prices_of(run.bare, what) is None:
            words = f"{what.value} cannot be saved: the cluster does not say what it costs"
            run.notes.append(words)
            continue
        found = _saved(run, placement, what)
        if all(_amount(run, found, e) <= _amount(run, placement, e) + _SAME for e in kept):
            placement = found
        kept.append(what)
    return placement


def _saved(run: _TermsSearch, placement: Placement, what: Least) -> Placement:
    if what is Least.TRAFFIC:
        return bring_nearer(run.bare, placement, run.enough, run.budget, run.rng)
    found = carry_with_least(run.bare, run.enough, what, placement, run.search, run.budget)
    if found is None:
        return placement
    run.at_least[what] = found.at_least
    return found.placement


def _amount(run: _TermsSearch, placement: Placement, what: Least) -> float:
    if what is Least.TRAFFIC:
        return distance_per_tuple(run.bare, placement)
    return amount(run.bare, placement, what, run.enough)


def _saved_notes(run: _TermsSearch, made: Placement) -> list[str]:
    """What the plan uses of what was to be saved, beside what it takes at least."""
    problem = run.open.whole
    rate = run.enough * float(problem.demand.sum())
    return [
        f"{amount(problem, made, what, run.enough):.6g} {_UNITS[what]} carry {rate:.6g} tuples/s;"
        f" no plan can with less than {least:.6g}"
        for what, least in run.at_least.items()
    ]


# -- places and moves ------------------------------------------------------------------------------


def _put_where_fixed(run: _TermsSearch, placement: Placement) -> Placement:
    """The same plan with the fixed instances where they belong, and the rest around them."""
    if not run.terms.fixed:
        return placement
    table = settled(run.problem, held_table(run.problem, placement))
    nothing_free = np.zeros(table.shape[1], dtype=np.int64)
    return _changed(run, run.problem, table, Allowance(_ANY, nothing_free))


def _within_moves(run: _TermsSearch, placement: Placement) -> Placement:
    """The plan, or as much of it as can be had for the moves allowed."""
    terms, problem = run.terms, run.problem
    if not terms.current:
        return placement
    now, free = current_table(problem)
    wanted = nearest_machines(problem, held_table(problem, placement), now)
    relabelled = _reshared(problem, placement_of(problem, wanted), placement.has_shares)
    if terms.most_moves is None:
        return relabelled
    allowance = Allowance(terms.most_moves, free)
    came, went = np.maximum(wanted - now, 0).sum(axis=0), np.maximum(now - wanted, 0).sum(axis=0)
    if int(allowance.cost(came[None], went[None])[0]) <= terms.most_moves:
        return relabelled
    made = _changed(run, problem, now, allowance, wanted)
    full, less = capacity(problem, relabelled).scale, capacity(problem, made).scale
    if less < min(full, run.enough):
        run.notes.append(
            f"at most {terms.most_moves} changes cost {100 * (1 - less / full):.2f} % of the rate;"
            f" the plan without that limit changes {changes_between(now, wanted)} instances"
        )
    return made


def _changed(
    run: _TermsSearch,
    problem: Problem,
    table: IntMatrix,
    allowance: Allowance,
    towards: IntMatrix | None = None,
) -> Placement:
    """A table changed within an allowance until it keeps the terms and carries what it can."""
    patterns = None if towards is None else np.unique(towards, axis=0)
    # Machines were saved: none is taken back that has nothing to hold.
    saved = bool(run.at_least) and towards is None
    fixed = {problem.cluster.machine_index[held.machine] for held in problem.terms.fixed}
    idle = np.flatnonzero(~table.any(axis=1)).tolist() if saved else []
    classes = Classes.of(problem, tuple(m for m in idle if m not in fixed))
    # Of its own rounds: what was spent on the rate must not leave a plan that breaks terms.
    search = Regroup(classes, table, allowance, Budget(iterations=_ROUNDS), patterns)
    search.enough = run.enough
    made = placement_of(problem, search.table_of(search.run()))
    return _reshared(problem, made, allows_shares(problem))


def _reshared(problem: Problem, placement: Placement, weighted: bool) -> Placement:
    return best_shares(problem, placement) if weighted else placement

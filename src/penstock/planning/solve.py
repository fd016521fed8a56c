"""Plan a problem: a scheduler's placement, judged, with its bound and what happens after a loss."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from penstock.evaluate.assess import Assessment
from penstock.evaluate.bound import Bound, upper_bound
from penstock.evaluate.capacity import capacity
from penstock.evaluate.hot_keys import hottest_key_in_words
from penstock.evaluate.predict import OPTIMAL_WITHIN, RATE_ASKED_FOR, predict
from penstock.evaluate.terms import term_violations
from penstock.model.outcome import RATE, Outcome, Shortfall
from penstock.model.placement import Placement
from penstock.model.plan import Contingency, Plan, Scalar
from penstock.model.problem import Problem
from penstock.planning.admission import by_priority, has_priorities
from penstock.planning.contingencies.by_requests import contingencies_by_requests
from penstock.planning.counts import (
    COUNTS_FROM_NOTE,
    COUNTS_FROM_TOPOLOGY,
    counts_outcome,
    note_on_counts,
    with_stated_counts,
)
from penstock.planning.defaults import DEFAULT_COUNTS_FROM, DEFAULT_SCHEDULER
from penstock.planning.hot_key_counts import note_on_hot_key_counts
from penstock.planning.numbers import percent
from penstock.planning.result import PlanResult
from penstock.registry import parameters_of
from penstock.schedulers.base import Budget, Scheduler
from penstock.schedulers.counts import has_all_counts, missing_counts, with_counts_of
from penstock.schedulers.foreign import solve
from penstock.schedulers.registry import SCHEDULERS
from penstock.schedulers.shortage import refutation


def plan(
    problem: Problem,
    scheduler: str = DEFAULT_SCHEDULER,
    *,
    parameters: Mapping[str, Scalar] | None = None,
    seed: int = 0,
    counts_from: str = DEFAULT_COUNTS_FROM,
    budget: Callable[[], Budget] = Budget,
    bound: Bound | None = None,
    if_lost: int = 0,
    same_counts: bool = False,
    progress: Callable[[str], None] = lambda _text: None,
) -> PlanResult:
    """Plan a problem. A scheduler that only places gets missing counts from ``counts_from``.

    With ``counts_from="topology"`` those that decide counts themselves keep the topologies' too.
    Where topologies have demands and priorities and not all demands can be carried, those of the
    highest priority are carried first. ``if_lost`` adds where instances go when a machine is lost,
    if there are no more kinds of losses than that; with ``same_counts`` none starts or ends then,
    as a running Storm must have it, nor without rates, where they go by what they ask for.
    """
    chosen = SCHEDULERS.configured(scheduler, parameters or {})
    if counts_from == COUNTS_FROM_TOPOLOGY:
        problem = with_stated_counts(problem, seed, budget)
        counts_from = DEFAULT_COUNTS_FROM

    def once(part: Problem, known: Bound | None = None) -> PlanResult:
        return _planned(part, scheduler, chosen, seed, counts_from, budget, known)

    planned = once(problem, bound)
    if planned.assessment is not None and has_priorities(problem):
        reached = planned.assessment.sustainable_scale
        if reached < 1.0:
            progress("cutting demands by priority")
            cut = by_priority(problem, reached, lambda part: once(part).facts.scale or 0.0)
            planned = planned if cut is None else _with_cuts(once(cut))
    if if_lost and planned.plan is not None:
        progress("what if a machine is lost")
        awake = _without_asleep(planned.plan, planned.outcome.asleep)
        lost = _if_lost(awake, if_lost, budget, same_counts=same_counts)
        planned = replace(planned, plan=replace(planned.plan, if_lost=lost))
    return planned


def _without_asleep(plan: Plan, asleep: tuple[str, ...]) -> Plan:
    """The plan as contingencies see it: what sleeps takes nothing over."""
    if not asleep:
        return plan
    terms = plan.problem.terms
    avoid = tuple(dict.fromkeys([*terms.avoid, *asleep]))
    return replace(plan, problem=replace(plan.problem, terms=replace(terms, avoid=avoid)))


def _if_lost(
    plan: Plan, most_kinds: int, budget: Callable[[], Budget], *, same_counts: bool
) -> tuple[Contingency, ...]:
    """Where instances go when a machine is lost, by rates where they are known."""
    if not plan.problem.has_rates:
        return contingencies_by_requests(plan.problem, plan.placement, most_kinds)
    # scipy's solvers take longer to load than most commands to run.
    from penstock.planning.contingencies.same_counts import contingencies_same_counts
    from penstock.planning.contingencies.with_rates import contingencies

    if same_counts:
        return contingencies_same_counts(plan.problem, plan.placement, budget(), most_kinds)
    return contingencies(plan.problem, plan.placement, budget(), most_kinds)


def _with_cuts(planned: PlanResult) -> PlanResult:
    """The plan with a note of whose demand was cut, and to what."""
    if planned.plan is None:
        return planned
    parts = ", ".join(f"{name} {percent(w)}" for name, w in planned.problem.terms.weights)
    note = f"not all demands can be carried; by priority they are planned for: {parts}"
    notes = (*planned.plan.notes, note)
    return replace(planned, plan=replace(planned.plan, notes=notes))


def _planned(
    problem: Problem,
    scheduler: str,
    chosen: Scheduler,
    seed: int,
    counts_from: str,
    budget: Callable[[], Budget],
    bound: Bound | None,
) -> PlanResult:
    """One scheduler's answer, judged."""
    notes: tuple[str, ...] = ()
    if bound is None and problem.has_rates:
        bound = upper_bound(problem)
    impossible = refutation(problem, bound)
    if impossible is not None and (len(problem.topologies) == 1 or impossible.resource == RATE):
        refuted = Outcome(None, (impossible,), impossible=impossible)
        return PlanResult(scheduler, problem, None, refuted, None, bound, 0.0)
    if not chosen.looks.counts and missing_counts(problem):
        source = counts_outcome(problem, counts_from, seed, budget)
        if source.placement is None or not has_all_counts(problem, source.placement):
            notes = (f"no instance counts from {counts_from}",)
            source = replace(source, placement=None, notes=notes, impossible=impossible)
            return PlanResult(scheduler, problem, None, source, None, bound, 0.0)
        problem = with_counts_of(problem, source.placement)
        notes = (f"{COUNTS_FROM_NOTE} {counts_from}",)
    if bound is not None and bound.hottest_key is not None:
        notes = (*notes, hottest_key_in_words(problem, bound.hottest_key))
    started = time.perf_counter()
    outcome = solve(scheduler, chosen, problem, budget(), np.random.default_rng(seed))
    seconds = time.perf_counter() - started
    if impossible is not None and not outcome.feasible:  # all together; some of them may fit
        outcome = replace(outcome, impossible=impossible)
    placement = outcome.placement
    if placement is None:
        return PlanResult(scheduler, problem, None, outcome, None, bound, seconds)
    # The scheduler's own bound counts where it is tighter; more than was asked for nobody wants.
    bounds = [(bound.scale, bound.kind)] if bound else []
    asked = problem.scale_asked
    if asked is not None and capacity(problem, placement).scale >= asked:
        bounds.append((asked, RATE_ASKED_FOR))
    if outcome.bound_scale is not None:
        bounds.append((outcome.bound_scale, outcome.bound_kind))
    predicted, judged = predict(
        problem, placement, *min(bounds, key=lambda b: b[0], default=(None, ""))
    )
    if not outcome.missed:
        outcome = replace(outcome, missed=_left_undone(problem, placement, judged))
    if judged is not None and bound is not None and bound.hottest_key is not None:
        notes = (*notes, *note_on_hot_key_counts(judged, bound.hottest_key))
    plan = Plan(
        problem=problem,
        placement=placement,
        scheduler=scheduler,
        parameters={p.name: getattr(chosen, p.name) for p in parameters_of(type(chosen))},
        seed=seed,
        predicted=predicted,
        notes=(*notes, *outcome.notes, *note_on_counts(problem, placement)),
    )
    return PlanResult(scheduler, problem, plan, outcome, judged, bound, seconds)


def _left_undone(
    problem: Problem, placement: Placement, judged: Assessment | None
) -> tuple[Shortfall, ...]:
    """What the terms ask for and a scheduler that does not plan by them does not do."""
    missed = [
        Shortfall(broken.resource, broken.needed, broken.available, machine=broken.place)
        for broken in term_violations(problem, placement)
    ]
    asked, demand = problem.scale_asked, float(problem.demand.sum())
    if judged is not None and asked is not None and judged.scale < asked * (1 - OPTIMAL_WITHIN):
        missed.append(Shortfall(RATE, asked * demand, judged.scale * demand))
    return tuple(missed)

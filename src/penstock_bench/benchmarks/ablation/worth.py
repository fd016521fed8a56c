"""What a plan is worth, on one scale for all problems, and what it took to find it."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass

import numpy as np

from penstock.evaluate.bound import upper_bound
from penstock.evaluate.capacity import capacity
from penstock.model.cluster import Hop
from penstock.model.outcome import Outcome
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.model.terms import Least
from penstock.schedulers.base import Budget
from penstock.schedulers.counts import required_counts
from penstock.schedulers.penstock.requests.search import mean_distance
from penstock.schedulers.penstock.requests.topology_requests import (
    fewest_machines,
    requests_by_topology,
)
from penstock.schedulers.penstock.scheduler import PenstockScheduler
from penstock.schedulers.penstock.terms.fewest import amount
from penstock.schedulers.penstock.terms.nearer import distance_per_tuple
from penstock_bench.benchmarks.ablation.cases import Case
from penstock_bench.benchmarks.ablation.switches import Work, counted

#: No plan is worth less than none.
_NO_PLAN = -1.0


@dataclass(frozen=True)
class Run:
    """A plan's worth, the bound that came with it over the general one, and the work."""

    worth: float
    bound: float
    work: float
    seconds: float


def run(case: Case, *changes: AbstractContextManager[object]) -> Run:
    """Plan a case, with parts switched off or constants changed."""
    problem, scheduler = case.problem, PenstockScheduler()
    with ExitStack() as stack:
        for change in changes:
            stack.enter_context(change)
        work: Work = stack.enter_context(counted())
        began = time.process_time()
        outcome = scheduler.solve(problem, Budget(), np.random.default_rng(case.seed))
        seconds = time.process_time() - began
        done = work.total
    return Run(worth(problem, outcome), _bound(problem, outcome), done, seconds)


def worth(problem: Problem, outcome: Outcome) -> float:
    """Of a rate, its part of the bound; of what is to be little, minus its part of all there is."""
    placement = outcome.placement
    if placement is None:
        return _NO_PLAN
    if not problem.has_costs:
        return -_spread_out(problem, placement) - len(outcome.shortfalls)
    if problem.terms.least:
        return -_used(problem, placement, problem.terms.least[0])
    bound = upper_bound(problem).scale
    scale = capacity(problem, placement).scale
    return scale / bound if 0 < bound < np.inf else 0.0


def _bound(problem: Problem, outcome: Outcome) -> float:
    general = upper_bound(problem).scale if problem.has_costs else np.inf
    if outcome.bound_scale is None or not 0 < general < np.inf:
        return 1.0
    return outcome.bound_scale / general


def _spread_out(problem: Problem, placement: Placement) -> float:
    """Machines over the fewest and distance over that of a rack, as the scheduler weighs them."""
    fewest = fewest_machines(
        problem, requests_by_topology(problem, required_counts(problem, "penstock"))
    )
    nearness = PenstockScheduler().nearness
    machines = len(placement.machines_used) / fewest.machines
    distance = mean_distance(problem, placement) / Hop.SAME_RACK
    return (1.0 - nearness) * machines + nearness * distance


def _used(problem: Problem, placement: Placement, what: Least) -> float:
    """What a plan uses of what it is to use little of, over what all machines would."""
    if what is Least.TRAFFIC:
        return distance_per_tuple(problem, placement) / Hop.OTHER_REGION
    cluster = problem.cluster
    scale = capacity(problem, placement).scale * (1.0 - problem.terms.give_up)
    of_all = {
        Least.MACHINES: float(len(cluster.machines)),
        Least.PRICE: float(cluster.per_type("price_per_hour")[cluster.type_of].sum()),
        Least.ENERGY: float(cluster.per_type("full_watts")[cluster.type_of].sum()),
    }[what]
    return amount(problem, placement, what, scale) / of_all

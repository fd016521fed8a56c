"""The plans of all other schedulers that are quick: what we return is never worse than these.

Schedulers that only place get the instance counts of ``hetero``, as everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.errors import TooMuchWorkError
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.schedulers.a3 import A3Scheduler
from penstock.schedulers.ban import BanScheduler
from penstock.schedulers.base import Budget, Scheduler
from penstock.schedulers.counts import has_all_counts, with_counts_of
from penstock.schedulers.even import DefaultScheduler
from penstock.schedulers.gr import GrScheduler
from penstock.schedulers.hetero import HeteroScheduler
from penstock.schedulers.isolation import IsolationScheduler
from penstock.schedulers.lcstream.scheduler import LcStreamScheduler
from penstock.schedulers.proportional import ProportionalScheduler
from penstock.schedulers.rstorm import RStormScheduler
from penstock.schedulers.top import TopScheduler
from penstock.schedulers.tsstream import TsStreamScheduler

_DECIDE_COUNTS: tuple[Scheduler, ...] = (ProportionalScheduler(), LcStreamScheduler())
_ONLY_PLACE: tuple[Scheduler, ...] = (
    DefaultScheduler(),
    IsolationScheduler(),
    RStormScheduler(),
    TopScheduler(),
    A3Scheduler(),
    BanScheduler(),
    GrScheduler(),
    TsStreamScheduler(),
)


def baseline_plans(
    problem: Problem, budget: Budget, rng: np.random.Generator
) -> Iterator[Placement]:
    """One plan after the other, ``hetero``'s first; none once the budget is spent."""
    counted = problem
    first = HeteroScheduler().solve(problem, budget, rng).placement
    if first is not None:
        yield first
        if has_all_counts(problem, first):
            counted = with_counts_of(problem, first)
    places = _ONLY_PLACE if all(count is not None for count in counted.counts_asked) else ()
    for scheduler, asked in [
        *((one, problem) for one in _DECIDE_COUNTS),
        *((one, counted) for one in places),
    ]:
        if budget.spent(0):
            return
        try:
            placement = scheduler.solve(asked, budget, rng).placement
        except TooMuchWorkError:
            continue  # too large for that scheduler
        if placement is not None:
            yield placement

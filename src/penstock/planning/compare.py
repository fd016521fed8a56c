"""Plan one problem with several schedulers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.errors import ForeignCodeError, TooMuchWorkError
from penstock.evaluate.bound import upper_bound
from penstock.model.outcome import Outcome
from penstock.model.problem import Problem
from penstock.planning.counts import COUNTS_FROM_TOPOLOGY, counts_outcome, with_stated_counts
from penstock.planning.defaults import DEFAULT_COUNTS_FROM
from penstock.planning.result import ComparisonResult, PlanResult
from penstock.planning.solve import plan
from penstock.schedulers import SCHEDULERS
from penstock.schedulers.base import Budget
from penstock.schedulers.counts import has_all_counts, missing_counts, with_counts_of


def compare(
    problem: Problem,
    names: Sequence[str] | None = None,
    *,
    seed: int = 0,
    counts_from: str = DEFAULT_COUNTS_FROM,
    given_counts: bool = False,
    budget: Callable[[], Budget] = Budget,
    progress: Callable[[str], None] = lambda _name: None,
) -> ComparisonResult:
    """Plan a problem with several schedulers, all of them unless named.

    ``given_counts`` runs every scheduler on the same instance counts, as the papers do.
    """
    chosen = list(names or SCHEDULERS.usable())
    for name in chosen:
        SCHEDULERS.get(name)
    bound = upper_bound(problem) if problem.has_rates else None
    if counts_from == COUNTS_FROM_TOPOLOGY:
        problem = with_stated_counts(problem, seed, budget)
        counts_from = DEFAULT_COUNTS_FROM
    if given_counts and missing_counts(problem):
        source = counts_outcome(problem, counts_from, seed, budget)
        if source.placement is not None and has_all_counts(problem, source.placement):
            problem = with_counts_of(problem, source.placement)
    if given_counts and not missing_counts(problem):
        # Laid down for those that would decide counts themselves, too.
        problem = problem.with_counts([count or 0 for count in problem.counts_asked])
    rows = []
    for name in chosen:
        progress(name)
        try:
            row = plan(
                problem, name, seed=seed, counts_from=counts_from, budget=budget, bound=bound
            )
        except (ForeignCodeError, TooMuchWorkError) as error:
            # The others still have their answers.
            failed = Outcome(None, notes=(str(error).removeprefix(f"{name}: "),))
            row = PlanResult(name, problem, None, failed, None, bound, 0.0)
        rows.append(row)
    return ComparisonResult(problem, bound, tuple(rows))

"""Plan a problem, or compare what several schedulers make of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from penstock.app.answers import Comparison, PlanAnswer
from penstock.evaluate.bound import Bound
from penstock.model.plan import Scalar
from penstock.model.problem import Problem
from penstock.planning import compare as comparing
from penstock.planning import solve as solving
from penstock.planning.defaults import DEFAULT_COUNTS_FROM, DEFAULT_SCHEDULER
from penstock.schedulers.base import MOST_KINDS, Budget

#: What happens when a machine is lost is worked out unasked up to this many machines.
_FEW_MACHINES = 500
_ALL_KINDS = 10**9


def kinds_of_losses(problem: Problem, asked: bool | None = None) -> int:
    """For how many kinds of losses plans are worked out: all if asked for, a few if not said."""
    if asked is not None:
        return _ALL_KINDS if asked else 0
    machines = len(problem.cluster.machines)
    if machines > _FEW_MACHINES:
        return 0
    # By requests all of them are quick, and there are no more kinds than machines.
    return MOST_KINDS if problem.has_rates else machines


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
) -> PlanAnswer:
    """Plan a problem. A scheduler that only places gets missing counts from ``counts_from``.

    With ``counts_from="topology"`` those that decide counts themselves keep the topologies' too.
    Where topologies have demands and priorities and not all demands can be carried, those of the
    highest priority are carried first. ``if_lost`` adds where instances go when a machine is lost,
    if there are no more kinds of losses than that; with ``same_counts`` none starts or ends then,
    as a running Storm must have it, nor without rates, where they go by what they ask for.
    """
    result = solving.plan(
        problem,
        scheduler,
        parameters=parameters,
        seed=seed,
        counts_from=counts_from,
        budget=budget,
        bound=bound,
        if_lost=if_lost,
        same_counts=same_counts,
        progress=progress,
    )
    return PlanAnswer.of(result)


def compare(
    problem: Problem,
    names: Sequence[str] | None = None,
    *,
    seed: int = 0,
    counts_from: str = DEFAULT_COUNTS_FROM,
    given_counts: bool = False,
    budget: Callable[[], Budget] = Budget,
    progress: Callable[[str], None] = lambda _name: None,
) -> Comparison:
    """Plan a problem with several schedulers, all of them unless named.

    ``given_counts`` runs every scheduler on the same instance counts, as the papers do.
    """
    result = comparing.compare(
        problem,
        names,
        seed=seed,
        counts_from=counts_from,
        given_counts=given_counts,
        budget=budget,
        progress=progress,
    )
    return Comparison(result.problem, result.bound, tuple(map(PlanAnswer.of, result.rows)))

"""Instance counts for schedulers that only place, and for those that are to keep stated ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from penstock.errors import InputError
from penstock.model.outcome import Outcome
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.planning.defaults import DEFAULT_COUNTS_FROM
from penstock.schedulers.base import Budget
from penstock.schedulers.counts import (
    changed_counts,
    has_all_counts,
    missing_counts,
    with_counts_of,
)
from penstock.schedulers.foreign import solve
from penstock.schedulers.registry import SCHEDULERS

#: In place of a scheduler's name: every scheduler keeps the counts that topologies state.
COUNTS_FROM_TOPOLOGY = "topology"
#: How a plan says that its scheduler only placed, and whose counts it placed.
COUNTS_FROM_NOTE = "instance counts from"


def counts_outcome(problem: Problem, name: str, seed: int, budget: Callable[[], Budget]) -> Outcome:
    """The answer of the scheduler that is to decide the instance counts."""
    source = SCHEDULERS.get(name)
    if not source.looks.counts:
        raise InputError(
            f'scheduler "{name}" does not choose instance counts; --counts-from needs one that does'
        )
    if not problem.has_rates:
        problem.order  # noqa: B018 - a cycle is the better message
        labels = ", ".join(problem.labels[c] for c in missing_counts(problem))
        raise InputError(f"no instance counts for {labels}, and no profile to work them out")
    return solve(name, source(), problem, budget(), np.random.default_rng(seed))


def with_stated_counts(problem: Problem, seed: int, budget: Callable[[], Budget]) -> Problem:
    """The problem with the topologies' counts laid down; where they state none, hetero decides."""
    if all(count is None for count in problem.counts_asked):
        raise InputError(
            f"--counts-from {COUNTS_FROM_TOPOLOGY}: no component states instances (for Spark the "
            "planner decides them)"
        )
    if not missing_counts(problem):
        return problem.with_counts([count or 0 for count in problem.counts_asked])
    source = counts_outcome(problem, DEFAULT_COUNTS_FROM, seed, budget)
    if source.placement is None or not has_all_counts(problem, source.placement):
        raise InputError(f"no instance counts from {DEFAULT_COUNTS_FROM} for those not stated")
    return with_counts_of(problem, source.placement)


def note_on_counts(problem: Problem, placement: Placement) -> tuple[str, ...]:
    """Says that a plan does not keep the counts that the topologies state."""
    changed = changed_counts(problem, placement)
    if not changed:
        return ()
    shown = ", ".join(changed[:4]) + (f" and {len(changed) - 4} more" if len(changed) > 4 else "")
    note = f"instances in the topology are a starting point here ({shown})"
    return (f"{note}; --counts-from {COUNTS_FROM_TOPOLOGY} keeps them",)

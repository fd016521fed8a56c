"""Calling a scheduler so that what goes wrong in another package's is told as theirs."""

from __future__ import annotations

import numpy as np

from penstock.model.outcome import Outcome
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.schedulers.base import Budget, Scheduler
from penstock.schedulers.registry import SCHEDULERS


def solve(
    name: str, scheduler: Scheduler, problem: Problem, budget: Budget, rng: np.random.Generator
) -> Outcome:
    """The scheduler's answer, of a shape that can be judged."""
    with SCHEDULERS.naming_its_package(name):
        outcome = scheduler.solve(problem, budget, rng)
        _check_shape(problem, outcome)
    return outcome


def _check_shape(problem: Problem, outcome: object) -> None:
    if not isinstance(outcome, Outcome):
        raise TypeError(f"solve returned {type(outcome).__name__}, not an Outcome")
    placement = outcome.placement
    if placement is None:
        return
    if not isinstance(placement, Placement):
        raise TypeError(f"the placement is {type(placement).__name__}, not a Placement")
    columns = (
        ("component", placement.component, len(problem.components)),
        ("machine", placement.machine, len(problem.cluster.machines)),
        ("slot", placement.slot, None),
    )
    for what, indices, most in columns:
        if not len(indices):
            raise ValueError("the placement has no instance; return Outcome(None, shortfalls)")
        low, high = int(indices.min()), int(indices.max())
        if low < 0 or (most is not None and high >= most):
            raise ValueError(f"{what} {low if low < 0 else high} of the placement does not exist")

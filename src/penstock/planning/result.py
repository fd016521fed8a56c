"""What planning answers: one scheduler's result, or several beside each other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penstock.evaluate.assess import Assessment
from penstock.evaluate.bound import Bound
from penstock.model.outcome import Outcome
from penstock.model.plan import Plan
from penstock.model.problem import Problem
from penstock.planning.facts import Facts, facts


@dataclass(frozen=True)
class PlanResult:
    """A scheduler's answer to a problem. ``plan`` is ``None`` where there is none."""

    scheduler: str
    problem: Problem
    plan: Plan | None
    outcome: Outcome
    assessment: Assessment | None
    bound: Bound | None
    seconds: float

    @cached_property
    def facts(self) -> Facts:
        return facts(
            self.scheduler,
            self.plan,
            self.assessment,
            self.outcome,
            self.seconds,
            finite_scale(self.bound),
        )


@dataclass(frozen=True)
class ComparisonResult:
    """Several schedulers on one problem."""

    problem: Problem
    bound: Bound | None
    rows: tuple[PlanResult, ...]


def finite_scale(bound: Bound | None) -> float | None:
    """Work that costs nothing has no bound, and JSON no infinity."""
    return bound.scale if bound and np.isfinite(bound.scale) else None

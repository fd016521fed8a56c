"""Answers to problems: one scheduler's, or several beside each other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penstock.evaluate.assess import Assessment
from penstock.evaluate.bound import Bound
from penstock.files.plan_file import plan_to_dict
from penstock.model.outcome import Outcome
from penstock.model.plan import Plan
from penstock.model.problem import Problem
from penstock.report.facts import Facts, facts, ranked
from penstock.report.html import comparison_html, plan_html


@dataclass(frozen=True)
class Planned:
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
        bound = self.bound.scale if self.bound and np.isfinite(self.bound.scale) else None
        return facts(self.scheduler, self.plan, self.assessment, self.outcome, self.seconds, bound)

    def to_dict(self) -> dict[str, object]:
        """The plan as its file says it; where there is none, the facts with the shortfalls."""
        if self.plan is not None:
            return plan_to_dict(self.plan)
        return {"format": "penstock/no-plan", "version": 1, **self.facts.to_dict()}

    def _repr_html_(self) -> str:
        return plan_html(self.plan, self.facts)


@dataclass(frozen=True)
class Comparison:
    """Several schedulers on one problem."""

    problem: Problem
    bound: Bound | None
    rows: tuple[Planned, ...]

    def to_dict(self) -> dict[str, object]:
        return {
            "format": "penstock/comparison",
            "version": 1,
            "topologies": [topology.name for topology in self.problem.topologies],
            "cluster": self.problem.cluster.name,
            "bound_scale": self._bound_scale,
            "ranking": [row.scheduler for row in ranked(row.facts for row in self.rows)],
            "schedulers": [row.facts.to_dict() for row in self.rows],
        }

    @property
    def _bound_scale(self) -> float | None:
        """Work that costs nothing has no bound, and JSON no infinity."""
        return self.bound.scale if self.bound and np.isfinite(self.bound.scale) else None

    def _repr_html_(self) -> str:
        return comparison_html([row.facts for row in self.rows])

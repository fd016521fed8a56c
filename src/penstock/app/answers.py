"""Results of planning as people take them: JSON, and tables and pictures in a notebook."""

from __future__ import annotations

from dataclasses import dataclass, fields

from penstock.files.answer_formats import answer_head
from penstock.files.plan_file import plan_to_dict
from penstock.planning.facts import ranked
from penstock.planning.result import ComparisonResult, PlanResult, finite_scale
from penstock.report.page.html import to_fragment
from penstock.report.pages.placement import notebook_comparison, notebook_page


@dataclass(frozen=True)
class PlanAnswer(PlanResult):
    """A scheduler's answer to a problem. ``plan`` is ``None`` where there is none."""

    @classmethod
    def of(cls, result: PlanResult) -> PlanAnswer:
        return cls(**{field.name: getattr(result, field.name) for field in fields(result)})

    def to_dict(self) -> dict[str, object]:
        """The plan as its file says it; where there is none, the facts with the shortfalls."""
        if self.plan is not None:
            return plan_to_dict(self.plan)
        return {**answer_head("no-plan"), **self.facts.to_dict()}

    def _repr_html_(self) -> str:
        return to_fragment(notebook_page(self.plan, self.facts))


@dataclass(frozen=True)
class Comparison(ComparisonResult):
    """Several schedulers on one problem."""

    def to_dict(self) -> dict[str, object]:
        return {
            **answer_head("comparison"),
            "topologies": [topology.name for topology in self.problem.topologies],
            "cluster": self.problem.cluster.name,
            "bound_scale": finite_scale(self.bound),
            "ranking": [row.scheduler for row in ranked(row.facts for row in self.rows)],
            "schedulers": [row.facts.to_dict() for row in self.rows],
        }

    def _repr_html_(self) -> str:
        return to_fragment(notebook_comparison([row.facts for row in self.rows]))

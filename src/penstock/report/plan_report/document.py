"""The sections of a report in the order of reading: the answer first, where it comes from last."""

from __future__ import annotations

from penstock.report.page import Column, Document, Section, Table
from penstock.report.plan_report.changes import changes
from penstock.report.plan_report.facts import PlanReport
from penstock.report.plan_report.limits import limits
from penstock.report.plan_report.machines import machines
from penstock.report.plan_report.main_result import answer
from penstock.report.plan_report.over_time import over_time
from penstock.report.plan_report.schedulers import schedulers
from penstock.report.plan_report.topology import topologies


def plan_report_page(report: PlanReport) -> Document:
    """The whole report; sections about which nothing is known are left out."""
    plan = report.plan
    sections = (
        answer(report),
        topologies(report),
        machines(report),
        limits(report),
        changes(report),
        schedulers(report),
        over_time(report),
        _provenance(report),
    )
    return Document(
        title=f"{plan.problem.title} on {plan.problem.cluster.name}",
        subtitle=f"A plan by {plan.scheduler}, written by Penstock.",
        sections=tuple(section for section in sections if section is not None),
    )


def _provenance(report: PlanReport) -> Section | None:
    if not report.provenance:
        return None
    rows = tuple(report.provenance.items())
    return Section("How this was made", (Table("", (Column("what"), Column("value")), rows),))

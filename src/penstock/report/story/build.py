"""The sections of a report in the order of reading: the answer first, how it was made last."""

from __future__ import annotations

from penstock.report.page import Column, Document, Section, Table
from penstock.report.story.answer import answer
from penstock.report.story.changes import changes
from penstock.report.story.findings import Findings
from penstock.report.story.limits import limits
from penstock.report.story.machines import machines
from penstock.report.story.over_time import over_time
from penstock.report.story.schedulers import schedulers
from penstock.report.story.topology import topologies


def build(found: Findings) -> Document:
    """The whole report; sections about which nothing is known are left out."""
    plan = found.plan
    sections = (
        answer(found),
        topologies(found),
        machines(found),
        limits(found),
        changes(found),
        schedulers(found),
        over_time(found),
        _made(found),
    )
    return Document(
        title=f"{plan.problem.title} on {plan.problem.cluster.name}",
        subtitle=f"A plan by {plan.scheduler}, written by Penstock.",
        sections=tuple(section for section in sections if section is not None),
    )


def _made(found: Findings) -> Section | None:
    if not found.made:
        return None
    rows = tuple(found.made.items())
    return Section("How this was made", (Table("", (Column("what"), Column("value")), rows),))

"""The bound that no plan can exceed, and what would raise it."""

from __future__ import annotations

import numpy as np

from penstock.evaluate.bound import Bound
from penstock.model.problem import Problem
from penstock.planning.numbers import percent, rate
from penstock.report.page import Block, Column, Document, Section, paragraph, table_of

_MOST_COMPONENTS = 6


def bound_page(problem: Problem, bound: Bound) -> Document:
    """The bound, what its capacity goes to, and the worth of one more machine of each type."""
    return Document("", (Section("", bound_blocks(problem, bound)),))


def bound_blocks(problem: Problem, bound: Bound) -> tuple[Block, ...]:
    unit = float(problem.demand.sum())
    order = np.argsort(-bound.component_share, kind="stable")[:_MOST_COMPONENTS]
    needs = ", ".join(f"{problem.labels[c]} {percent(bound.component_share[c], 0)}" for c in order)
    cluster = problem.cluster
    return (
        paragraph(f"upper bound: no plan can exceed {rate(bound.scale * unit)} tuples/s"),
        paragraph(f"share of the limiting capacity: {needs}"),
        table_of(
            range(len(cluster.types)),
            (Column("machine type"), lambda t: cluster.types[t].name),
            (Column("machines"), lambda t: int(cluster.machines_per_type[t])),
            (
                Column("one more adds", "tuples/s"),
                lambda t: float(bound.added_by_one_machine[t]) * unit,
            ),
        ),
    )

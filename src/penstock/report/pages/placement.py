"""Pictures of who runs where, and what a notebook shows of a plan or of several."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model.plan import Plan
from penstock.planning.facts import Facts
from penstock.planning.machine_use import MachineUse, machine_size, machine_uses
from penstock.planning.numbers import percent, rate
from penstock.report.charts import has_charts
from penstock.report.charts.canvas import standalone
from penstock.report.charts.placement import ComponentCount, placement_svg
from penstock.report.page import Column, Document, Figure, Items, Section, Table, paragraph
from penstock.report.page.html import WIDE
from penstock.report.pages.comparison import comparison_table
from penstock.report.pages.plan import plan_page


def placement_figure(plan: Plan) -> Figure:
    """A box for each machine in use; the table says the same in numbers."""
    problem = plan.problem
    uses = machine_uses(plan)
    counts = plan.placement.counts(len(problem.labels)).tolist()
    components = [ComponentCount(*pair) for pair in zip(problem.labels, counts, strict=True)]
    sizes = {kind.name: machine_size(kind) for kind in problem.cluster.types}
    return Figure(
        f"CPU of each machine in use, by component. {_headline(plan)}".rstrip(),
        "; ".join(f"{one.label} ×{one.instances:,}" for one in components),
        lambda width: placement_svg(uses, components, sizes, width),
        _placed(uses, problem.labels),
    )


def _headline(plan: Plan) -> str:
    predicted = plan.predicted
    if not predicted.rate_per_s:
        return ""
    rates = ", ".join(f"{name} {rate(value)}" for name, value in predicted.rate_per_s)
    gap = "" if predicted.gap is None else f", {percent(predicted.gap)} below the bound"
    return f"The plan carries {rates} tuples/s{gap}; limited by {predicted.limited_by}."


def _placed(uses: Sequence[MachineUse], labels: tuple[str, ...]) -> Table:
    columns = (
        Column("machine"),
        Column("type"),
        Column("rack"),
        Column("component"),
        Column("instances"),
        Column("CPU", "points"),
    )
    rows = tuple(
        (use.name, use.type, use.rack, labels[s.component], s.instances, s.cpu_points)
        for use in uses
        for s in use.slices
    )
    return Table("Who runs where", columns, rows, folded=True)


def placement_file(plan: Plan) -> str:
    """The picture as an SVG file of its own."""
    title = f"{plan.problem.title} on {plan.problem.cluster.name}, planned by {plan.scheduler}"
    return standalone(placement_figure(plan).draw(WIDE), title)


def notebook_page(plan: Plan | None, facts: Facts) -> Document:
    """A plan with its picture, where charts can be drawn, or why there is none."""
    if plan is None:
        reasons = Items(tuple(paragraph(reason) for reason in facts.shortfalls))
        return Document(f"{facts.scheduler} found no plan", (Section("", (reasons,)),))
    page = plan_page(plan)
    figure = (Section("", (placement_figure(plan),)),) if has_charts() else ()
    return Document(page.title, (*page.sections, *figure))


def notebook_comparison(rows: Sequence[Facts]) -> Document:
    return Document("", (Section("", (comparison_table(rows),)),))

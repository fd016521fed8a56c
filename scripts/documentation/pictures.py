"""The pictures of plans and comparisons."""

from __future__ import annotations

from documentation.output import DOCS, write
from penstock import app
from penstock.report.charts.canvas import standalone
from penstock.report.page.html import WIDE
from penstock.report.pages.placement import placement_file
from penstock.report.plan_report import Rival
from penstock.report.plan_report.schedulers import comparison_figure


def write_pictures() -> None:
    planned = app.plan(app.problem("diamond", "nasiri-small"))
    assert planned.plan is not None
    write(DOCS / "pictures" / "diamond.svg", placement_file(planned.plan))
    write(DOCS / "pictures" / "schedulers.svg", schedulers_picture())


def schedulers_picture() -> str:
    """Diamond on 180 machines of three kinds: what each scheduler's plan carries, and the bound."""
    names = ("rstorm", "tsstream", "default", "hetero", "lcstream", "penstock")
    found = app.compare(app.problem("diamond", "nasiri-large"), names)
    assert found.bound is not None
    rivals = [Rival(row.scheduler, (row.facts,)) for row in found.rows]
    unit = float(found.problem.demand.sum())
    picture = comparison_figure(rivals, found.bound.scale * unit).draw(WIDE)
    return standalone(picture, "Diamond on 180 machines of three kinds: what each plan carries")

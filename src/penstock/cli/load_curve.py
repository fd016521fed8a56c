"""``penstock simulate --load-curve``: latency at several parts of a plan's sustainable rate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from penstock import app
from penstock.cli import options
from penstock.cli.output import say, show, write_file, write_json
from penstock.cli.simulation_progress import SimulationProgress
from penstock.errors import EXIT_DONE, EXIT_INTERRUPTED, UsageError
from penstock.files.writer import to_json
from penstock.report.charts.canvas import standalone
from penstock.report.page.html import WIDE
from penstock.report.pages.load_curve import load_curve_dict, load_curve_page
from penstock.report.plan_report.load_curve import load_curve_figure
from penstock.simulate.load_curve import DEFAULT_LOADS, LoadCurve

if TYPE_CHECKING:
    from penstock.model.plan import Plan
    from penstock.simulate.scenario import Scenario

#: Nobody wants to know about fifty times the sustainable rate: a sign forgotten.
_HIGHEST = 3.0


def parse_loads(text: str | None) -> tuple[float, ...]:
    """``0.5,0.9`` or ``50%,90%``; the usual ones where nothing is given."""
    if text is None:
        return DEFAULT_LOADS
    return tuple(_load(part.strip()) for part in text.split(",") if part.strip())


def _load(text: str) -> float:
    number = text.removesuffix("%")
    try:
        load = float(number) / (100 if text.endswith("%") else 1)
    except ValueError:
        load = float("nan")
    if not 0 < load <= _HIGHEST:
        raise UsageError(f"--loads {text}: write parts of the sustainable rate, as 0.9 or 90%")
    return load


def simulate_load_curve(
    plan: Plan,
    scenario: Scenario,
    loads: tuple[float, ...],
    *,
    seconds: float | None,
    most_tuples: float,
    seed: int,
    svg: Path | None,
    out: Path | None,
    as_json: bool,
) -> int:
    """Simulate, print and write the curve; Ctrl-C keeps the loads that are done."""
    watch = SimulationProgress("Ctrl-C ends with the loads that are done")
    with options.stoppable_budget(stopping="ending with the loads that are done") as budget:
        curve = app.load_curve(
            plan,
            loads,
            scenario=scenario,
            seconds=seconds,
            most_tuples=most_tuples,
            seed=seed,
            progress=lambda _load, part: watch.see(part),
            stop=lambda: budget.stopped,
        )
    if not curve.points:
        say("stopped before a load was done")
        return EXIT_INTERRUPTED
    if as_json:
        write_json(load_curve_dict(curve))
    else:
        show(load_curve_page(curve))
    for path, content in ((out, _text), (svg, _picture)):
        if path:
            write_file(path, content(curve), is_printed=True)
            say(f"wrote {path}")
    return EXIT_INTERRUPTED if curve.stopped else EXIT_DONE


def _text(curve: LoadCurve) -> str:
    return to_json(load_curve_dict(curve))


def _picture(curve: LoadCurve) -> str:
    title = f"{curve.problem.title} on {curve.problem.cluster.name}: p99 against load"
    return standalone(load_curve_figure(curve).draw(WIDE), title)

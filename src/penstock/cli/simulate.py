"""``penstock simulate``: what happens when a plan runs."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from penstock import api
from penstock.cli import options
from penstock.cli.output import say, show, write_file, write_json
from penstock.errors import EXIT_DONE, EXIT_INTERRUPTED, InputError, UsageError
from penstock.files.store import load
from penstock.files.writer import to_json
from penstock.report.charts import require_charts
from penstock.report.charts.canvas import standalone
from penstock.report.page.html import WIDE
from penstock.report.simulation import recorded, simulation_to_dict, simulation_view
from penstock.report.story.over_time import over_time_figure
from penstock.simulate.compiled import is_compiled, require_numba
from penstock.simulate.results import SimResult
from penstock.simulate.scenario import Scenario

_FIRST_WORD_AFTER_S = 3.0
_SAY_EVERY_S = 5.0


def command(
    plan: Annotated[Path, typer.Argument(help="A plan file.")],
    scenario: Annotated[
        Path | None, typer.Option("--scenario", "-s", help="Scenario file; else a calm minute.")
    ] = None,
    offered: Annotated[
        float | None,
        typer.Option("--offered", help="Tuples/s offered, in place of the scenario's."),
    ] = None,
    load_: Annotated[
        float | None,
        typer.Option("--load", help="Part of the sustainable rate offered, in its place."),
    ] = None,
    saturate: Annotated[
        bool, typer.Option("--saturate", help="Offer as much as goes through.")
    ] = False,
    seconds: Annotated[
        float | None, typer.Option("--seconds", help="Simulated time, in place of the scenario's.")
    ] = None,
    runs: Annotated[int, typer.Option("--runs", help="Independent runs.", min=1)] = 1,
    fluid: Annotated[
        bool, typer.Option("--fluid", help="The fluid model: very large clusters, no chance.")
    ] = False,
    seed: options.Seed = 0,
    svg: Annotated[Path | None, typer.Option("--svg", help="Draw what happens over time.")] = None,
    out: options.Out = None,
    as_json: options.Json = False,
) -> int:
    """Simulate a plan: throughput, latency percentiles, queues, CPU, tuples lost, over time.

    \b
    penstock simulate plan.json --load 0.9 --runs 5

    \b
    penstock simulate plan.json --scenario machine-dies.yaml --svg over-time.svg
    """
    if not fluid:
        require_numba()
    if svg:
        require_charts()
    loaded = options.load_plan(plan)
    wanted = _scenario(scenario, loaded, offered, load_, saturate, seconds)
    watch = _Watch()
    if not fluid and not is_compiled():
        say("compiling the engine, once; this takes some ten seconds")
    with options.stoppable_budget(stopping="ending with the results so far") as budget:
        try:
            result = api.simulate(
                loaded,
                wanted,
                seed=seed,
                runs=runs,
                fluid=fluid,
                progress=watch.see,
                stop=lambda: budget.stopped,
            )
        except InputError as error:
            # What does not fit this plan is said with the file that asks for it.
            name = str(scenario) if scenario else ""
            raise InputError(*(replace(f, file=f.file or name) for f in error.findings)) from None
    if len(result.runs[0].looks) < 2:
        say("stopped before there was a result")
        return EXIT_INTERRUPTED
    found = simulation_to_dict(result) if as_json or out else None
    if as_json:
        write_json(found)
    else:
        show(simulation_view(result))
    for path, content in ((out, to_json(found) if found else ""), (svg, "")):
        if path:
            write_file(path, _picture(result) if path is svg else content)
            say(f"wrote {path}")
    return EXIT_INTERRUPTED if budget.stopped else EXIT_DONE


def _picture(result: SimResult) -> str:
    title = f"{result.problem.title}, scenario {result.scenario.name}"
    return standalone(over_time_figure(recorded(result)).draw(WIDE), title)


def _scenario(
    path: Path | None,
    plan: api.Plan,
    offered: float | None,
    part: float | None,
    saturate: bool,
    seconds: float | None,
) -> Scenario:
    """The scenario of the file, or the calm one, with what the options change."""
    from penstock.simulate.variants import offering, saturated, shortened

    wanted = load(path) if path else Scenario()
    if not isinstance(wanted, Scenario):
        kind = type(wanted).__name__.lower()
        raise InputError(f"{path}: is a {kind}, not a scenario")
    if (offered is not None) + (part is not None) + saturate > 1:
        raise UsageError("give one of --offered, --load and --saturate")
    if seconds is not None:
        wanted = shortened(wanted, seconds)
    if saturate:
        return saturated(wanted, plan.problem, plan.placement)
    if offered is not None or part is not None:
        return offering(wanted, per_s=offered, of_sustainable=part)
    return wanted


class _Watch:
    """Says on stderr how far it is, when it takes long."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _FIRST_WORD_AFTER_S

    def see(self, part: float) -> None:
        now = time.monotonic()
        if now >= self._next:
            say(f"{100 * part:.0f} % simulated; Ctrl-C ends with the results so far")
            self._next = now + _SAY_EVERY_S

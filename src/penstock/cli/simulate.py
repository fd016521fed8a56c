"""``penstock simulate``: what happens when a plan runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock import app
from penstock.cli import options
from penstock.cli.load_curve import parse_loads, simulate_load_curve
from penstock.cli.output import say, show, write_file, write_json
from penstock.cli.simulation_progress import SimulationProgress
from penstock.errors import EXIT_DONE, EXIT_INTERRUPTED, InputError, UsageError
from penstock.files.simulation_file import simulation_to_dict
from penstock.files.writer import to_json
from penstock.report.charts import require_charts
from penstock.report.charts.canvas import standalone
from penstock.report.page.html import WIDE
from penstock.report.pages.simulation import recorded, simulation_page
from penstock.report.pages.simulation_remarks import simulation_remarks
from penstock.report.plan_report.over_time import over_time_figure
from penstock.simulate.compiled import is_compiled, require_numba
from penstock.simulate.work import MOST_TUPLES

if TYPE_CHECKING:
    from penstock.simulate.results import SimResult


def command(
    plan: Annotated[Path, typer.Argument(help="A plan file.")],
    scenario: Annotated[
        Path | None,
        typer.Option("--scenario", help="Scenario file. Default: a minute without faults."),
    ] = None,
    offered: Annotated[
        float | None,
        typer.Option("--offered", help="Offered rate in tuples/s, instead of the scenario's."),
    ] = None,
    load_: Annotated[
        float | None,
        typer.Option(
            "--load",
            help="Offered rate as a fraction of the sustainable rate, instead of the scenario's.",
        ),
    ] = None,
    saturate: Annotated[
        bool, typer.Option("--saturate", help="Offer as many tuples as the topology can take.")
    ] = False,
    load_curve: Annotated[
        bool,
        typer.Option("--load-curve", help="Show p99 latency at loads of 50 to 95 % of the rate."),
    ] = False,
    loads: Annotated[
        str | None, typer.Option("--loads", help="Loads of the curve: 0.5,0.9 or 50%,90%.")
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option("--duration", help="Seconds to simulate, instead of the scenario's."),
    ] = None,
    runs: Annotated[int, typer.Option("--runs", help="Independent runs.", min=1)] = 1,
    fluid: Annotated[
        bool,
        typer.Option(
            "--fluid", help="Use the fluid model: for very large clusters, without randomness."
        ),
    ] = False,
    most_tuples: Annotated[
        float,
        typer.Option("--max-tuples", help="Refuse a simulation of more tuples than this.", min=1),
    ] = MOST_TUPLES,
    seed: options.Seed = 0,
    svg: Annotated[
        Path | None, typer.Option("--svg", help="Draw what happens over time, or the load curve.")
    ] = None,
    out: options.Out = None,
    as_json: options.Json = False,
) -> int:
    """Simulate a plan: throughput, latency percentiles, queues, CPU, tuples lost, over time.

    penstock simulate plan.json --scenario machine-dies.yaml --svg over-time.svg

    penstock simulate plan.json --load-curve --svg p99-against-load.svg
    """
    curve = load_curve or loads is not None
    if curve and (fluid or saturate or offered is not None or load_ is not None or runs > 1):
        raise UsageError(
            "--load-curve cannot be combined with --offered, --load, --saturate, --runs or --fluid"
        )
    at_loads = parse_loads(loads)
    if not fluid:
        require_numba()
    if svg:
        require_charts()
    loaded = options.load_plan(plan)
    wanted = app.scenario_for(
        loaded, scenario, offered_per_s=offered, load=load_, saturate=saturate, seconds=seconds
    )
    watch = SimulationProgress("Ctrl-C ends with the results so far")
    if not fluid and not is_compiled():
        say("compiling the engine, once; this takes some ten seconds")
    if curve:
        return simulate_load_curve(
            loaded,
            wanted,
            at_loads,
            seconds=seconds,
            most_tuples=most_tuples,
            seed=seed,
            svg=svg,
            out=out,
            as_json=as_json,
        )
    with options.stoppable_budget(stopping="ending with the results so far") as budget:
        try:
            result = app.simulate(
                loaded,
                wanted,
                seed=seed,
                runs=runs,
                fluid=fluid,
                most_tuples=most_tuples,
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
    results = None
    if as_json or out:
        results = simulation_to_dict(result, simulation_remarks(result))
    if as_json:
        write_json(results)
    else:
        show(simulation_page(result))
    for path, content in ((out, to_json(results) if results else ""), (svg, "")):
        if path:
            write_file(path, _picture(result) if path is svg else content, is_printed=True)
            say(f"wrote {path}")
    return EXIT_INTERRUPTED if budget.stopped else EXIT_DONE


def _picture(result: SimResult) -> str:
    title = f"{result.problem.title}, scenario {result.scenario.name}"
    return standalone(over_time_figure(recorded(result)).draw(WIDE), title)

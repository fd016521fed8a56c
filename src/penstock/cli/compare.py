"""``penstock compare``: several schedulers on one problem."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from penstock import app
from penstock.cli import options
from penstock.cli.output import is_terminal, say, show, write_file, write_json
from penstock.cli.values import listed
from penstock.errors import EXIT_DONE, EXIT_FAILURE, EXIT_INFEASIBLE, EXIT_INTERRUPTED
from penstock.files.simulation_file import simulation_to_dict
from penstock.planning.defaults import DEFAULT_COUNTS_FROM
from penstock.report.charts import require_charts
from penstock.report.charts.canvas import standalone
from penstock.report.page.html import WIDE
from penstock.report.pages.comparison import comparison_page
from penstock.report.pages.simulation_remarks import simulation_remarks
from penstock.report.plan_report import Rival
from penstock.report.plan_report.schedulers import comparison_figure


def command(
    topologies: options.Topologies = None,
    example: options.Example = None,
    cluster: options.Cluster = None,
    profile: options.Profile = None,
    estimate_from: options.EstimateFrom = None,
    schedulers: Annotated[
        str | None,
        typer.Option("--schedulers", help="Schedulers, separated by commas. Default: all."),
    ] = None,
    given_counts: Annotated[
        bool,
        typer.Option("--given-counts", help="Use the same instance counts for all schedulers."),
    ] = False,
    counts_from: options.CountsFrom = DEFAULT_COUNTS_FROM,
    weighted: options.Weighted = False,
    headroom: options.Headroom = None,
    met: options.Met = None,
    seed: options.Seed = 0,
    seconds: options.Seconds = None,
    iterations: options.Iterations = None,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Also simulate every plan for a minute.")
    ] = False,
    load: Annotated[
        float,
        typer.Option(
            "--load", help="Offered rate in simulations, as a fraction of each plan's own."
        ),
    ] = 0.8,
    svg: Annotated[Path | None, typer.Option("--svg", help="Draw the comparison.")] = None,
    as_json: options.Json = False,
) -> int:
    """Compare schedulers: rate, throughput, gap to the bound, machines, network, energy, time.

    penstock compare --example linear --cluster nasiri-large --schedulers default,hetero

    penstock compare wordcount.yaml -c cluster.yaml -p profile.yaml --simulate --json
    """
    if svg:
        require_charts()
    problem = options.make_problem(
        topologies, example, cluster, profile, weighted=weighted, headroom=headroom, met=met,
        estimate_from=estimate_from,
    )  # fmt: skip
    names = listed([schedulers]) if schedulers else None
    with options.stoppable_budget(seconds, iterations) as budget:
        comparison = app.compare(
            problem,
            names,
            seed=seed,
            counts_from=counts_from,
            given_counts=given_counts,
            budget=budget,
            progress=lambda name: say(f"planning with {name} …") if is_terminal() else None,
        )
        simulated = []
        if simulate:
            simulated = app.simulate_each(
                comparison, load, seed=seed, stop=lambda: budget.stopped,
                progress=lambda name: say(f"simulating the plan of {name} …"),
            )  # fmt: skip
    rows = [row.facts for row in comparison.rows]
    if as_json:
        answer = comparison.to_dict()
        if simulate:
            answer["simulated"] = {
                name: simulation_to_dict(result, simulation_remarks(result)) if result else None
                for name, result in simulated
            }
        write_json(answer)
    else:
        show(comparison_page(rows, problem, comparison.bound, simulated, load))
    if svg:
        write_file(svg, _picture(comparison), is_printed=True)
        say(f"wrote {svg}")
    if budget.stopped:
        return EXIT_INTERRUPTED
    if any(row.placed for row in rows):
        return EXIT_DONE
    if any(row.outcome.impossible is not None for row in comparison.rows):
        say("impossible, no plan exists")
        return EXIT_INFEASIBLE
    say("none of these schedulers found a plan; one may still exist")
    return EXIT_FAILURE


def _picture(comparison: app.Comparison) -> str:
    problem = comparison.problem
    rivals = [Rival(row.scheduler, (row.facts,)) for row in comparison.rows]
    bound = None
    if comparison.bound is not None and math.isfinite(comparison.bound.scale):
        bound = comparison.bound.scale * float(problem.demand.sum())
    title = f"{problem.title} on {problem.cluster.name}"
    return standalone(comparison_figure(rivals, bound).draw(WIDE), title)

"""``penstock report``: one file about a plan that can be sent to a colleague."""

from __future__ import annotations

import shlex
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from penstock.app import report_options, reports
from penstock.app.inputs import is_file
from penstock.cli import options
from penstock.cli.output import is_terminal, say, write_file, write_text
from penstock.cli.values import listed
from penstock.errors import (
    EXIT_DONE,
    EXIT_INTERRUPTED,
    Finding,
    InputError,
    UsageError,
    escaped,
)
from penstock.files.simulation_file import Simulation
from penstock.files.store import load
from penstock.model.plan import Plan
from penstock.planning.defaults import DEFAULT_COUNTS_FROM, DEFAULT_SCHEDULER
from penstock.report.charts import require_charts
from penstock.report.page.views import VIEWS, one_of, view_of
from penstock.schedulers import get

_DEFAULT_OUT = Path("report.html")
_SCHEDULERS_HELP = (
    'To compare, commas between; "none" for none. '
    f"[{','.join(report_options.DEFAULT_RIVALS)}, and every other but optimal that carries more]"
)


def command(
    sources: Annotated[
        list[str] | None,
        typer.Argument(help="A plan file; or topology files, to be planned here."),
    ] = None,
    example: options.Example = None,
    cluster: options.Cluster = None,
    profile: options.Profile = None,
    estimate_from: options.EstimateFrom = None,
    scheduler: Annotated[
        str,
        typer.Option(
            "--scheduler", "-s", help="Scheduler to plan with, if the report is not on a plan file."
        ),
    ] = DEFAULT_SCHEDULER,
    before: Annotated[
        Path | None, typer.Option("--current", help="Plan in force: show what would change.")
    ] = None,
    simulation: Annotated[
        Path | None,
        typer.Option(
            "--simulation", help="Result of penstock simulate --out. Default: simulate now."
        ),
    ] = None,
    simulate: Annotated[
        bool, typer.Option("--simulate/--no-simulate", help="Simulate the plans.")
    ] = True,
    schedulers: Annotated[
        str | None,
        typer.Option(
            "--schedulers",
            help=_SCHEDULERS_HELP,
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option("--seeds", help="Seeds each scheduler plans with.", min=1, max=1000)
    ] = 3,
    runs: Annotated[
        int, typer.Option("--runs", help="Simulated runs of each plan.", min=1, max=1000)
    ] = 3,
    counts_from: options.CountsFrom = DEFAULT_COUNTS_FROM,
    weighted: options.Weighted = False,
    headroom: options.Headroom = None,
    met: options.Met = None,
    seed: options.Seed = 0,
    seconds: options.Seconds = None,
    iterations: options.Iterations = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="File to write; its extension selects the format. Default: report.html.",
        ),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV, a line for each number.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX.")] = False,
) -> int:
    """Write a report about a plan: one HTML file that works offline, or the same as other text.

    penstock report plan.json --current yesterday.json -o report.html

    penstock report --example diamond --cluster nasiri-small --seeds 5 --markdown
    """
    began = time.monotonic()
    asked = {"markdown": markdown, "json": as_json, "csv": csv, "latex": latex}
    view, path = _view(out, one_of(asked))
    if view == "html":
        require_charts()
    plan = _plan_among(sources, bool(example or cluster or profile))
    with options.stoppable_budget(
        seconds, iterations, "ending with what is known so far"
    ) as budget:
        wanted = report_options.ReportOptions(
            schedulers=report_options.DEFAULT_RIVALS if schedulers is None else _names(schedulers),
            others=report_options.quick_schedulers() if schedulers is None else (),
            seeds=seeds,
            seed=seed,
            counts_from=counts_from,
            before=options.load_plan(before) if before else None,
            simulation=_simulation(simulation),
            simulate=simulate,
            runs=runs,
            budget=budget,
            stop=lambda: budget.stopped,
            progress=lambda text: say(f"{text} …") if is_terminal() else None,
        )
        if plan is not None:
            report = reports.report_on_plan(plan, wanted)
        else:
            problem = options.make_problem(
                sources, example, cluster, profile, weighted=weighted, headroom=headroom, met=met,
                estimate_from=estimate_from,
            )  # fmt: skip
            report = reports.report_on_problem(problem, scheduler, wanted)
    page = reports.page(report, wanted, _command_line(), now(), time.monotonic() - began)
    _put_out(VIEWS[view](page), path)
    return EXIT_INTERRUPTED if budget.stopped else EXIT_DONE


def now() -> str:
    """When a report is written."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _command_line() -> str:
    """The command as it was given, for the reader who wants to repeat it."""
    return shlex.join(["penstock", *sys.argv[1:]])


def _view(out: Path | None, asked: str | None) -> tuple[str, Path | None]:
    """The format, and the file it goes to; a format asked for without a file is printed."""
    if asked:
        return asked, out
    return ("html", _DEFAULT_OUT) if out is None else (view_of(out), out)


def _put_out(text: str, path: Path | None) -> None:
    if path is None:
        write_text(escaped(text))
        return
    write_file(path, text)
    hint = "; open it in a browser" if path.suffix.lower() in (".html", ".htm") else ""
    say(f"wrote {path} ({len(text.encode()) / 1000:,.0f} kB){hint}")


def _names(schedulers: str) -> tuple[str, ...]:
    names = tuple(listed([schedulers]))
    if names == ("none",):
        return ()
    for name in names:
        get(name)
    return names


def _plan_among(sources: list[str] | None, other_options: bool) -> Plan | None:
    """The plan, if that is what was given; topologies are left to the planner."""
    if not sources or len(sources) != 1 or not is_file(sources[0]):
        return None
    loaded = load(sources[0])
    if not isinstance(loaded, Plan):
        return None
    if other_options:
        raise UsageError("a plan carries its cluster and profile; leave those options out")
    return loaded


def _simulation(path: Path | None) -> Simulation | None:
    if path is None:
        return None
    loaded = load(path)
    if not isinstance(loaded, Simulation):
        kind = type(loaded).__name__.lower()
        raise InputError(Finding(f"is a {kind}, not a simulation", str(path)))
    return loaded

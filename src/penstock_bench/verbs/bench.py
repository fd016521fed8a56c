"""``penstock bench``: run a benchmark suite and hold it against its goals."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli import options
from penstock.cli.output import say, show, write_file, write_json, write_text
from penstock.cli.report import now
from penstock.errors import EXIT_DONE, EXIT_FAILURE, EXIT_INTERRUPTED
from penstock.report.page.markdown import to_markdown
from penstock.report.provenance import Provenance
from penstock_bench.benchmarks.results import (
    SuiteRun,
    figures_page,
    read_runs,
    results_page,
    runs_text,
    with_run,
)
from penstock_bench.benchmarks.suite import Report, run_suite, suite_names


def command(
    name: Annotated[
        str | None, typer.Argument(help="Suite to run. Default: list the suites.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer repeats.")] = False,
    only: Annotated[
        str,
        typer.Option("--only", help="Run only what has this in its name, or one part of a suite."),
    ] = "",
    hours: Annotated[
        float | None,
        typer.Option(
            "--hours", help="Hours to run, for suites without an end of their own (fuzz).", min=0
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", help="Seed of the random generator, for suites that use one.", min=0
        ),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option("--results", help="Keep the run in this JSON file, beside those in it."),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Tables as Markdown.")] = False,
    as_json: options.Json = False,
) -> int:
    """Run a benchmark suite; exit code 1 when a goal does not hold.

    penstock bench core

    penstock bench core --results core.json
    """
    if name is None:
        if as_json:
            write_json({"format": "penstock/suites", "version": 1, "suites": suite_names()})
        else:
            show(*suite_names())
        return EXIT_DONE
    began = time.monotonic()
    given = {"hours": hours, "seed": seed}
    settings = {what: value for what, value in given.items() if value is not None}
    earlier = read_runs(results) if results and results.exists() else []

    def run_of(report: Report) -> SuiteRun:
        return SuiteRun(name, _provenance(name, quick, only, settings, began), report)

    def keep(report: Report) -> None:
        if results:
            so_far = run_of(replace(report, interrupted=True))
            write_file(results, runs_text(with_run(earlier, so_far)))

    report = run_suite(
        name, quick=quick, only=only, settings=settings, keep=keep,
        progress=lambda text: say(f"… {text}"),
    )  # fmt: skip
    run = run_of(report)
    if as_json:
        write_json({"format": "penstock/bench", "version": 1, **run.to_dict()})
    elif markdown:
        write_text(to_markdown(results_page([run]), level=2))
    else:
        show(figures_page(run))
    if results:
        write_file(results, runs_text(with_run(earlier, run)), is_printed=True)
        say(f"wrote {results}")
    for reason in report.left_out:
        say(f"not judged: {reason}")
    for failure in report.failures:
        say(f"could not be measured: {failure}")
    if report.interrupted:
        say("interrupted; what was measured before is above")
        return EXIT_INTERRUPTED
    return EXIT_DONE if report.holds else EXIT_FAILURE


def _provenance(
    name: str, quick: bool, only: str, settings: dict[str, float], began: float
) -> Provenance:
    """Figures that are kept say where they come from."""
    asked = " --quick" if quick else ""
    asked += f' --only "{only}"' if only else ""
    asked += "".join(f" --{what} {value:g}" for what, value in settings.items())
    return Provenance.here(f"penstock bench {name}{asked}", now(), time.monotonic() - began)

"""``penstock bench``: run a benchmark suite and hold it against its goals."""

from __future__ import annotations

import time
from typing import Annotated

import typer
from rich.table import Table

from penstock.cli import options
from penstock.cli.output import say, show, write_json
from penstock.cli.report import now
from penstock.errors import EXIT_DONE, EXIT_FAILURE, EXIT_INTERRUPTED
from penstock.report.made import how_made
from penstock_bench.benchmarks.suite import RESULT_COLUMNS, Result, run_suite, suite_names
from penstock_bench.benchmarks.suite import Table as FigureTable


def command(
    name: Annotated[
        str | None, typer.Argument(help="Suite to run. Default: list the suites.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer repeats.")] = False,
    only: Annotated[str, typer.Option("--only", help="Run only what has this in its name.")] = "",
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
    markdown: Annotated[bool, typer.Option("--markdown", help="Tables as Markdown.")] = False,
    as_json: options.Json = False,
) -> int:
    """Run a benchmark suite; exit code 1 when a goal does not hold.

    penstock bench core

    penstock bench core --json
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
    report = run_suite(
        name, quick=quick, only=only, settings=settings, progress=lambda text: say(f"… {text}")
    )
    if as_json:
        rows = [result.to_dict() for result in report.results]
        tables = [table.to_dict() for table in report.tables]
        found = {
            "suite": name, "results": rows, "tables": tables, "failures": report.failures,
            "interrupted": report.interrupted,
        }  # fmt: skip
        write_json({"format": "penstock/bench", "version": 1, **found})
    elif markdown:
        # Figures that are kept say where they come from.
        asked = " --quick" if quick else ""
        asked += f' --only "{only}"' if only else ""
        asked += "".join(f" --{what} {value:g}" for what, value in settings.items())
        made = how_made(f"penstock bench {name}{asked}", now(), time.monotonic() - began)
        show("; ".join(f"{what} {value}" for what, value in made.items()) + "\n")
        results = FigureTable("Goals", RESULT_COLUMNS, [r.cells for r in report.results])
        show(*(table.to_markdown() for table in (*report.tables, results) if table.rows))
    else:
        for table in report.tables:
            show(table.title, _side_by_side(table), "")
        show(_against_goals(report.results))
    for failure in report.failures:
        say(f"could not be measured: {failure}")
    if report.interrupted:
        say("interrupted; what was measured before is above")
        return EXIT_INTERRUPTED
    return EXIT_DONE if report.holds else EXIT_FAILURE


def _side_by_side(figures: FigureTable) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for i, column in enumerate(figures.columns):
        table.add_column(column, justify="left" if i == 0 else "right")
    for row in figures.rows:
        table.add_row(*row)
    return table


def _against_goals(results: list[Result]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in RESULT_COLUMNS:
        table.add_column(column, justify="right" if column in ("value", "goal") else "left")
    for result in results:
        table.add_row(*result.cells)
    return table

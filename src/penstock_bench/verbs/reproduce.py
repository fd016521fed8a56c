"""``penstock reproduce``: the papers' figures and tables, published and ours."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Protocol

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from penstock.cli.output import say, show, write_file, write_text
from penstock.cli.report import now
from penstock.errors import EXIT_DONE, EXIT_FAILURE, EXIT_INTERRUPTED
from penstock.report.charts import require_charts
from penstock.report.page import Cell, Number
from penstock.report.page.views import VIEWS, one_of, view_of
from penstock.report.page.wording import part_text, shown
from penstock.report.provenance import Provenance
from penstock_bench.reproduce.judged import JudgedRow, judge_all, tally
from penstock_bench.reproduce.page import build_page
from penstock_bench.reproduce.papers import ALL, papers_named
from penstock_bench.reproduce.runner import Done, run_tasks, tasks_of
from penstock_bench.reproduce.store import FigureStore
from penstock_bench.reproduce.verdict import Verdict
from penstock_bench.reproduce.words import ours_cell, published_cell

_DEFAULT_OUT = Path("reproduce.html")


def command(
    paper: Annotated[
        str, typer.Argument(help="nasiri, rstorm, lcstream, thesis, or all of them.")
    ] = ALL,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="File to write; its extension selects the format. Default: reproduce.html.",
        ),
    ] = None,
    store: Annotated[
        Path, typer.Option("--store", help="Folder that keeps finished settings.")
    ] = Path("reproduce-results"),
    again: Annotated[
        bool, typer.Option("--rerun", help="Run settings again even if their results are kept.")
    ] = False,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", help="Number of processes.", min=1, max=64)
    ] = 2,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown, also with --out.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, also with --out.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV, also with --out.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX, also with --out.")] = False,
) -> int:
    """Repeat the papers' experiments and compare the results with theirs.

    penstock reproduce all -o reproduce.html

    penstock reproduce nasiri --markdown
    """
    asked = {"markdown": markdown, "json": as_json, "csv": csv, "latex": latex}
    printed = one_of(asked)
    if out is None and not printed:
        out = _DEFAULT_OUT
    view = view_of(out) if out else ""
    if view == "html":
        require_charts()
    papers = papers_named(paper)
    tasks = tasks_of(papers)
    began = time.monotonic()
    with _progress(len(tasks)) as watch:
        results = run_tasks(tasks, FigureStore(store), jobs=jobs, again=again, seen=watch.see)
    rows = judge_all(papers, results)
    provenance = _how_made(paper, time.monotonic() - began, results.reused, len(tasks))
    page = build_page(papers, rows, results, provenance)
    if out:
        write_file(out, VIEWS[view](page))
    if printed:
        write_text(VIEWS[printed](page))
    else:
        show(_table(rows))
    _say_how_it_went(rows, out)
    for (name, setting), error in results.errors.items():
        say(f"{name}, setting {setting} failed: {error}")
    if results.stopped:
        say("stopped; the same command goes on with what is left")
        return EXIT_INTERRUPTED
    return EXIT_FAILURE if results.errors or any(row.failed for row in rows) else EXIT_DONE


def _say_how_it_went(rows: list[JudgedRow], out: Path | None) -> None:
    counted = tally(rows)
    counts = ", ".join(f"{counted[verdict]} {verdict}" for verdict in Verdict if counted[verdict])
    say(f"{len(rows)} rows: {counts}")
    if out:
        say(f"wrote {out}")


def _table(rows: list[JudgedRow]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in ("paper", "source", "what"):
        table.add_column(column)
    for column in ("published", "ours", "unit"):
        table.add_column(column, justify="right")
    table.add_column("verdict")
    for judged in rows:
        row = judged.row
        published, ours = _words(published_cell(row)), _words(ours_cell(judged))
        source = judged.experiment.source
        table.add_row(
            judged.paper, source, row.what, published, ours, row.unit, judged.verdict.value
        )
    return table


def _words(cell: Cell) -> str:
    if isinstance(cell, Number):
        return shown(cell, with_unit=False)
    return part_text(cell) if isinstance(cell, str) else "–"


def _how_made(paper: str, seconds: float, reused: int, settings: int) -> dict[str, str]:
    """What it takes to make the page again."""
    kept = f"{settings}, of which {reused} were kept from a run before on this computer"
    source = Provenance.here(f"penstock reproduce {paper}", now(), seconds)
    return source.named | {"settings": kept}


# -- progress -------------------------------------------------------------------------------------


class _Watch(Protocol):
    def see(self, done: Done) -> None: ...


class _Lines:
    """A line for each setting that ends."""

    def __init__(self, total: int) -> None:
        self.total, self.ended = total, 0

    def see(self, done: Done) -> None:
        self.ended += 1
        took = f", {done.seconds:.0f} s" if done.seconds else ", kept from before"
        say(f"{self.ended}/{self.total} {done.task.title}{took} {done.error}".rstrip())


class _Bar:
    """A bar on the terminal."""

    def __init__(self, progress: Progress, total: int) -> None:
        self.progress = progress
        self.task = progress.add_task("", total=total)

    def see(self, done: Done) -> None:
        self.progress.update(self.task, advance=1, description=done.task.title)


@contextmanager
def _progress(total: int) -> Iterator[_Watch]:
    if not sys.stderr.isatty():
        yield _Lines(total)
        return
    console = Console(stderr=True)
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield _Bar(progress, total)

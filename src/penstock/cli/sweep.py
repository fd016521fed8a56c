"""``penstock sweep``: a grid of plans, simulated on Spark."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from penstock import app
from penstock.cli import options
from penstock.cli.output import say, show, write_json
from penstock.engines.spark.session import LOCAL
from penstock.errors import EXIT_DONE, EXIT_FAILURE, EXIT_INTERRUPTED
from penstock.files.answer_formats import answer_head
from penstock.planning.numbers import UNKNOWN, percent, plain, rate

if TYPE_CHECKING:
    from penstock.engines.spark.sweep_job import Finished

_SAY_EVERY_S = 5.0
_MOST_LISTED = 40


def command(
    suite: Annotated[Path, typer.Argument(help="A sweep file (penstock schema sweep).")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for finished cells and the table.")
    ] = Path("sweep-output"),
    master: Annotated[str, typer.Option("--master", help="local[…] or spark://…")] = LOCAL,
    again: Annotated[bool, typer.Option("--retry-failed", help="Run failed cells again.")] = False,
    as_json: options.Json = False,
) -> int:
    """Plan and simulate a grid as one Spark job; one that was stopped goes on where it was.

    penstock sweep suite.yaml --out results

    penstock sweep suite.yaml --master spark://10.0.0.1:7077
    """
    watch = _SweepProgress()
    result = app.sweep(
        suite, out, master=master, again=again, begins=watch.begin, progress=watch.see
    )
    if as_json:
        write_json({**answer_head("sweep-results"), "cells": result.rows})
    else:
        show(_view(result.rows))
    say(f"wrote {result.table}: {len(result.rows):,} of {result.cells:,} cells")
    failed = result.failed
    for row in failed[:10]:
        say(f"cell {row['cell']} ({row['problem']}, {row['scheduler']}) failed: {row['error']}")
    if failed:
        say(f"{len(failed)} cells failed; --retry-failed runs them once more")
    if result.was_stopped:
        say("stopped; the same command goes on with the cells that are left")
        return EXIT_INTERRUPTED
    if result.failure:
        say(f"error: {result.failure}")
    return EXIT_FAILURE if failed or result.failure else EXIT_DONE


class _SweepProgress:
    """Progress on stderr."""

    def __init__(self) -> None:
        self._cells, self._done = 0, 0
        self._began = self._next = time.monotonic()

    def begin(self, cells: int, left: int) -> None:
        self._cells = left
        self._began = self._next = time.monotonic()
        say(f"{cells:,} cells, {cells - left:,} of them finished before")

    def see(self, _finished: Finished) -> None:
        self._done += 1
        now = time.monotonic()
        if now >= self._next or self._done == self._cells:
            left_s = (now - self._began) / self._done * (self._cells - self._done)
            say(f"{self._done:,} of {self._cells:,} cells done, about {left_s:.0f} s left")
            self._next = now + _SAY_EVERY_S


def _view(rows: list[Finished]) -> Table:
    """The means over seeds, by problem, scenario and scheduler."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in ("problem", "scenario", "scheduler"):
        table.add_column(column)
    for column in ("cells", "completed/s", "of plan", "p99 ms"):
        table.add_column(column, justify="right")
    groups: dict[tuple[str, str, str], list[Finished]] = {}
    for row in rows:
        groups.setdefault((row["problem"], row["scenario"], row["scheduler"]), []).append(row)
    for (problem, scenario, scheduler), members in list(groups.items())[:_MOST_LISTED]:
        done = [m for m in members if m.get("completed_per_s") is not None]
        if not done:
            why = members[0]["error"] or members[0].get("why_not") or ""
            table.add_row(problem, scenario, scheduler, str(len(members)), why[:60], "", "")
            continue
        completed = sum(m["completed_per_s"] for m in done) / len(done)
        planned = sum(m["planned_throughput_per_s"] or 0.0 for m in done) / len(done)
        throughput = sum(m["throughput_per_s"] for m in done) / len(done)
        p99 = [m["latency_p99_ms"] for m in done if m["latency_p99_ms"] is not None]
        table.add_row(
            problem,
            scenario,
            scheduler,
            str(len(members)),
            rate(completed),
            percent(throughput / planned) if planned else UNKNOWN,
            plain(sum(p99) / len(p99), 3) if p99 else UNKNOWN,
        )
    if len(groups) > _MOST_LISTED:
        table.add_row(f"… and {len(groups) - _MOST_LISTED} more in the table", "", "", "", "")
    return table

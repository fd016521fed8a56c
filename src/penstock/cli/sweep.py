"""``penstock sweep``: a grid of plans, simulated on Spark."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from penstock.cli import options
from penstock.cli.output import say, show, write_json
from penstock.errors import EXIT_DONE, EXIT_FAILURE, EXIT_INTERRUPTED, Finding, InputError
from penstock.experiments import Cell, cells_of, run_cell
from penstock.files.store import load
from penstock.files.sweep_file import Sweep
from penstock.report.numbers import UNKNOWN, percent, plain, rate
from penstock.sweep.job import run_tasks
from penstock.sweep.store import CellStore, Finished
from penstock.telemetry.session import LOCAL, spark_session
from penstock.telemetry.spark_log import SparkFailed

_SAY_EVERY_S = 5.0
_MOST_LISTED = 40


def command(
    suite: Annotated[Path, typer.Argument(help="A sweep file (penstock schema sweep).")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for finished cells and the table.")
    ] = Path("sweep-output"),
    master: Annotated[str, typer.Option("--master", help="local[…] or spark://…")] = LOCAL,
    again: Annotated[
        bool, typer.Option("--again", help="Run cells again that ended with an error.")
    ] = False,
    as_json: options.Json = False,
) -> int:
    """Plan and simulate a grid as one Spark job; one that was stopped goes on where it was.

    \b
    penstock sweep suite.yaml --out results

    \b
    penstock sweep suite.yaml --master spark://10.0.0.1:7077
    """
    wanted = load(suite)
    if not isinstance(wanted, Sweep):
        kind = type(wanted).__name__.lower()
        raise InputError(Finding(f"is a {kind}, not a sweep", str(suite)))
    cells = cells_of(wanted)
    keys = [cell.key for cell in cells]
    store = CellStore(out)
    if again:
        store.forget(k for k in keys if (f := store.read(k)) and f["row"]["error"])
    left = [(key, cell) for key, cell in zip(keys, cells, strict=True) if store.read(key) is None]
    say(f"{len(cells):,} cells, {len(cells) - len(left):,} of them finished before")
    stopped, failure = _run(left, store, master)
    table = store.write_table(keys)
    rows = [found["row"] for key in keys if (found := store.read(key)) is not None]
    failed = [row for row in rows if row["error"]]
    if as_json:
        write_json({"format": "penstock/sweep-results", "version": 1, "cells": rows})
    else:
        show(_view(rows))
    say(f"wrote {table}: {len(rows):,} of {len(cells):,} cells")
    for row in failed[:10]:
        say(f"cell {row['cell']} ({row['problem']}, {row['scheduler']}) failed: {row['error']}")
    if failed:
        say(f"{len(failed)} cells failed; --again runs them once more")
    if stopped:
        say("stopped; the same command goes on with the cells that are left")
        return EXIT_INTERRUPTED
    if failure:
        say(f"error: {failure}")
    return EXIT_FAILURE if failed or failure else EXIT_DONE


def _run(left: list[tuple[str, Cell]], store: CellStore, master: str) -> tuple[bool, str]:
    """Run what is left; whether it was stopped, and what made Spark give up."""
    if not left:
        return False, ""
    watch = _Watch(len(left))
    try:
        with spark_session(master, short=True) as spark:
            run_tasks(spark, left, run_cell, store, watch.see)
    except KeyboardInterrupt:
        return True, ""
    except SparkFailed as error:
        return False, str(error)
    return False, ""


class _Watch:
    """Progress on stderr."""

    def __init__(self, cells: int) -> None:
        self._cells, self._done = cells, 0
        self._began = self._next = time.monotonic()

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

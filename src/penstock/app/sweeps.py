"""A grid of plans, simulated on Spark; one that was stopped goes on where it was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from penstock.app.inputs import Source
from penstock.app.sweep_cells import Cell, cells_of, run_cell
from penstock.app.sweep_store import CellStore
from penstock.engines.spark.session import LOCAL, spark_session
from penstock.engines.spark.sweep_job import Finished, run_tasks
from penstock.errors import Finding, InputError
from penstock.files.store import load
from penstock.files.sweep_file import Sweep
from penstock.telemetry.spark_errors import SparkFailed


@dataclass(frozen=True)
class SweepResult:
    """The cells that have a result, in the order of the grid, and the table that holds them."""

    rows: list[Finished]
    #: Of the whole grid.
    cells: int
    table: Path
    #: By Ctrl-C, before every cell had a result.
    was_stopped: bool
    #: What made Spark give up, or nothing.
    failure: str

    @property
    def failed(self) -> list[Finished]:
        return [row for row in self.rows if row["error"]]


def sweep(
    source: Sweep | Source,
    out: Path,
    *,
    master: str = LOCAL,
    again: bool = False,
    begins: Callable[[int, int], None] = lambda _cells, _left: None,
    progress: Callable[[Finished], None] = lambda _finished: None,
) -> SweepResult:
    """Plan and simulate the cells that have no result yet; ``again`` repeats those that failed.

    ``begins`` is told how many cells there are and how many of them are left.
    """
    grid = source if isinstance(source, Sweep) else load(source)
    if not isinstance(grid, Sweep):
        kind = type(grid).__name__.lower()
        raise InputError(Finding(f"is a {kind}, not a sweep", str(source)[:200]))
    cells = cells_of(grid)
    keys = [cell.key for cell in cells]
    store = CellStore(out)
    if again:
        store.forget(k for k in keys if (f := store.read(k)) and f["row"]["error"])
    left = [(key, cell) for key, cell in zip(keys, cells, strict=True) if store.read(key) is None]
    begins(len(cells), len(left))
    was_stopped, failure = _run(left, store, master, progress)
    table = store.write_table(keys)
    rows = [finished["row"] for key in keys if (finished := store.read(key)) is not None]
    return SweepResult(rows, len(cells), table, was_stopped, failure)


def _run(
    left: list[tuple[str, Cell]],
    store: CellStore,
    master: str,
    progress: Callable[[Finished], None],
) -> tuple[bool, str]:
    """Run what is left; whether it was stopped, and what made Spark give up."""
    if not left:
        return False, ""
    try:
        with spark_session(master) as spark:
            run_tasks(spark, left, run_cell, store.keep, progress)
    except KeyboardInterrupt:
        return True, ""
    except SparkFailed as error:
        return False, str(error)
    return False, ""

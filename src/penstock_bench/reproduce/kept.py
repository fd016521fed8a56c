"""Figures of benchmarks that take an hour, from the results kept of their last whole runs.

The files are in the repository, not in the package: without them a row says which command prints
them.
"""

from __future__ import annotations

from pathlib import Path

from penstock.errors import InputError
from penstock_bench.benchmarks.results import RESULTS_FOLDER, read_runs
from penstock_bench.reproduce.paper_fields import KeptMeasure


def kept_figure(measure: KeptMeasure, folder: Path = RESULTS_FOLDER) -> float | None:
    """The number in a cell of a kept table; ``None`` where the file is not here."""
    path = folder / measure.file
    if not path.is_file():
        return None
    for table in (table for run in read_runs(path) for table in run.report.tables):
        if table.title.startswith(measure.table) and measure.column in table.columns:
            column = table.columns.index(measure.column)
            for row in table.rows:
                if row[0] == measure.row:
                    return _number(row[column], measure)
    raise InputError(
        f'{measure.file} has no cell "{measure.row}", "{measure.column}" under "{measure.table}"'
    )


def _number(cell: str, measure: KeptMeasure) -> float:
    try:
        return float(cell.removesuffix("%").replace(",", "").strip())
    except ValueError:
        raise InputError(f'{measure.file}: "{cell}" is no number') from None

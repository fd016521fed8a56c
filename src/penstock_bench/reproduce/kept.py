"""Figures of benchmarks that take an hour, from the files kept of their last whole runs.

The files are in the repository, not in the package: without them a row says which command prints
them.
"""

from __future__ import annotations

from pathlib import Path

from penstock.errors import InputError
from penstock_bench.reproduce.paper_fields import KeptMeasure

#: ``benchmarks`` beside ``src``, where the package runs from a checkout.
KEPT_FOLDER = Path(__file__).resolve().parents[3] / "benchmarks"


def kept_figure(measure: KeptMeasure, folder: Path = KEPT_FOLDER) -> float | None:
    """The number in a cell of a kept table; ``None`` where the file is not here."""
    path = folder / measure.file
    if not path.is_file():
        return None
    columns, rows = _table(path.read_text(encoding="utf-8"), measure.table)
    for row in rows:
        if row[0] == measure.row and measure.column in columns:
            return _number(row[columns.index(measure.column)], measure)
    raise InputError(
        f'{measure.file} has no cell "{measure.row}", "{measure.column}" under "{measure.table}"'
    )


def _table(text: str, heading: str) -> tuple[list[str], list[list[str]]]:
    """Columns and rows of the table under the heading that begins so."""
    for part in text.split("### ")[1:]:
        if part.startswith(heading):
            lines = [line for line in part.splitlines() if line.startswith("|")]
            cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
            return (cells[0], cells[2:]) if len(cells) > 2 else ([], [])
    return [], []


def _number(cell: str, measure: KeptMeasure) -> float:
    try:
        return float(cell.removesuffix("%").replace(",", "").strip())
    except ValueError:
        raise InputError(f'{measure.file}: "{cell}" is no number') from None

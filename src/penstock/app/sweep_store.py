"""What a sweep leaves: one small file for each finished cell, and at the end one Parquet table.

A cell's file is named by what the cell is, so that a sweep that was stopped, or whose grid has
grown, runs only the cells that have none. Files appear whole or not at all.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from penstock.engines.spark.sweep_job import Finished
from penstock.errors import Finding, InputError
from penstock.files.replacement import remove_leftovers, replace_file

TABLE = "results.parquet"


class CellStore:
    """The folder of a sweep."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            (folder / "cells").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            message = f"cannot be made: {error.strerror or error}"
            raise InputError(Finding(message, str(folder))) from None
        remove_leftovers(folder)
        remove_leftovers(folder / "cells")

    def keep(self, finished: Finished) -> None:
        text = json.dumps(finished, indent=1) + "\n"
        replace_file(self._path(finished["key"]), text.encode())

    def read(self, key: str) -> Finished | None:
        """A finished cell, or nothing; a file that is broken or another counts as none."""
        try:
            finished: Any = json.loads(self._path(key).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(finished, dict) or finished.get("key") != key:
            return None
        row = finished.get("row")
        return finished if isinstance(row, dict) and "error" in row else None

    def forget(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._path(key).unlink(missing_ok=True)

    def write_table(self, keys: Sequence[str]) -> Path:
        """All finished cells in the order of the keys, as one Parquet file.

        How long a cell took is in its own file only: the same sweep gives the same table.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        rows = [finished["row"] for key in keys if (finished := self.read(key)) is not None]
        columns = list(dict.fromkeys(name for row in rows for name in row))
        table = pa.table({name: [row.get(name) for row in rows] for name in columns})
        content = io.BytesIO()
        pq.write_table(table, content)
        path = self.folder / TABLE
        replace_file(path, content.getvalue())
        return path

    def _path(self, key: str) -> Path:
        return self.folder / "cells" / f"{key}.json"

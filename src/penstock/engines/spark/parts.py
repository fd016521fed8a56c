"""Files that instances leave behind: written aside, in their place when they are whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


@dataclass
class Part:
    """One instance's Parquet file; two attempts at the same task do not get in each other's way."""

    folder: Path
    name: str
    attempt: int
    schema: pa.Schema
    _writer: pq.ParquetWriter | None = field(default=None, repr=False)

    def write(self, rows: pa.RecordBatch) -> None:
        if self._writer is None:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._writer = pq.ParquetWriter(self._draft, self.schema)
        self._writer.write_batch(rows)

    def close(self) -> str:
        """The file's name, now that it is whole."""
        target = self.folder / f"{self.name}.parquet"
        if self._writer is not None:
            self._writer.close()
            self._draft.replace(target)
        return str(target)

    @property
    def _draft(self) -> Path:
        return self.folder / f".{self.name}-{self.attempt}.parquet"

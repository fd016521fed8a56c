"""Stores of version 1, which kept samples by hour with what was set aside among them.

Its samples are written by slot, and the tables are made of them by the next run: partial sums, from
which tables are made today, it did not have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.telemetry.part_files import PartFile, files_of_parts
from penstock.telemetry.slots.files import StoreFiles
from penstock.telemetry.slots.records import TEXT_COLUMNS, as_records
from penstock.telemetry.slots.take_in import RECORD_COLUMNS, SampleWriter, TaskReport

_ASIDE = "aside"
_KEY = "version-1"
#: What was set aside on the way in: whole, and why.
_ASIDE_COLUMNS = ("raw", "reason", "field", "file")


def from_first_layout(root: Path, content: dict[str, Any]) -> dict[str, Any]:
    """The fields of a manifest of version 1 as those of version 2."""
    parts = content["parts"]
    if "samples" not in parts:
        return content  # the history of plans: its tables are as they were
    facts = content["facts"]
    report = _samples(root, parts["samples"].values())
    quarantine = {k: p for k, p in parts.get("quarantine", {}).items() if k.startswith(_ASIDE)}
    aside, reasons = _quarantine(root, quarantine)
    slots = sorted({slot for slot, _ in report.files})
    samples = {f"{slot}/{_KEY}/{n:05d}": path for n, (slot, path) in enumerate(report.files)}
    return {
        **content,
        "parts": {"samples": samples, "quarantine": aside},
        "facts": {
            **{name: facts[name] for name in ("batches", "uptimes_s") if name in facts},
            "pending": slots,
            "records": report.records + reasons.total(),
            "aside": dict(reasons),
            "totals": bool(report.totals),
            "groups": report.groups,
            "workers": report.workers,
        },
    }


def _samples(root: Path, parts: Any) -> TaskReport:
    writer = SampleWriter(StoreFiles(str(root)), f"samples/part={_KEY}")
    for file in files_of_parts(root, parts):
        for table in _row_groups(file, (*RECORD_COLUMNS, "file")):
            writer.add(as_records(table), table["file"].combine_chunks())
    return writer.finish()


def _row_groups(file: PartFile, columns: tuple[str, ...]) -> Iterator[pa.Table]:
    source = pq.ParquetFile(file.path, read_dictionary=[*TEXT_COLUMNS, "file"])
    for group in range(source.num_row_groups):
        yield source.read_row_group(group, columns=list(columns), use_threads=False)


def _quarantine(root: Path, parts: dict[str, str]) -> tuple[dict[str, str], Counter[str]]:
    """Records set aside on the way in; repeats are found again."""
    written, reasons = {}, Counter[str]()
    files = StoreFiles(str(root))
    for number, (key, part) in enumerate(sorted(parts.items())):
        tables = [
            pq.ParquetFile(f.path).read(list(_ASIDE_COLUMNS)) for f in files_of_parts(root, [part])
        ]
        table = pa.concat_tables(tables)
        reasons.update(table["reason"].to_pylist())
        hour = pa.repeat(pa.scalar(_ASIDE, pa.string()), len(table))
        folder = f"quarantine/part={_KEY}-{number:05d}"
        written[key] = files.write(folder, _ASIDE, table.append_column("hour", hour), ["reason"])
    return written, reasons

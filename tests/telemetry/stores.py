"""Stores made without Spark, in the layout that Spark writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.telemetry.local_store import LocalStore
from penstock.telemetry.manifest import Manifest
from penstock.telemetry.slots.keys import hour_name, hour_start
from penstock.telemetry.store_reader import arrow_schema, open_store

Row = dict[str, Any]

#: Parts by table and key, below a store.
Parts = dict[str, dict[str, str]]


def write_part(
    root: Path, table: str, hour: str, rows: Sequence[Row], part: str, *, files: int = 1
) -> str:
    """A folder such as ``rates/part=7/hour=2026-01-01-00``, its rows dealt to files in turn."""
    folder = f"{table}/part={part}/hour={hour}"
    (root / folder).mkdir(parents=True)
    columns = arrow_schema(table)
    schema = pa.schema([field for field in columns if field.name != "hour"])
    size = -(-len(rows) // files)
    whole = [_within(hour) | row for row in rows]
    for number in range(files):
        some = pa.Table.from_pylist(whole[number * size : (number + 1) * size], schema)
        pq.write_table(some, root / folder / f"part-{number:05d}.parquet")
    return folder


def write_file(root: Path, table: str, hour: str, rows: Iterable[Row], name: str) -> str:
    """A part that is one file, with its hour as a column like others."""
    path = f"{table}/{name}.parquet"
    (root / table).mkdir(parents=True, exist_ok=True)
    whole = pa.Table.from_pylist([_within(hour) | row for row in rows], arrow_schema(table))
    pq.write_table(whole, root / path)
    return path


def commit(root: Path, parts: Parts, **facts: Any) -> Manifest:
    """The newest commit with these parts more, or others in their place."""
    store = LocalStore(root)
    manifest = store.manifest()
    for table, folders in parts.items():
        manifest = manifest.with_parts(table, folders)
    return store.commit(manifest.with_facts(**facts) if facts else manifest)


def samples(*tasks: int) -> list[Row]:
    inputs = [{"component": "a", "stream": "default", "tuples": 3.0}]
    return [{"task": task, "topology": "größe", "inputs": inputs} for task in tasks]


def tasks_in(root: Path, table: str = "samples") -> list[tuple[str, int]]:
    """Hour and task of each row, as a reader sees them, in order."""
    moment = "time_ms" if table == "samples" else "hour"
    with open_store(root) as store:
        rows = store.read(table, [moment, "task"]).to_pylist()
    return [
        (hour_name(row[moment]) if moment == "time_ms" else row[moment], row["task"])
        for row in rows
    ]  # fmt: skip


def _within(hour: str) -> Row:
    """What says in a row, or by its time, of which hour it is; records set aside have none."""
    return {"hour": hour} | ({} if hour == "aside" else {"time_ms": hour_start(hour)})


def files_below(root: Path, table: str) -> list[str]:
    return sorted(str(p.relative_to(root)) for p in (root / table).rglob("*.parquet"))

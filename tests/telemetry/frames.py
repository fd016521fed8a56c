"""Records and windows from rows, so that a test says only what it is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from penstock.telemetry.arrow_record import record_schema
from penstock.telemetry.schemas import RATES
from penstock.telemetry.slots.columns import Columns, Groups, Vocabulary, from_arrow
from penstock.telemetry.slots.counts import (
    FIGURES,
    PLACE,
    STATUSES,
    StreamCounts,
    TaskCounts,
    stream_counts,
)
from penstock.telemetry.slots.records import as_records
from penstock.telemetry.slots.windows import SlotWindows

#: 2026-01-01, midnight UTC: a whole hour, and a whole minute.
START_MS = 1_767_225_600_000
HOUR = "2026-01-01-00"

Row = dict[str, Any]

_TASK: Row = {
    "topology": "t",
    "run": "",
    "component": "b",
    "task": 1,
    "host": "h1",
    "machine_type": "M1",
    "worker": "6700",
    "rack": "",
}
_RECORD: Row = {
    **_TASK,
    "version": 1,
    "time_ms": START_MS + 10_000,
    "window_ms": 10_000,
    "counters": "delta",
    "sample_rate": 1.0,
}
_WINDOW: Row = {
    **_TASK,
    "time_ms": START_MS + 10_000,
    "window_s": 10.0,
    "status": "used",
    "rate_variance": 0.0,
}
#: Records that passed every check, with the file they came from.
_ACCEPTED = pa.schema([*record_schema(), pa.field("file", pa.string())])
_TEXT = {f.name for f in record_schema() if pa.types.is_string(f.type)}
_PLAIN = ("window_s", "rate", "rate_variance", "out_rate", "bytes_per_s")


def took(component: str, tuples: float, stream: str = "default", **more: Any) -> Row:
    return {"component": component, "stream": stream, "tuples": tuples, **more}


def put(tuples: float, stream: str = "default", **more: Any) -> Row:
    return {"stream": stream, "tuples": tuples, **more}


# -- records -----------------------------------------------------------------------------------


def accepted(rows: Iterable[Row]) -> pa.Table:
    """Records as the intake writes them; what a row does not say is absent, or as usual."""
    table = _plain(rows)
    return as_records(table).append_column("file", table["file"].dictionary_encode())


def accepted_frame(spark: SparkSession, rows: Iterable[Row]) -> DataFrame:
    """The same on Spark."""
    return spark.createDataFrame(_plain(rows))


def _plain(rows: Iterable[Row]) -> pa.Table:
    return _table(_ACCEPTED, ({"file": "f", **_RECORD, **row} for row in rows))


def _table(schema: pa.Schema, rows: Iterable[Row]) -> pa.Table:
    whole = list(rows)
    for row in whole:
        _check(row, schema.names)
    return pa.Table.from_pylist(whole, schema=schema)


def _check(row: Row, names: Iterable[str]) -> None:
    unknown = set(row) - set(names)
    if unknown:
        raise ValueError(f"no such column: {sorted(unknown)}")


# -- windows -----------------------------------------------------------------------------------


def slot_windows(rows: Iterable[Row], vocabulary: Vocabulary) -> SlotWindows:
    """Windows as the records of a slot give them; what a row does not say is unknown."""
    whole = [{**_WINDOW, **row} for row in rows]
    lists = pa.schema([record_schema().field(name) for name in ("inputs", "outputs")])
    for row in whole:
        _check(row, {*PLACE, *FIGURES, *_PLAIN, *lists.names, "time_ms", "status"})
    places = {name: _numbers(whole, name, vocabulary) for name in PLACE if name != "last_task"}
    last = [row.get("last_task", row["task"]) for row in whole]
    places["last_task"] = np.array(last, dtype=np.int64)
    groups = Groups.of(*(places[name] for name in PLACE))
    entries = pa.Table.from_pylist(
        [{name: row.get(name) for name in lists.names} for row in whole], schema=lists
    )
    return SlotWindows(
        place=groups.of_row,
        places=groups.keys(places, PLACE),
        time_ms=np.array([row["time_ms"] for row in whole], dtype=np.int64),
        status=np.array([STATUSES.index(row["status"]) for row in whole], dtype=np.int64),
        figures={name: _figures(whole, name) for name in FIGURES},
        inputs=stream_counts(entries["inputs"], vocabulary),
        outputs=stream_counts(entries["outputs"], vocabulary),
        **{name: _figures(whole, name) for name in _PLAIN},
    )


def rates_frame(spark: SparkSession, rows: Iterable[Row]) -> DataFrame:
    """Rows of the table of rates."""
    names = RATES.names
    whole = [{"hour": HOUR, **_WINDOW, **row} for row in rows]
    for row in whole:
        _check(row, names)
    doubles = {f.name for f in RATES.fields if f.dataType.typeName() == "double"}

    def value(row: Row, name: str) -> Any:
        given = row.get(name)
        return float(given) if name in doubles and given is not None else given

    return spark.createDataFrame([tuple(value(row, n) for n in names) for row in whole], RATES)


def _numbers(rows: list[Row], name: str, vocabulary: Vocabulary) -> np.ndarray:
    values = [row[name] for row in rows]
    return np.array([vocabulary.number(v) if name in _TEXT else v for v in values], dtype=np.int64)


def _figures(rows: list[Row], name: str) -> np.ndarray:
    return np.array([np.nan if row.get(name) is None else row[name] for row in rows], dtype=float)


# -- back to rows ------------------------------------------------------------------------------


def as_rows(table: Mapping[str, Any], vocabulary: Vocabulary) -> list[Row]:
    """A table's rows: text as text, and ``None`` for what is not known."""
    words = vocabulary.words
    texts = {name for name in table if _is_text(name)}

    def value(name: str, given: Any) -> Any:
        if name in texts:
            return words[given] if given >= 0 else None
        if isinstance(given, float | np.floating):
            return None if np.isnan(given) else float(given)
        known = given.item()
        return None if known == np.iinfo(np.int64).min else known

    names = list(table)
    return [
        {name: value(name, cell) for name, cell in zip(names, cells, strict=True)}
        for cells in zip(*table.values(), strict=True)
    ]


def _is_text(name: str) -> bool:
    plain = name.removeprefix("source_").removeprefix("target_")
    return plain in _TEXT or name in {
        "stream", "source", "target", "distance", "hour", "slot", "level", "path",
    }  # fmt: skip


def record_rows(counts: TaskCounts | SlotWindows, vocabulary: Vocabulary) -> list[Row]:
    """Of every record or window: its place, its figures, and its lists."""
    if isinstance(counts, TaskCounts):
        names = ["window_ms", "produced", "sample_rate", "uptime_s"]
    else:
        names = list(_PLAIN)
    table: Columns = {name: counts.of_place(name) for name in PLACE}
    table |= {"time_ms": counts.time_ms, **counts.figures}
    table |= {name: getattr(counts, name) for name in names}
    rows = as_rows(table, vocabulary)
    lists = {name: _lists(getattr(counts, name), vocabulary) for name in ("inputs", "outputs")}
    for n, row in enumerate(rows):
        row["status"] = STATUSES[counts.status[n]]
        row |= {name: entries[n] for name, entries in lists.items()}
    return rows


def _lists(counts: StreamCounts, vocabulary: Vocabulary) -> list[list[Row] | None]:
    lists: list[list[Row] | None] = [[] if present else None for present in counts.present]
    for number, entry in zip(counts.row, as_rows(counts.of, vocabulary), strict=True):
        own = lists[number]
        assert own is not None
        own.append(entry)
    return lists


def by_task(rows: Iterable[Row]) -> dict[int, list[Row]]:
    """Rows of each task in the order of time."""
    tasks: dict[int, list[Row]] = {}
    for row in sorted(rows, key=lambda r: (r["task"], r["time_ms"])):
        tasks.setdefault(row["task"], []).append(row)
    return tasks


def columns_of(rows: Iterable[Row], schema: pa.Schema, vocabulary: Vocabulary) -> Columns:
    """Rows as a table of columns."""
    return from_arrow(_table(schema, rows), vocabulary)

"""Frames of records and of windows, so that a test says only what it is about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from penstock.telemetry.schemas import RECORD, WINDOWS

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
    "hour": HOUR,
}
#: Records that passed every check, with the file they came from and their hour.
ACCEPTED = T.StructType(
    [*RECORD.fields, T.StructField("file", T.StringType()), T.StructField("hour", T.StringType())]
)


def took(component: str, tuples: float, stream: str = "default", **more: Any) -> Row:
    return {"component": component, "stream": stream, "tuples": tuples, **more}


def put(tuples: float, stream: str = "default", **more: Any) -> Row:
    return {"stream": stream, "tuples": tuples, **more}


def accepted(spark: SparkSession, rows: Iterable[Row]) -> DataFrame:
    """Records as ingest hands them on; what a row does not say is absent, or as usual."""
    return _frame(spark, ACCEPTED, ({"file": "f", "hour": HOUR, **_RECORD, **r} for r in rows))


def windows(spark: SparkSession, rows: Iterable[Row]) -> DataFrame:
    """Rows of the table of rates."""
    return _frame(spark, WINDOWS, ({**_WINDOW, **row} for row in rows))


def _frame(spark: SparkSession, schema: T.StructType, rows: Iterable[Row]) -> DataFrame:
    names = set(schema.names)
    given = []
    for row in rows:
        unknown = set(row) - names
        if unknown:
            raise ValueError(f"no such column: {sorted(unknown)}")
        given.append(tuple(_value(schema[name].dataType, row.get(name)) for name in schema.names))
    return spark.createDataFrame(given, schema)


def _value(kind: T.DataType, value: Any) -> Any:
    """Numbers as Spark wants them, entries of lists in the order of their fields."""
    if value is None:
        return None
    if isinstance(kind, T.DoubleType):
        return float(value)
    if isinstance(kind, T.ArrayType) and isinstance(kind.elementType, T.StructType):
        fields = kind.elementType.fields
        return [tuple(_value(f.dataType, entry.get(f.name)) for f in fields) for entry in value]
    return value

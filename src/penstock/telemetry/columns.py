"""Columns of any width, as Parquet files of others have them, to the record's own types."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from penstock.errors import Finding, InputError
from penstock.model.telemetry import SAMPLE_FIELDS, FieldType, SampleField
from penstock.telemetry.checks import ENTRY_FIELDS, RecordCheck, not_finite
from penstock.telemetry.reasons import TOO_LARGE, Reason
from penstock.telemetry.schemas import RECORD, spark_type

_NUMBER_TYPES = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
#: Types of numbers that may have a fraction, or more than 64 bits.
_WIDER = (T.FloatType, T.DoubleType, T.DecimalType)


def whole(number: Column) -> Column:
    """A number as the whole one it is; null where it has a fraction or more than 64 bits."""
    fits = (F.abs(number.cast("double")) < TOO_LARGE) & (number % 1 == 0)
    return F.when(fits, number.try_cast("bigint"))


def require_columns(schema: T.StructType) -> None:
    """Refuse columns that can never hold a record: missing or of a wrong type, all at once."""
    have = {f.name: f.dataType for f in schema.fields}
    findings = []
    for f in SAMPLE_FIELDS:
        if f.name not in have:
            if f.required and f.name != "machine_type":
                findings.append(Finding("missing column", field=f.name))
            continue
        if not _castable(have[f.name], f):
            actual, expected = have[f.name].simpleString(), RECORD[f.name].dataType.simpleString()
            findings.append(Finding(f"column is {actual}, expected {expected}", field=f.name))
    if findings:
        raise InputError(*findings)


def _castable(column_type: T.DataType, f: SampleField) -> bool:
    if f.type in ENTRY_FIELDS:
        entries = _entry_types(column_type)
        return bool(entries) and all(
            _castable(entries[entry.name], entry) if entry.name in entries else not entry.required
            for entry in ENTRY_FIELDS[f.type]
        )
    is_number = column_type.simpleString().startswith(_NUMBER_TYPES)
    return is_number or (f.type is FieldType.TEXT and column_type.simpleString() == "string")


def _entry_types(column_type: T.DataType) -> dict[str, T.DataType]:
    """Types of the fields of a list's entries; none where it is no list of such."""
    if isinstance(column_type, T.ArrayType) and isinstance(column_type.elementType, T.StructType):
        return {entry.name: entry.dataType for entry in column_type.elementType.fields}
    return {}


def record_columns(schema: T.StructType) -> list[Column]:
    """The record's fields from the columns of a frame; null where there is none."""
    have = {f.name: f.dataType for f in schema.fields}
    return [
        (_read(f, have[f.name], F.col(f.name)) if f.name in have else F.lit(None))
        .cast(spark_type(f))
        .alias(f.name)
        for f in SAMPLE_FIELDS
    ]


def _read(f: SampleField, column_type: T.DataType, value: Column) -> Column:
    """A field from a column; null where what is there does not fit into the field's type."""
    if _is_wider(f, column_type):
        return whole(value)
    entries, fields = _entry_types(column_type), ENTRY_FIELDS.get(f.type, ())
    if not fields or column_type == spark_type(f):
        return value

    def ordered(entry: Column) -> Column:
        """By name, in our order: Spark casts the fields of an entry by position."""
        values = [
            (_read(e, entries[e.name], entry[e.name]) if e.name in entries else F.lit(None))
            .cast(spark_type(e))
            .alias(e.name)
            for e in fields
        ]
        return F.when(entry.isNotNull(), F.struct(*values))

    return F.transform(value, ordered)


def _is_wider(f: SampleField, column_type: T.DataType) -> bool:
    return f.type is FieldType.WHOLE and isinstance(column_type, _WIDER)


def unread_checks(schema: T.StructType, cells: Column) -> list[RecordCheck]:
    """Why a number that is there does not fit; ``cells`` has the columns as they came."""
    have = {f.name: f.dataType for f in schema.fields}
    checks = []
    for f in (f for f in SAMPLE_FIELDS if f.name in have):
        cell = cells[f.name]
        if _is_wider(f, have[f.name]):
            checks += [
                RecordCheck(fails(cell), reason, f.name) for reason, fails in _UNREAD.items()
            ]
        entries = _entry_types(have[f.name])
        for e in ENTRY_FIELDS.get(f.type, ()):
            if e.name in entries and _is_wider(e, entries[e.name]):
                checks += _unread_entries(f, e, cell)
    return checks


def _unread_entries(f: SampleField, e: SampleField, entries: Column) -> list[RecordCheck]:
    def among(fails: Callable[[Column], Column]) -> Column:
        return F.coalesce(F.exists(entries, lambda entry: fails(entry[e.name])), F.lit(False))

    return [
        RecordCheck(among(fails), reason, f"{f.name}.{e.name}") for reason, fails in _UNREAD.items()
    ]


def _is_infinite(cell: Column) -> Column:
    return F.coalesce(not_finite(cell.cast("double")), F.lit(False))


def _is_too_large(cell: Column) -> Column:
    return F.coalesce(F.abs(cell.cast("double")) >= TOO_LARGE, F.lit(False))


def _has_fraction(cell: Column) -> Column:
    return F.coalesce(cell % 1 != 0, F.lit(False))


_UNREAD: dict[Reason, Callable[[Column], Column]] = {
    Reason.NOT_FINITE: _is_infinite,
    Reason.OUT_OF_RANGE: _is_too_large,
    Reason.WRONG_TYPE: _has_fraction,
}

"""From raw lines or columns to typed records, each with the reason to set it aside, if any.

Nothing is dropped here: a record that fails a check keeps its raw text and says why. All checks are
Spark SQL expressions built from the record's table of fields, so that a new field is checked too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, reduce
from operator import and_, or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.model.telemetry import SAMPLE_FIELDS, Counters, FieldType, SampleField
from penstock.telemetry.checks import (
    ENTRY_FIELDS,
    LISTS,
    RecordCheck,
    Value,
    entry_checks,
    is_nested,
    is_sound,
    not_finite,
    scalar_checks,
    spoilt,
    type_of_host,
)
from penstock.telemetry.columns import record_columns, require_columns, unread_checks, whole
from penstock.telemetry.reasons import LONGEST_LINE, TOO_LARGE, Reason
from penstock.telemetry.schemas import RECORD

#: What a raw record carries beside its fields.
EXTRA_COLUMNS = ("raw", "file", "reason", "field")
COLUMNS = (*(f.name for f in SAMPLE_FIELDS), *EXTRA_COLUMNS)

_BAR = "|"


def from_lines(
    lines: DataFrame, types: Mapping[str, str], now_ms: int, horizon_ms: int | None = None
) -> DataFrame:
    """Records from JSON lines; ``lines`` has the columns value and file.

    Records of before ``horizon_ms`` are set aside: the store does not keep their hours any more.

    Every line is read with the record's types first. Only where that fails is it read again as
    text, field by field, to take what is merely odd ("12" for 12) and to say what is wrong.
    """
    # With partial results a field of the wrong type would be null, as if it were not there.
    lines.sparkSession.conf.set("spark.sql.json.enablePartialResults", "false")
    value = F.col("value")
    too_long = F.octet_length(value) > LONGEST_LINE
    no_text = ~F.is_valid_utf8(value)
    no_object = ~F.ltrim(value).startswith("{")
    readable = F.when(~(too_long | no_text | no_object), value)
    nonblank = lines.where(F.trim(value) != "")
    quick = _once(nonblank, quick=_only_record(readable, RECORD.simpleString()))
    as_text = ", ".join(f"`{f.name}`: string" for f in SAMPLE_FIELDS)
    failed = F.when(F.col("quick").isNull(), readable)
    slow = _once(quick, text=_only_record(failed, f"struct<{as_text}>"))
    text = {f.name: F.col("text")[f.name] for f in SAMPLE_FIELDS}
    careful = F.struct(*[_from_text(f, text[f.name]).alias(f.name) for f in SAMPLE_FIELDS])
    typed = _once(slow, typed=F.coalesce("quick", F.when(F.col("text").isNotNull(), careful)))
    checks = [
        RecordCheck(too_long, Reason.TOO_LONG),
        RecordCheck(no_text, Reason.NOT_UTF8),
        RecordCheck(no_object & F.get_json_object(value, "$").isNotNull(), Reason.NOT_AN_OBJECT),
        RecordCheck(F.col("typed").isNull(), Reason.NOT_JSON),
        *_type_checks(text),
    ]
    return _judged(typed, checks, types, now_ms, value.cast("binary"), horizon_ms)


def _only_record(text: Column, schema: str) -> Column:
    """The one object in a text, or null. Read as a list: else what follows it goes unnoticed."""
    records = F.from_json(F.concat(F.lit("["), text, F.lit("]")), f"array<{schema}>")
    return F.when(F.size(records) == 1, records[0])


def from_columns(
    frame: DataFrame, types: Mapping[str, str], now_ms: int, horizon_ms: int | None = None
) -> DataFrame:
    """Records from typed columns, as Parquet has them; also needs the column file."""
    require_columns(frame.schema)
    present = [f.name for f in SAMPLE_FIELDS if f.name in frame.columns]
    typed = frame.select("file", F.struct(*present).alias("given"), *record_columns(frame.schema))
    unread = unread_checks(frame.schema, F.col("given"))
    # Two passes over the files, because nearly all records are sound, and that is seen quickly;
    # what exactly is wrong with the others takes ten times as long to find out.
    sound = reduce(
        and_, [~check.fails for check in unread], is_sound(F.col, types, now_ms, horizon_ms)
    )
    names = [f.name for f in SAMPLE_FIELDS]
    others = typed.where(~sound).select("file", "given", F.struct(*names).alias("typed"))
    raw = F.to_json("given").cast("binary")
    judged = _judged(others, unread, types, now_ms, raw, horizon_ms)
    return _accepted(typed.where(sound), types).unionByName(judged)


def _once(frame: DataFrame, **columns: Column) -> DataFrame:
    """Add columns that are computed once, however often they are used.

    Spark puts the expression behind a column wherever the column is used, and would parse a line
    again for each of its fields; it does not look through an explode.
    """
    ((name, column),) = columns.items()
    return frame.select("*", F.explode(F.array(column)).alias(name))


# -- types -------------------------------------------------------------------------------------


def _from_text(f: SampleField, text: Column) -> Column:
    """A field from its text; null where it is absent, and where it cannot be that."""
    if f.type in ENTRY_FIELDS:
        fields = ENTRY_FIELDS[f.type]

        def typed(entry: Column) -> Column:
            values = [_from_text(field, entry[field.name]).alias(field.name) for field in fields]
            wrong = [_mistyped(field, entry[field.name]) for field in fields]
            # A list that holds one thing of the wrong type is of the wrong type.
            return F.when(~reduce(or_, wrong), F.struct(*values))

        return F.transform(_entries_as_text(f, text), typed)
    if f.type is FieldType.TEXT:
        return F.when(~is_nested(text), text)
    return _number(f, text)


def _entries_as_text(f: SampleField, text: Column) -> Column:
    as_text = ", ".join(f"`{entry.name}`: string" for entry in ENTRY_FIELDS[f.type])
    return F.from_json(F.when(text.startswith("["), text), f"array<struct<{as_text}>>")


def _number(f: SampleField, text: Column) -> Column:
    """Lenient where nothing is lost: "12" is a number, and a port given as number is text."""
    # NaN and Infinity come through in quotes, because JSON has no such numbers.
    digits = F.trim(text, F.lit('"'))
    if f.type is FieldType.WHOLE:
        return F.coalesce(digits.try_cast("bigint"), whole(digits.try_cast("double")))
    return digits.try_cast("double")


def _mistyped(f: SampleField, text: Column) -> Column:
    value = is_nested(text) if f.type is FieldType.TEXT else _number(f, text).isNull()
    return F.coalesce(text.isNotNull() & value, F.lit(False))


def _type_checks(text: Mapping[str, Column]) -> list[RecordCheck]:
    """What was given but could not be read as its type."""
    checks = []
    for f in SAMPLE_FIELDS:
        unread = text[f.name].isNotNull() & _value(f.name).isNull()
        if f.type in ENTRY_FIELDS:
            checks.append(RecordCheck(unread, Reason.BAD_ENTRY, f.name))
            checks += _entry_type_checks(f, text[f.name])
            continue
        if f.type is FieldType.WHOLE:
            number = F.trim(text[f.name], F.lit('"')).try_cast("double")
            checks += _unread_wholes(unread, number, f.name)
        checks.append(RecordCheck(unread, Reason.WRONG_TYPE, f.name))
    return checks


def _unread_wholes(unread: Column, number: Column, name: str) -> list[RecordCheck]:
    """Why a number could not be read as a whole one of 64 bits."""
    return [
        RecordCheck(unread & not_finite(number), Reason.NOT_FINITE, name),
        RecordCheck(unread & (F.abs(number) >= TOO_LARGE), Reason.OUT_OF_RANGE, name),
    ]


def _entry_type_checks(f: SampleField, text: Column) -> list[RecordCheck]:
    """Which field of an entry could not be read: the entry as a whole is gone by now."""
    entries = _entries_as_text(f, text)
    checks = []
    for field in ENTRY_FIELDS[f.type]:
        name = f"{f.name}.{field.name}"
        if field.type is FieldType.WHOLE:
            checks.append(
                RecordCheck(_any(entries, field, _is_too_large), Reason.OUT_OF_RANGE, name)
            )
        checks.append(
            RecordCheck(_any(entries, field, partial(_mistyped, field)), Reason.WRONG_TYPE, name)
        )
    return checks


def _any(entries: Column, field: SampleField, holds: Callable[[Column], Column]) -> Column:
    return F.exists(entries, lambda entry: holds(entry[field.name]))


def _is_too_large(text: Column) -> Column:
    number = F.trim(text, F.lit('"')).try_cast("double")
    return F.coalesce((F.abs(number) >= TOO_LARGE) & ~not_finite(number), F.lit(False))


# -- the verdict -------------------------------------------------------------------------------


def _value(name: str) -> Column:
    return F.col("typed")[name]


def _judged(
    frame: DataFrame,
    checks: list[RecordCheck],
    types: Mapping[str, str],
    now_ms: int,
    raw: Column,
    horizon_ms: int | None,
) -> DataFrame:
    """The typed record with the first check it fails; one that fails none has no reason."""
    looked = _once(frame, spoilt=F.struct(*[spoilt(f, _value).alias(f.name) for f in LISTS]))
    every = [*checks, *scalar_checks(_value, types, now_ms, horizon_ms)]
    for f in LISTS:
        every += entry_checks(f, _value, F.col("spoilt")[f.name])
    first = F.coalesce(
        *[F.when(check.fails, f"{check.reason.value}{_BAR}{check.field}") for check in every]
    )
    verdict = F.col("verdict")
    return _once(looked, verdict=first).select(
        *_filled(_value, types),
        # Only a record that is set aside needs its text again.
        F.when(verdict.isNotNull(), raw).alias("raw"),
        "file",
        F.split_part(verdict, F.lit(_BAR), F.lit(1)).alias("reason"),
        F.split_part(verdict, F.lit(_BAR), F.lit(2)).alias("field"),
    )


def _accepted(sound: DataFrame, types: Mapping[str, str]) -> DataFrame:
    """Records known to fail no check, as :func:`_judged` gives them."""
    return sound.select(
        *_filled(F.col, types),
        F.lit(None).cast("binary").alias("raw"),
        "file",
        F.lit(None).cast("string").alias("reason"),
        F.lit(None).cast("string").alias("field"),
    )


def _filled(value: Value, types: Mapping[str, str]) -> list[Column]:
    """The fields; what a record leaves out is filled in here, so that no later step must know."""
    filled = {
        "machine_type": F.coalesce(value("machine_type"), type_of_host(types, value("host"))),
        "run": F.coalesce(value("run"), F.lit("")),
        "rack": F.coalesce(value("rack"), F.lit("")),
        "counters": F.coalesce(value("counters"), F.lit(Counters.DELTA.value)),
        "sample_rate": F.coalesce(value("sample_rate"), F.lit(1.0)),
    }
    return [filled.get(f.name, value(f.name)).alias(f.name) for f in SAMPLE_FIELDS]

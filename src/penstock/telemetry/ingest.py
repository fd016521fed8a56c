"""From raw lines or columns to typed records, each with the reason to set it aside, if any.

Nothing is dropped here: a record that fails a check keeps its raw text and says why. All checks are
Spark SQL expressions built from the record's table of fields, so that a new field is checked too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from penstock.errors import Finding, InputError
from penstock.model.telemetry import (
    INPUT_FIELDS,
    OUTPUT_FIELDS,
    SAMPLE_FIELDS,
    SAMPLE_VERSION,
    Counters,
    FieldType,
    SampleField,
)
from penstock.telemetry.reasons import (
    EARLIEST_MS,
    LATEST_MS,
    LONGEST_LINE,
    LONGEST_WINDOW_MS,
    MOST_CPU_POINTS,
    Reason,
)
from penstock.telemetry.schemas import RECORD, spark_type

#: What a raw record carries beside its fields.
EXTRA_COLUMNS = ("raw", "file", "reason", "field")
COLUMNS = (*(f.name for f in SAMPLE_FIELDS), *EXTRA_COLUMNS)

_ENTRY_FIELDS = {FieldType.INPUTS: INPUT_FIELDS, FieldType.OUTPUTS: OUTPUT_FIELDS}
_NUMERIC = (FieldType.WHOLE, FieldType.NUMBER)
_NUMBER_TYPES = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_BAR = "|"
#: Read as milliseconds, every moment of this century given in seconds lies before 1980.
_SECONDS_END_MS = 315_532_800_000
#: Clocks differ, and hosts may stand in a wrong time zone.
_AHEAD_MS = 86_400_000


@dataclass(frozen=True)
class _Check:
    fails: Column
    reason: Reason
    field: str = ""


def from_lines(lines: DataFrame, types: Mapping[str, str], now_ms: int) -> DataFrame:
    """Records from JSON lines; ``lines`` has the columns value and file.

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
    given = lines.where(F.trim(value) != "")
    quick = _once(given, quick=_only_record(readable, RECORD.simpleString()))
    as_text = ", ".join(f"`{f.name}`: string" for f in SAMPLE_FIELDS)
    failed = F.when(F.col("quick").isNull(), readable)
    slow = _once(quick, text=_only_record(failed, f"struct<{as_text}>"))
    text = {f.name: F.col("text")[f.name] for f in SAMPLE_FIELDS}
    careful = F.struct(*[_from_text(f, text[f.name]).alias(f.name) for f in SAMPLE_FIELDS])
    typed = _once(slow, typed=F.coalesce("quick", F.when(F.col("text").isNotNull(), careful)))
    checks = [
        _Check(too_long, Reason.TOO_LONG),
        _Check(no_text, Reason.NOT_UTF8),
        _Check(no_object & F.get_json_object(value, "$").isNotNull(), Reason.NOT_AN_OBJECT),
        _Check(F.col("typed").isNull(), Reason.NOT_JSON),
        *_type_checks(text),
        *_value_checks(types, now_ms),
    ]
    return _judged(typed, checks, types, raw=value.cast("binary"))


def _only_record(text: Column, schema: str) -> Column:
    """The one object in a text, or null. Read as a list: else what follows it goes unnoticed."""
    records = F.from_json(F.concat(F.lit("["), text, F.lit("]")), f"array<{schema}>")
    return F.when(F.size(records) == 1, records[0])


def from_columns(frame: DataFrame, types: Mapping[str, str], now_ms: int) -> DataFrame:
    """Records from typed columns, as Parquet has them; also needs the column file."""
    require_columns(frame)
    have = set(frame.columns)
    columns = [
        (_by_name(frame, f) if f.name in have else F.lit(None)).cast(spark_type(f)).alias(f.name)
        for f in SAMPLE_FIELDS
    ]
    typed = frame.select("file", F.struct(*columns).alias("typed"))
    checks = _value_checks(types, now_ms)
    return _judged(typed, checks, types, raw=F.to_json("typed").cast("binary"))


def _by_name(frame: DataFrame, f: SampleField) -> Column:
    """A column whose entries have their fields in our order: Spark casts them by position."""
    column = F.col(f.name)
    if f.type not in _ENTRY_FIELDS:
        return column
    have = _entry_types(frame.schema[f.name].dataType)
    if list(have) == [entry.name for entry in _ENTRY_FIELDS[f.type]]:
        return column

    def ordered(entry: Column) -> Column:
        values = [
            (entry[e.name] if e.name in have else F.lit(None)).cast(spark_type(e)).alias(e.name)
            for e in _ENTRY_FIELDS[f.type]
        ]
        return F.when(entry.isNotNull(), F.struct(*values))

    return F.transform(column, ordered)


def _entry_types(seen: T.DataType) -> dict[str, T.DataType]:
    """Types of the fields of a list's entries; none where it is no list of such."""
    if isinstance(seen, T.ArrayType) and isinstance(seen.elementType, T.StructType):
        return {entry.name: entry.dataType for entry in seen.elementType.fields}
    return {}


def _once(frame: DataFrame, **columns: Column) -> DataFrame:
    """Add columns that are computed once, however often they are used.

    Spark puts the expression behind a column wherever the column is used, and would parse a line
    again for each of its fields; it does not look through an explode.
    """
    ((name, column),) = columns.items()
    return frame.select("*", F.explode(F.array(column)).alias(name))


def require_columns(frame: DataFrame) -> None:
    """Refuse columns that can never hold a record: missing or of a wrong type, all at once."""
    have = {f.name: f.dataType for f in frame.schema.fields}
    findings = []
    for f in SAMPLE_FIELDS:
        if f.name not in have:
            if f.required and f.name != "machine_type":
                findings.append(Finding("missing column", field=f.name))
            continue
        if not _castable(have[f.name], f):
            seen, wanted = have[f.name].simpleString(), RECORD[f.name].dataType.simpleString()
            findings.append(Finding(f"column is {seen}, expected {wanted}", field=f.name))
    if findings:
        raise InputError(*findings)


def _castable(seen: T.DataType, f: SampleField) -> bool:
    if f.type in _ENTRY_FIELDS:
        entries = _entry_types(seen)
        return bool(entries) and all(
            _castable(entries[entry.name], entry) if entry.name in entries else not entry.required
            for entry in _ENTRY_FIELDS[f.type]
        )
    is_number = seen.simpleString().startswith(_NUMBER_TYPES)
    return is_number or (f.type is FieldType.TEXT and seen.simpleString() == "string")


# -- types -------------------------------------------------------------------------------------


def _from_text(f: SampleField, text: Column) -> Column:
    """A field from its text; null where it is absent, and where it cannot be that."""
    if f.type in _ENTRY_FIELDS:
        fields = _ENTRY_FIELDS[f.type]

        def typed(entry: Column) -> Column:
            values = [_from_text(field, entry[field.name]).alias(field.name) for field in fields]
            wrong = [_mistyped(field, entry[field.name]) for field in fields]
            # A list that holds one thing of the wrong type is of the wrong type.
            return F.when(~reduce(or_, wrong), F.struct(*values))

        return F.transform(_entries_as_text(f, text), typed)
    if f.type is FieldType.TEXT:
        return F.when(~_nested(text), text)
    return _number(f, text)


def _entries_as_text(f: SampleField, text: Column) -> Column:
    as_text = ", ".join(f"`{entry.name}`: string" for entry in _ENTRY_FIELDS[f.type])
    return F.from_json(F.when(text.startswith("["), text), f"array<struct<{as_text}>>")


def _nested(text: Column) -> Column:
    return text.startswith("{") | text.startswith("[")


def _number(f: SampleField, text: Column) -> Column:
    """Lenient where nothing is lost: "12" is a number, and a port given as number is text."""
    # NaN and Infinity come through in quotes, because JSON has no such numbers.
    number = F.trim(text, F.lit('"')).try_cast("double")
    if f.type is FieldType.WHOLE:
        return F.when(number == F.floor(number), number.try_cast("bigint"))
    return number


def _mistyped(f: SampleField, text: Column) -> Column:
    value = _nested(text) if f.type is FieldType.TEXT else _number(f, text).isNull()
    return F.coalesce(text.isNotNull() & value, F.lit(False))


def _type_checks(text: Mapping[str, Column]) -> list[_Check]:
    """What was given but could not be read as its type."""
    checks = []
    for f in SAMPLE_FIELDS:
        unread = text[f.name].isNotNull() & _value(f.name).isNull()
        if f.type in _ENTRY_FIELDS:
            checks.append(_Check(unread, Reason.BAD_ENTRY, f.name))
            checks += _entry_type_checks(f, text[f.name])
            continue
        if f.type is FieldType.WHOLE:
            infinite = F.trim(text[f.name], F.lit('"')).isin("NaN", "Infinity", "-Infinity")
            checks.append(_Check(infinite, Reason.NOT_FINITE, f.name))
        checks.append(_Check(unread, Reason.WRONG_TYPE, f.name))
    return checks


def _entry_type_checks(f: SampleField, text: Column) -> list[_Check]:
    """Which field of an entry could not be read: the entry as a whole is gone by now."""
    entries = _entries_as_text(f, text)

    def unread(field: SampleField) -> Column:
        return F.exists(entries, lambda entry: _mistyped(field, entry[field.name]))

    fields = _ENTRY_FIELDS[f.type]
    return [_Check(unread(e), Reason.WRONG_TYPE, f"{f.name}.{e.name}") for e in fields]


# -- values ------------------------------------------------------------------------------------


def _value(name: str) -> Column:
    return F.col("typed")[name]


def _value_checks(types: Mapping[str, str], now_ms: int) -> list[_Check]:
    """The checks of typed fields, in the order in which the first failure is reported."""
    version = _value("version")
    checks = [
        _Check(version.isNull(), Reason.MISSING_FIELD, "version"),
        _Check(version != SAMPLE_VERSION, Reason.UNKNOWN_VERSION, "version"),
    ]
    for f in SAMPLE_FIELDS:
        if f.name == "machine_type":
            known = F.coalesce(_value(f.name), _type_of_host(types, _value("host")))
            checks.append(_Check(known.isNull(), Reason.NO_MACHINE_TYPE, f.name))
        elif f.required:
            checks.append(_Check(_value(f.name).isNull(), Reason.MISSING_FIELD, f.name))
    scalars = [f for f in SAMPLE_FIELDS if f.type not in _ENTRY_FIELDS]
    for f in scalars:
        if f.type is FieldType.NUMBER:
            checks.append(_Check(_not_finite(_value(f.name)), Reason.NOT_FINITE, f.name))
        elif f.type is FieldType.TEXT:
            checks.append(_Check(_nested(_value(f.name)), Reason.WRONG_TYPE, f.name))
            checks.append(_Check(F.trim(_value(f.name)) == "", Reason.EMPTY_NAME, f.name))
    checks += _time_checks(_value("time_ms"), _value("window_ms"), now_ms)
    for f in scalars:
        if f.type in _NUMERIC and f.name not in ("version", "time_ms", "task"):
            checks.append(_Check(_value(f.name) < 0, Reason.NEGATIVE, f.name))
    checks += _range_checks()
    for f in SAMPLE_FIELDS:
        if f.type in _ENTRY_FIELDS:
            checks += _entry_checks(f)
    return checks


def _not_finite(value: Column) -> Column:
    return F.isnan(value) | (F.abs(value) == float("inf"))


def _time_checks(time: Column, window: Column, now_ms: int) -> list[_Check]:
    return [
        _Check((time < _SECONDS_END_MS) | (time > LATEST_MS), Reason.TIME_UNIT, "time_ms"),
        _Check(time < EARLIEST_MS, Reason.TOO_OLD, "time_ms"),
        _Check(time > now_ms + _AHEAD_MS, Reason.FUTURE, "time_ms"),
        _Check((window <= 0) | (window > LONGEST_WINDOW_MS), Reason.BAD_WINDOW, "window_ms"),
    ]


def _range_checks() -> list[_Check]:
    rate, kinds = _value("sample_rate"), [kind.value for kind in Counters]
    checks = [
        _Check(_value("queue_fill") > 1, Reason.OUT_OF_RANGE, "queue_fill"),
        _Check((rate <= 0) | (rate > 1), Reason.OUT_OF_RANGE, "sample_rate"),
        _Check(~_value("counters").isin(kinds), Reason.UNKNOWN_COUNTERS, "counters"),
    ]
    for name in ("cpu_points", "worker_cpu_points"):
        checks.append(_Check(_value(name) > MOST_CPU_POINTS, Reason.IMPOSSIBLE_CPU, name))
    return checks


_Failure = tuple[Reason, str, Callable[[Column], Column]]


def _entry_failures(f: SampleField) -> list[_Failure]:
    """What can be wrong with an entry: the reason, the field, and whether the entry has it."""
    failures: list[_Failure] = []

    def add(reason: Reason, field: SampleField, fails: Callable[[Column], Column]) -> None:
        failures.append((reason, field.name, lambda entry: fails(entry[field.name])))

    for field in _ENTRY_FIELDS[f.type]:
        if field.required:
            add(Reason.MISSING_FIELD, field, lambda value: value.isNull())
        if field.type is FieldType.NUMBER:
            add(Reason.NOT_FINITE, field, _not_finite)
        if field.type in _NUMERIC:
            add(Reason.NEGATIVE, field, lambda value: value < 0)
        else:
            add(Reason.WRONG_TYPE, field, _nested)
            add(Reason.EMPTY_NAME, field, lambda value: F.trim(value) == "")
    return failures


def _spoilt(f: SampleField) -> Column:
    """Whether anything is wrong with any entry, in one look at each."""
    failures = _entry_failures(f)

    def wrong(entry: Column) -> Column:
        return reduce(or_, [F.coalesce(fails(entry), F.lit(False)) for _, _, fails in failures])

    return F.exists(_value(f.name), lambda entry: entry.isNull() | wrong(entry))


def _entry_checks(f: SampleField) -> list[_Check]:
    """Only of a list with something wrong is it asked what that is."""
    entries, spoilt = _value(f.name), F.col("spoilt")[f.name]
    checks = [_Check(spoilt & F.exists(entries, lambda e: e.isNull()), Reason.BAD_ENTRY, f.name)]
    for reason, name, fails in _entry_failures(f):
        checks.append(_Check(spoilt & F.exists(entries, fails), reason, f"{f.name}.{name}"))
    return checks


# -- the verdict -------------------------------------------------------------------------------


def _type_of_host(types: Mapping[str, str], host: Column) -> Column:
    if not types:
        return F.lit(None).cast("string")
    pairs = chain.from_iterable((F.lit(name), F.lit(kind)) for name, kind in sorted(types.items()))
    return F.create_map(*pairs)[host]


def _judged(
    frame: DataFrame, checks: list[_Check], types: Mapping[str, str], raw: Column
) -> DataFrame:
    """The typed record with the first check it fails; one that fails none has no reason."""
    first = F.coalesce(
        *[F.when(check.fails, f"{check.reason.value}{_BAR}{check.field}") for check in checks]
    )
    lists = [f for f in SAMPLE_FIELDS if f.type in _ENTRY_FIELDS]
    looked = _once(frame, spoilt=F.struct(*[_spoilt(f).alias(f.name) for f in lists]))
    judged = _once(looked, verdict=first)
    # What the records leave out is filled in once, here, so that no later step has to know.
    filled = {
        "machine_type": F.coalesce(_value("machine_type"), _type_of_host(types, _value("host"))),
        "run": F.coalesce(_value("run"), F.lit("")),
        "rack": F.coalesce(_value("rack"), F.lit("")),
        "counters": F.coalesce(_value("counters"), F.lit(Counters.DELTA.value)),
        "sample_rate": F.coalesce(_value("sample_rate"), F.lit(1.0)),
    }
    verdict = F.col("verdict")
    return judged.select(
        *[filled.get(f.name, _value(f.name)).alias(f.name) for f in SAMPLE_FIELDS],
        # Only a record that is set aside needs its text again.
        F.when(verdict.isNotNull(), raw).alias("raw"),
        "file",
        F.split_part(verdict, F.lit(_BAR), F.lit(1)).alias("reason"),
        F.split_part(verdict, F.lit(_BAR), F.lit(2)).alias("field"),
    )

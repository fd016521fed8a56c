"""What a typed record must satisfy, as Spark SQL expressions built from its table of fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as F

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
    AHEAD_MS,
    EARLIEST_MS,
    LARGEST,
    LATEST_MS,
    LONGEST_WINDOW_MS,
    MOST_CPU_POINTS,
    MOST_TASKS,
    TOO_LARGE,
    Reason,
)

#: A field of the record by name, wherever the frame has it.
Value = Callable[[str], Column]

ENTRY_FIELDS = {FieldType.INPUTS: INPUT_FIELDS, FieldType.OUTPUTS: OUTPUT_FIELDS}
LISTS = tuple(f for f in SAMPLE_FIELDS if f.type in ENTRY_FIELDS)
NUMERIC = (FieldType.WHOLE, FieldType.NUMBER)
#: Read as milliseconds, every moment of this century given in seconds lies before 1980.
_SECONDS_END_MS = 315_532_800_000


@dataclass(frozen=True)
class RecordCheck:
    """What is wrong with a record when ``fails`` is true."""

    fails: Column
    reason: Reason
    field: str = ""


def is_sound(
    value: Value, types: Mapping[str, str], now_ms: int, horizon_ms: int | None = None
) -> Column:
    """Whether a record fails none of the checks below, in as few steps as that takes.

    The same rules said once more, as one condition; a test holds the two against each other.
    """
    time, counters = value("time_ms"), value("counters")
    latest = min(LATEST_MS, now_ms + AHEAD_MS)
    earliest = max(EARLIEST_MS, horizon_ms or EARLIEST_MS)
    sound = (value("version") == SAMPLE_VERSION) & time.between(earliest, latest)
    sound &= value("window_ms").between(1, LONGEST_WINDOW_MS) & value("task").isNotNull()
    sound &= counters.isNull() | counters.isin([kind.value for kind in Counters])
    sound &= F.coalesce(value("machine_type"), type_of_host(types, value("host"))).isNotNull()
    for f in SAMPLE_FIELDS:
        cell = value(f.name)
        if f.type is FieldType.TEXT:
            named = F.trim(cell) != ""
            needed = f.required and f.name != "machine_type"
            sound &= named if needed else cell.isNull() | named
        elif f.type is FieldType.NUMBER:
            sound &= cell.isNull() | _within(cell, LARGEST.get(f.name))
        elif f.type in ENTRY_FIELDS:
            sound &= cell.isNull() | _entries_sound(f, cell)
    rate = value("sample_rate")
    sound &= _is_range(value)
    return F.coalesce(sound & (rate.isNull() | (rate > 0)), F.lit(False))


def _within(cell: Column, most: float | None = None) -> Column:
    # NaN is larger than infinity to Spark.
    return (cell >= 0) & ((cell < TOO_LARGE) if most is None else (cell <= most))


def _entries_sound(f: SampleField, entries: Column) -> Column:
    fields = ENTRY_FIELDS[f.type]

    def lacks(entry: Column) -> Column:
        # Only what must be there is looked at entry by entry, which is slow.
        missing = [entry.isNull()]
        for field in fields:
            if field.required:
                missing.append(entry[field.name].isNull())
            if field.type is FieldType.TEXT:
                missing.append(F.trim(entry[field.name]) == "")
        return reduce(or_, missing)

    sound = ~F.exists(entries, lacks)
    for field in fields:
        if field.type in NUMERIC:
            column = entries[field.name]
            least, most = F.array_min(column), F.array_max(column)
            sound &= least.isNull() | ((least >= 0) & (most < TOO_LARGE))
    return sound


def scalar_checks(
    value: Value, types: Mapping[str, str], now_ms: int, horizon_ms: int | None = None
) -> list[RecordCheck]:
    """The checks of single fields, in the order in which the first failure is reported.

    What is of before ``horizon_ms`` belongs to hours that have expired.
    """
    version = value("version")
    checks = [
        RecordCheck(version.isNull(), Reason.MISSING_FIELD, "version"),
        RecordCheck(version != SAMPLE_VERSION, Reason.UNKNOWN_VERSION, "version"),
    ]
    for f in SAMPLE_FIELDS:
        if f.name == "machine_type":
            known = F.coalesce(value(f.name), type_of_host(types, value("host")))
            checks.append(RecordCheck(known.isNull(), Reason.NO_MACHINE_TYPE, f.name))
        elif f.required:
            checks.append(RecordCheck(value(f.name).isNull(), Reason.MISSING_FIELD, f.name))
    scalars = [f for f in SAMPLE_FIELDS if f.type not in ENTRY_FIELDS]
    for f in scalars:
        if f.type is FieldType.NUMBER:
            checks.append(RecordCheck(not_finite(value(f.name)), Reason.NOT_FINITE, f.name))
        elif f.type is FieldType.TEXT:
            checks.append(RecordCheck(is_nested(value(f.name)), Reason.WRONG_TYPE, f.name))
            checks.append(RecordCheck(F.trim(value(f.name)) == "", Reason.EMPTY_NAME, f.name))
    checks += _time_checks(value("time_ms"), value("window_ms"), now_ms, horizon_ms)
    for f in scalars:
        if f.type in NUMERIC and f.name not in ("version", "time_ms", "task", "last_task"):
            checks.append(RecordCheck(value(f.name) < 0, Reason.NEGATIVE, f.name))
    return checks + _range_checks(value)


def _is_range(value: Value) -> Column:
    """A record may stand for the tasks of one executor, which are not so many."""
    # Of whole numbers of 64 bits the difference may have more.
    tasks = value("last_task").cast("double") - value("task").cast("double")
    return F.coalesce(tasks.between(0, MOST_TASKS), F.lit(True))


def not_finite(cell: Column) -> Column:
    return F.isnan(cell) | (F.abs(cell) == float("inf"))


def _time_checks(
    time: Column, window: Column, now_ms: int, horizon_ms: int | None
) -> list[RecordCheck]:
    return [
        RecordCheck((time < _SECONDS_END_MS) | (time > LATEST_MS), Reason.TIME_UNIT, "time_ms"),
        RecordCheck(time < EARLIEST_MS, Reason.TOO_OLD, "time_ms"),
        *(
            []
            if horizon_ms is None
            else [RecordCheck(time < horizon_ms, Reason.EXPIRED, "time_ms")]
        ),
        RecordCheck(time > now_ms + AHEAD_MS, Reason.FUTURE, "time_ms"),
        RecordCheck((window <= 0) | (window > LONGEST_WINDOW_MS), Reason.BAD_WINDOW, "window_ms"),
    ]


def _range_checks(value: Value) -> list[RecordCheck]:
    rate, kinds = value("sample_rate"), [kind.value for kind in Counters]
    checks = [
        *(RecordCheck(value(n) > 1, Reason.OUT_OF_RANGE, n) for n in ("queue_fill", "held_back")),
        RecordCheck(~_is_range(value), Reason.OUT_OF_RANGE, "last_task"),
        RecordCheck((rate <= 0) | (rate > 1), Reason.OUT_OF_RANGE, "sample_rate"),
        RecordCheck(~value("counters").isin(kinds), Reason.UNKNOWN_COUNTERS, "counters"),
    ]
    for name in ("cpu_points", "worker_cpu_points"):
        checks.append(RecordCheck(value(name) > MOST_CPU_POINTS, Reason.IMPOSSIBLE_CPU, name))
    for f in SAMPLE_FIELDS:
        if f.type is FieldType.NUMBER and f.name not in LARGEST:
            checks.append(RecordCheck(value(f.name) >= TOO_LARGE, Reason.OUT_OF_RANGE, f.name))
    return checks


_Failure = tuple[Reason, str, Callable[[Column], Column]]


def _entry_failures(f: SampleField) -> list[_Failure]:
    """What can be wrong with an entry: the reason, the field, and whether the entry has it."""
    failures: list[_Failure] = []

    def add(reason: Reason, field: SampleField, fails: Callable[[Column], Column]) -> None:
        failures.append((reason, field.name, lambda entry: fails(entry[field.name])))

    for field in ENTRY_FIELDS[f.type]:
        if field.required:
            add(Reason.MISSING_FIELD, field, lambda cell: cell.isNull())
        if field.type is FieldType.NUMBER:
            add(Reason.NOT_FINITE, field, not_finite)
            add(Reason.OUT_OF_RANGE, field, lambda cell: cell >= TOO_LARGE)
        if field.type in NUMERIC:
            add(Reason.NEGATIVE, field, lambda cell: cell < 0)
        else:
            add(Reason.WRONG_TYPE, field, is_nested)
            add(Reason.EMPTY_NAME, field, lambda cell: F.trim(cell) == "")
    return failures


def spoilt(f: SampleField, value: Value) -> Column:
    """Whether anything is wrong with any entry, in one look at each."""
    failures = _entry_failures(f)

    def wrong(entry: Column) -> Column:
        return reduce(or_, [F.coalesce(fails(entry), F.lit(False)) for _, _, fails in failures])

    return F.exists(value(f.name), lambda entry: entry.isNull() | wrong(entry))


def entry_checks(f: SampleField, value: Value, is_spoilt: Column) -> list[RecordCheck]:
    """Only of a list with something wrong is it asked what that is."""
    entries = value(f.name)
    checks = [
        RecordCheck(is_spoilt & F.exists(entries, lambda e: e.isNull()), Reason.BAD_ENTRY, f.name)
    ]
    for reason, name, fails in _entry_failures(f):
        checks.append(RecordCheck(is_spoilt & F.exists(entries, fails), reason, f"{f.name}.{name}"))
    return checks


def is_nested(text: Column) -> Column:
    return text.startswith("{") | text.startswith("[")


def type_of_host(types: Mapping[str, str], host: Column) -> Column:
    if not types:
        return F.lit(None).cast("string")
    pairs = chain.from_iterable((F.lit(name), F.lit(kind)) for name, kind in sorted(types.items()))
    return F.create_map(*pairs)[host]

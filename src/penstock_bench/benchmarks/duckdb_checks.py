"""The checks of the record in DuckDB's SQL: what a sound record is, and what is wrong with another.

Said once more and apart from the pipeline's own, from the same table of fields, for columns of the
record's own types; a test holds the two against each other on broken records.
"""

from __future__ import annotations

from collections.abc import Iterator

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
    LONGEST_WINDOW_MS,
    MOST_CPU_POINTS,
    TOO_LARGE,
    Reason,
)

_LISTS = {"inputs": INPUT_FIELDS, "outputs": OUTPUT_FIELDS}
_SCALARS = tuple(f for f in SAMPLE_FIELDS if f.name not in _LISTS)
_NUMERIC = (FieldType.WHOLE, FieldType.NUMBER)
_SECONDS_END_MS = 315_532_800_000
_AHEAD_MS = 86_400_000
_MOST_TASKS = 10_000
#: Largest values of numbers that have one.
_MOST = {
    "queue_fill": 1.0,
    "held_back": 1.0,
    "sample_rate": 1.0,
    "cpu_points": MOST_CPU_POINTS,
    "worker_cpu_points": MOST_CPU_POINTS,
}
#: Where numbers of any size are fine, or have a check of their own.
_MAY_BE_NEGATIVE = ("version", "time_ms", "task", "last_task")
#: A condition under which a record is set aside, the reason and the field.
Failure = tuple[str, Reason, str]


def is_sound(now_ms: int) -> str:
    """True for a record that fails none of the checks, in as few steps as that takes."""
    conditions = [
        f"version = {SAMPLE_VERSION}",
        f"time_ms between {EARLIEST_MS} and {min(LATEST_MS, now_ms + _AHEAD_MS)}",
        f"window_ms between 1 and {LONGEST_WINDOW_MS}",
        "task is not null",
        f"(counters is null or counters in {_kinds()})",
        "(sample_rate is null or sample_rate > 0)",
        f"coalesce(last_task::double - task::double between 0 and {_MOST_TASKS}, true)",
    ]
    for f in _SCALARS:
        if f.type is FieldType.TEXT:
            named = f"trim({f.name}) <> ''"
            conditions.append(named if f.required else f"({f.name} is null or {named})")
        elif f.type is FieldType.NUMBER:
            limit = f"<= {_MOST[f.name]}" if f.name in _MOST else f"< {TOO_LARGE}"
            conditions.append(f"({f.name} is null or ({f.name} >= 0 and {f.name} {limit}))")
    conditions += [f"({name} is null or {_entries_sound(name)})" for name in _LISTS]
    return f"coalesce({' and '.join(conditions)}, false)"


def _entries_sound(name: str) -> str:
    """Every entry has what it needs; its numbers are finite and not below zero."""
    sound = ["x is not null"]
    for f in _LISTS[name]:
        if f.type is FieldType.TEXT:
            sound.append(f"trim(x.{f.name}) <> ''")
        elif f.type in _NUMERIC:
            number = f"x.{f.name} >= 0 and x.{f.name} < {TOO_LARGE}"
            sound.append(number if f.required else f"coalesce({number}, true)")
    return f"list_bool_and([coalesce({' and '.join(sound)}, false) for x in {name}]) is not false"


def reason_of(now_ms: int) -> str:
    """The reason and field of the first check that a record fails, joined by a bar."""
    cases = " ".join(
        f"when {condition} then '{reason.value}|{field}'"
        for condition, reason, field in _failures(now_ms)
    )
    return f"case {cases} end"


def _failures(now_ms: int) -> Iterator[Failure]:
    yield "version is null", Reason.MISSING_FIELD, "version"
    yield f"version <> {SAMPLE_VERSION}", Reason.UNKNOWN_VERSION, "version"
    for f in SAMPLE_FIELDS:
        if f.required:
            missing = f.name == "machine_type"
            reason = Reason.NO_MACHINE_TYPE if missing else Reason.MISSING_FIELD
            yield f"{f.name} is null", reason, f.name
    for f in _SCALARS:
        if f.type is FieldType.NUMBER:
            yield _not_finite(f.name), Reason.NOT_FINITE, f.name
        elif f.type is FieldType.TEXT:
            yield _is_nested(f.name), Reason.WRONG_TYPE, f.name
            yield f"trim({f.name}) = ''", Reason.EMPTY_NAME, f.name
    outside = f"time_ms < {_SECONDS_END_MS} or time_ms > {LATEST_MS}"
    yield outside, Reason.TIME_UNIT, "time_ms"
    yield f"time_ms < {EARLIEST_MS}", Reason.TOO_OLD, "time_ms"
    yield f"time_ms > {now_ms + _AHEAD_MS}", Reason.FUTURE, "time_ms"
    yield f"window_ms <= 0 or window_ms > {LONGEST_WINDOW_MS}", Reason.BAD_WINDOW, "window_ms"
    for f in _SCALARS:
        if f.type in _NUMERIC and f.name not in _MAY_BE_NEGATIVE:
            yield f"{f.name} < 0", Reason.NEGATIVE, f.name
    yield from _range_failures()
    for name in _LISTS:
        yield f"list_bool_or([x is null for x in {name}])", Reason.BAD_ENTRY, name
        for f in _LISTS[name]:
            yield from _entry_failures(name, f)


def _range_failures() -> Iterator[Failure]:
    for name in ("queue_fill", "held_back"):
        yield f"{name} > 1", Reason.OUT_OF_RANGE, name
    tasks = f"last_task::double - task::double not between 0 and {_MOST_TASKS}"
    yield tasks, Reason.OUT_OF_RANGE, "last_task"
    yield "sample_rate <= 0 or sample_rate > 1", Reason.OUT_OF_RANGE, "sample_rate"
    yield f"counters not in {_kinds()}", Reason.UNKNOWN_COUNTERS, "counters"
    for name in ("cpu_points", "worker_cpu_points"):
        yield f"{name} > {MOST_CPU_POINTS}", Reason.IMPOSSIBLE_CPU, name
    for f in _SCALARS:
        if f.type is FieldType.NUMBER and f.name not in _MOST:
            yield f"{f.name} >= {TOO_LARGE}", Reason.OUT_OF_RANGE, f.name


def _entry_failures(name: str, f: SampleField) -> Iterator[Failure]:
    where, cell = f"{name}.{f.name}", f"x.{f.name}"

    def some(condition: str) -> str:
        return f"list_bool_or([coalesce({condition}, false) for x in {name}])"

    if f.required:
        yield some(f"x is not null and {cell} is null"), Reason.MISSING_FIELD, where
    if f.type is FieldType.NUMBER:
        yield some(_not_finite(cell)), Reason.NOT_FINITE, where
        yield some(f"{cell} >= {TOO_LARGE}"), Reason.OUT_OF_RANGE, where
    if f.type in _NUMERIC:
        yield some(f"{cell} < 0"), Reason.NEGATIVE, where
    else:
        yield some(_is_nested(cell)), Reason.WRONG_TYPE, where
        yield some(f"trim({cell}) = ''"), Reason.EMPTY_NAME, where


def _not_finite(cell: str) -> str:
    return f"(isnan({cell}) or isinf({cell}))"


def _is_nested(cell: str) -> str:
    return f"(starts_with({cell}, '{{') or starts_with({cell}, '['))"


def _kinds() -> str:
    return "(" + ", ".join(f"'{kind.value}'" for kind in Counters) + ")"

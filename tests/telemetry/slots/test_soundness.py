"""Arrow's columns are judged exactly as Spark's are, on records spoilt at random."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tests.telemetry.frames import START_MS, Row

from penstock.model.telemetry import SAMPLE_FIELDS, FieldType, Input, Output, Sample, SampleField
from penstock.telemetry.arrow_record import ENTRY_FIELDS, record_schema
from penstock.telemetry.checks import is_sound
from penstock.telemetry.ingest import from_columns
from penstock.telemetry.reasons import (
    EARLIEST_MS,
    LATEST_MS,
    LONGEST_WINDOW_MS,
    MOST_CPU_POINTS,
)
from penstock.telemetry.slots.records import as_records
from penstock.telemetry.slots.soundness import AHEAD_MS, MOST_TASKS, sound_records

NOW_MS = START_MS + 3_600_000
#: When a record is of in which nothing is wrong.
GOOD_MS = START_MS + 10_000
TYPES = {"known-host": "big", "": "empty", " ": "blank"}
RECORDS = 6000

_BELOW_2_63 = math.nextafter(2.0**63, 0.0)
WHOLES = [
    None, 0, 1, -1, 2, 3, 10, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 2**63 - 513,
    EARLIEST_MS - 1, EARLIEST_MS, LATEST_MS, LATEST_MS + 1, NOW_MS, NOW_MS + AHEAD_MS,
    NOW_MS + AHEAD_MS + 1, LONGEST_WINDOW_MS, LONGEST_WINDOW_MS + 1, 2 + MOST_TASKS,
    3 + MOST_TASKS, GOOD_MS - 1, GOOD_MS, START_MS // 1000,
]  # fmt: skip
NUMBERS = [
    None, 0.0, -0.0, 1.0, 1.5, -1.0, 5e-324, -5e-324, math.nextafter(1.0, 2.0), math.nan, math.inf,
    -math.inf, 2.0**63, _BELOW_2_63, -(2.0**63), 1e308, MOST_CPU_POINTS,
    math.nextafter(MOST_CPU_POINTS, math.inf),
]  # fmt: skip
TEXTS = [
    None, "", " ", "   ", "\t", "\n", "\u00a0", "\u3000", " x ", "größe", "🚀", "\x00", "{x}",
    "[x]", "known-host", "delta", "total", "Delta", "delta ", "null", "NaN",
]  # fmt: skip
VALUES = {FieldType.WHOLE: WHOLES, FieldType.NUMBER: NUMBERS, FieldType.TEXT: TEXTS}


def good() -> Row:
    """A record with every field there is, so that each can be spoilt."""
    return Sample(
        time_ms=GOOD_MS, window_ms=10_000, topology="t", component="b", task=2,
        last_task=3, host="m1", machine_type="M1", worker="6700", run="r", rack="rack",
        inputs=(Input("a", "default", 100.0, task=1, bytes=1000.0), Input("c", "s", 1.0)),
        outputs=(Output("default", 50.0, bytes=10.0),),
        produced=1.0, sample_rate=1.0, execute_ms=1.0, process_ms=1.0, cpu_points=3.5,
        worker_cpu_points=4.0, memory_mb=1.0, worker_memory_mb=2.0, queue_fill=0.5,
        held_back=0.5, latency_ms=1.0, uptime_s=1000.0,
    ).to_dict() | {"counters": "delta"}  # fmt: skip


def spoil(record: Row, field: SampleField, pick: Callable[[list[Any]], Any]) -> None:
    if field.type not in ENTRY_FIELDS:
        record[field.name] = pick(VALUES[field.type])
        return
    whole = [dict(entry) for entry in record[field.name] or [] if entry]
    fields = ENTRY_FIELDS[field.type]
    chosen = pick([None, "entry", "list", "empty", *fields, *fields])
    if chosen == "empty" or not whole:
        record[field.name] = []
    elif chosen is None:
        record[field.name] = None
    elif chosen == "list":
        record[field.name] = whole * pick([2, 3])
    elif chosen == "entry":
        record[field.name] = [*whole, None]
    else:
        pick(whole)[chosen.name] = pick(VALUES[chosen.type])
        record[field.name] = whole


def at_random(number: int) -> list[Row]:
    """Records in which nothing, something or much is spoilt, and each value of each field once."""
    rng = np.random.default_rng(11)

    def pick(values: list[Any]) -> Any:
        return values[rng.integers(len(values))]

    records = [good()]
    for field in SAMPLE_FIELDS:
        for value in VALUES.get(field.type, ()):
            records.append(good() | {field.name: value})
        for entry in ENTRY_FIELDS.get(field.type, ()):
            for value in VALUES[entry.type]:
                first, *others = good()[field.name]
                records.append(good() | {field.name: [first | {entry.name: value}, *others]})
    records += [
        # Without a type of its own, a host's is looked up.
        *(good() | {"machine_type": None, "host": host} for host in TEXTS),
        *(good() | {"task": task, "last_task": last} for task in WHOLES for last in WHOLES),
    ]
    while len(records) < number:
        record = good()
        for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 10])):
            spoil(record, pick(list(SAMPLE_FIELDS)), pick)
        records.append(record)
    return records


@pytest.mark.spark
@pytest.mark.parametrize(
    ("types", "horizon_ms"),
    [({}, None), (TYPES, None), (TYPES, GOOD_MS), ({}, 0)],
    ids=["no types", "types", "expired", "nothing expired"],
)
def test_records_spoilt_at_random_are_judged_as_the_checks_judge_them(
    spark: SparkSession, types: dict[str, str], horizon_ms: int | None
) -> None:
    records = at_random(RECORDS)
    table = pa.Table.from_pylist(records, schema=record_schema())
    mine = sound_records(as_records(table), types, NOW_MS, horizon_ms)
    frame = spark.createDataFrame(
        table.append_column("file", pa.array(map(str, range(len(table)))))
    )
    judged = frame.select(
        "file", is_sound(F.col, types, NOW_MS, horizon_ms).alias("sound")
    ).collect()
    theirs = np.zeros(len(table), dtype=bool)
    for row in judged:
        theirs[int(row["file"])] = row["sound"]
    assert [records[n] for n in np.flatnonzero(mine != theirs)] == []
    # Both answers are given often.
    assert 0.1 < mine.mean() < 0.9
    # Never sound where a check finds a reason.
    aside = (
        from_columns(frame, types, NOW_MS, horizon_ms)
        .where("reason is not null")
        .select("file")
        .collect()
    )
    assert not mine[[int(row["file"]) for row in aside]].any()


@pytest.mark.slow
def test_a_record_judged_alone_is_judged_as_among_others() -> None:
    """Columns in which nothing, or everything, is missing are looked at in fewer steps."""
    records = at_random(1500)
    table = as_records(pa.Table.from_pylist(records, schema=record_schema()))
    together = sound_records(table, TYPES, NOW_MS)
    for number, record in enumerate(records):
        alone = as_records(pa.Table.from_pylist([record], schema=record_schema()))
        assert sound_records(alone, TYPES, NOW_MS).tolist() == [together[number]], record
        part = table.slice(number, 1)
        assert sound_records(part, TYPES, NOW_MS).tolist() == [together[number]], record


def test_records_older_than_the_store_keeps_any_are_not_sound() -> None:
    times = [NOW_MS - 2, NOW_MS - 1, NOW_MS, NOW_MS + 1]
    records = [good() | {"time_ms": time_ms} for time_ms in times]
    table = as_records(pa.Table.from_pylist(records, schema=record_schema()))
    assert sound_records(table, {}, NOW_MS, NOW_MS).tolist() == [False, False, True, True]
    # A horizon before the earliest moment that is believed changes nothing.
    table = as_records(
        pa.Table.from_pylist([good() | {"time_ms": EARLIEST_MS - 1}], schema=record_schema())
    )
    assert sound_records(table, {}, NOW_MS, 0).tolist() == [False]


def test_of_no_record_none_is_sound() -> None:
    empty = as_records(record_schema().empty_table())
    assert sound_records(empty, TYPES, NOW_MS).tolist() == []

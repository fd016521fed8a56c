"""A number of any size, in any field of a record: it is taken or set aside, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from tests.telemetry.frames import START_MS

from penstock.errors import InputError
from penstock.model.telemetry import SAMPLE_FIELDS, FieldType, Input, Output, Sample, SampleField
from penstock.telemetry.checks import ENTRY_FIELDS
from penstock.telemetry.cost_fits import rates_view
from penstock.telemetry.ingest import from_columns, from_lines
from penstock.telemetry.pipeline import Pipeline
from penstock.telemetry.reasons import TOO_LARGE, Reason
from penstock.telemetry.schemas import RECORD
from penstock.telemetry.source import open_source
from penstock.telemetry.store import Store
from penstock.telemetry.storm.log_lines import _MEANINGS, OF_WORKER
from penstock.telemetry.storm.registry import samples_of_registry

pytestmark = pytest.mark.spark

NOW_MS = START_MS + 3_600_000
#: Numbers as JSON may write them, none of which 64 bits can hold; the last has more digits than
#: any reader takes.
BEYOND = (
    str(2**63), str(-(2**63) - 1), str(2**64), "1" + 30 * "0", "1e30", "-1e30", "1e308",
    "1e400", "-1e400", "1" + 400 * "0", 5000 * "9",
)  # fmt: skip
#: The largest and the smallest that it can.
WITHIN = (str(2**63 - 1), str(-(2**63)))


def sound(time_ms: int = START_MS + 10_000) -> dict[str, Any]:
    """A record with every field there is, so that each can be spoilt."""
    return Sample(
        time_ms=time_ms, window_ms=10_000, topology="t", component="b", task=2, last_task=3,
        host="m1", machine_type="M1", worker="6700", run="r", rack="rack",
        inputs=(Input("a", "default", 100.0, task=1, bytes=1000.0),),
        outputs=(Output("default", 50.0, bytes=10.0),),
        produced=1.0, sample_rate=1.0, execute_ms=1.0, process_ms=1.0, cpu_points=3.5,
        worker_cpu_points=4.0, memory_mb=1.0, worker_memory_mb=2.0, queue_fill=0.5,
        held_back=0.5, backlog=1.0, latency_ms=1.0, uptime_s=1000.0,
    ).to_dict() | {"counters": "delta"}  # fmt: skip


def places() -> Iterator[tuple[SampleField, SampleField | None]]:
    """Every field of the record, and every field of its entries."""
    for field in SAMPLE_FIELDS:
        yield field, None
        for entry in ENTRY_FIELDS.get(field.type, ()):
            yield field, entry


def name_of(place: tuple[SampleField, SampleField | None]) -> str:
    field, entry = place
    return f"{field.name}.{entry.name}" if entry else field.name


def spoilt(place: tuple[SampleField, SampleField | None], value: Any) -> dict[str, Any]:
    field, entry = place
    record = sound()
    if entry is None:
        return record | {field.name: value}
    return record | {field.name: [record[field.name][0] | {entry.name: value}]}


def line(place: tuple[SampleField, SampleField | None], number: str) -> str:
    return json.dumps(spoilt(place, "@@")).replace('"@@"', number)


#: Each line with the field that is spoilt in it.
LINES = {
    line(place, number): place
    for place in places()
    for bare in BEYOND + WITHIN
    for number in (bare, f'"{bare}"')
}


@pytest.fixture(scope="module")
def judged(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Row]:
    """The verdict on each line that was set aside."""
    file: Path = tmp_path_factory.mktemp("lines") / "records.jsonl"
    file.write_text("\n".join([json.dumps(sound()), *LINES]))
    lines = spark.read.text(str(file)).select("value", F.lit("f").alias("file"))
    rows = from_lines(lines, {}, NOW_MS).collect()
    assert len(rows) == len(LINES) + 1
    return {bytes(row["raw"]).decode(): row for row in rows if row["reason"] is not None}


def test_a_sound_record_with_every_field_is_taken(judged: dict[str, Row]) -> None:
    assert set(sound()) == {field.name for field in SAMPLE_FIELDS}
    assert json.dumps(sound()) not in judged


def test_a_number_beyond_64_bits_is_set_aside_with_its_field(judged: dict[str, Row]) -> None:
    wrong = []
    for text, place in LINES.items():
        kind = (place[1] or place[0]).type
        if kind is FieldType.TEXT or any(w in text for w in WITHIN):
            continue
        seen = judged.get(text)
        told = None if seen is None else (seen["reason"], seen["field"])
        if told not in {(Reason.NOT_JSON.value, ""), (told and told[0], name_of(place))}:
            wrong.append((name_of(place), text[:80], told))
    assert wrong == []


def test_only_of_a_line_with_too_many_digits_the_field_is_not_told(judged: dict[str, Row]) -> None:
    not_json = [text for text, row in judged.items() if row["reason"] == Reason.NOT_JSON.value]
    assert not_json
    assert all(5000 * "9" in text for text in not_json)


def test_the_reason_is_that_the_number_is_out_of_range(judged: dict[str, Row]) -> None:
    reasons = {
        name_of(place): judged[line(place, "1e30")]["reason"]
        for place in places()
        if (place[1] or place[0]).type in (FieldType.WHOLE, FieldType.NUMBER)
    }
    others = {name for name, reason in reasons.items() if reason != Reason.OUT_OF_RANGE.value}
    assert others == {"cpu_points", "worker_cpu_points"}  # impossible CPU


def test_the_largest_task_is_a_task(judged: dict[str, Row]) -> None:
    task = next(place for place in places() if name_of(place) == "inputs.task")
    assert line(task, WITHIN[0]) not in judged
    # The last of the tasks that a record stands for is not so far from the first.
    last = next(place for place in places() if name_of(place) == "last_task")
    assert judged[line(last, WITHIN[0])]["reason"] == Reason.OUT_OF_RANGE.value


# -- columns -----------------------------------------------------------------------------------

WHOLES = [place for place in places() if (place[1] or place[0]).type is FieldType.WHOLE]


def widened(schema: T.StructType, wide: T.DataType) -> T.StructType:
    """The record's schema with another type for whole numbers."""

    def of(kind: T.DataType) -> T.DataType:
        if isinstance(kind, T.ArrayType) and isinstance(kind.elementType, T.StructType):
            return T.ArrayType(widened(kind.elementType, wide))
        return wide if isinstance(kind, T.LongType) else kind

    return T.StructType([T.StructField(f.name, of(f.dataType)) for f in schema.fields])


def row_of(record: dict[str, Any], schema: T.StructType, number: type) -> tuple[Any, ...]:
    """A record as a row, whole numbers as the type says."""

    def value(field: T.StructField) -> Any:
        seen = record.get(field.name)
        if isinstance(field.dataType, T.ArrayType):
            entries = field.dataType.elementType
            assert isinstance(entries, T.StructType)
            return [row_of(entry, entries, number) for entry in seen]
        is_whole = isinstance(field.dataType, (T.DoubleType, T.DecimalType)) and isinstance(
            seen, int
        )
        return number(seen) if is_whole else seen

    return tuple(value(field) for field in schema.fields)


@pytest.mark.parametrize(
    ("wide", "number", "values"),
    [
        (T.DoubleType(), float, {
            1e30: Reason.OUT_OF_RANGE, -(2.0**63): Reason.OUT_OF_RANGE, 2.5: Reason.WRONG_TYPE,
            float("inf"): Reason.NOT_FINITE,
        }),
        (T.DecimalType(38, 0), Decimal, {Decimal(10**30): Reason.OUT_OF_RANGE}),
        (T.DecimalType(38, 2), Decimal, {
            Decimal(-(10**30)): Reason.OUT_OF_RANGE, Decimal("2.25"): Reason.WRONG_TYPE,
        }),
    ],
    ids=["double", "decimal", "decimal with fraction"],
)  # fmt: skip
def test_of_a_wider_column_what_fits_is_taken_and_the_rest_set_aside(
    spark: SparkSession, wide: T.DataType, number: type, values: dict[Any, Reason]
) -> None:
    schema = widened(RECORD, wide)
    rows = [(*row_of(sound(), schema, number), "sound")]
    told = {"sound": (None, None)}
    for place in WHOLES:
        for value, reason in values.items():
            name = f"{name_of(place)} {value}"
            rows.append((*row_of(spoilt(place, value), schema, number), name))
            told[name] = (reason.value, name_of(place))
    with_file = T.StructType([*schema.fields, T.StructField("file", T.StringType())])
    found = from_columns(spark.createDataFrame(rows, with_file), {}, NOW_MS).collect()
    assert {row["file"]: (row["reason"], row["field"]) for row in found} == told
    (taken,) = [row for row in found if row["reason"] is None]
    assert (taken["task"], taken["inputs"][0]["task"]) == (2, 1)
    # What is set aside is kept as it came.
    first = next(iter(values))
    (aside,) = [row for row in found if row["file"] == f"last_task {first}"]
    assert json.loads(bytes(aside["raw"]))["last_task"] == pytest.approx(float(first))


# -- the pipeline --------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["once", "followed"])
def test_a_poisoned_file_does_not_stop_the_files_after_it(
    spark: SparkSession, tmp_path: Path, way: str
) -> None:
    folder = tmp_path / "telemetry"
    folder.mkdir()
    (folder / "0.jsonl").write_text("\n".join(LINES))
    times = [START_MS + 10_000 * n for n in range(1, 31)]
    good = [json.dumps(sound(time_ms) | {"task": 7, "last_task": 7}) for time_ms in times]
    (folder / "1.jsonl").write_text("\n".join(good))
    pipeline = Pipeline(spark, Store(spark, str(tmp_path / "store")), clock=lambda: NOW_MS / 1e3)
    source = open_source(spark, str(folder))
    if way == "once":
        pipeline.take_in_history(source)
        found = pipeline.measure()
    else:
        seen: list[Any] = []
        pipeline.follow(source, seen.append, every_s=0.1, stop=lambda: bool(seen))
        found = seen[-1]
    assert found.quality.records_in == len(LINES) + len(good)
    rates = rates_view(pipeline.tables, pipeline.store.manifest()).where("task = 7")
    assert rates.count() == len(good)


def test_a_line_of_a_storm_log_may_have_any_number(spark: SparkSession, tmp_path: Path) -> None:
    names = [*(beginning + "a:default" for beginning in _MEANINGS.values()), *OF_WORKER.values()]
    told = []
    for number, name in enumerate(names):
        for step, value in enumerate(BEYOND):
            task = (
                f"{number * len(BEYOND) + step}:{'__system' if name in OF_WORKER.values() else 'b'}"
            )
            told.append(f"2026 {START_MS // 1000 + step}\thost:6700\t{task}\t{name}\t{value}")
    for value in BEYOND:
        told.append(f"2026 {value}\thost:6700\t1:b\t__execute-count-a:default\t20")
        told.append(f"2026 {START_MS // 1000}\thost:{value}\t1:b\t__execute-count-a:default\t20")
        told.append(f"2026 {START_MS // 1000}\thost:6700\t{value}:b\t__execute-count-a:default\t20")
    log = tmp_path / "t-1-1767225600" / "6700" / "worker.log.metrics"
    log.parent.mkdir(parents=True)
    log.write_text("\n".join(told))
    pipeline = Pipeline(
        spark, Store(spark, str(tmp_path / "store")), machine_types={"host": "M1"},
        clock=lambda: NOW_MS / 1e3,
    )  # fmt: skip
    pipeline.take_in_history(open_source(spark, str(log.parents[1])))
    found = pipeline.measure()
    assert found.quality.records_in > 3 * len(BEYOND)
    assert all(kept < TOO_LARGE for (kept,) in _numbers_kept(pipeline))


def _numbers_kept(pipeline: Pipeline) -> list[Any]:
    """The largest numbers of the records that count."""
    samples = pipeline.store.read(pipeline.store.manifest(), "samples")
    numbers = [f.name for f in SAMPLE_FIELDS if f.type is FieldType.NUMBER]
    largest = F.greatest(*[F.coalesce(F.max(name), F.lit(0.0)) for name in numbers])
    return samples.agg(largest).collect()


def test_a_registry_names_the_line_whose_task_is_no_number_of_java() -> None:
    lines = [
        f"{START_MS} thread Thread-15-b-executor[{5000 * '9'},_2] 5",
        f"{START_MS} gauge storm.worker.t-1-1767225600.h.b.{10**30}.6700-receive-queue-fill 5",
    ]
    for line in lines:
        with pytest.raises(InputError, match="has no number of a task"):
            samples_of_registry([line])


def test_a_reader_in_python_has_what_is_too_large_set_aside(
    spark: SparkSession, tmp_path: Path
) -> None:
    def sample(**changes: Any) -> Sample:
        told: dict[str, Any] = {
            "time_ms": START_MS + 10_000, "window_ms": 10_000, "topology": "t", "component": "b",
            "task": 1, "host": "h", "machine_type": "M1", "worker": "6700",
        }  # fmt: skip
        return Sample(**told | changes)

    pipeline = Pipeline(spark, Store(spark, str(tmp_path)), clock=lambda: NOW_MS / 1e3)
    fields = ("time_ms", "window_ms", "task", "last_task")
    poisoned = [sample(**{name: 10**30}) for name in fields]
    pipeline.take_in_samples([sample(), *poisoned, sample(uptime_s=1e300)], "by hand")
    (batch,) = pipeline.store.manifest().facts["batches"].values()
    assert batch == {"records": 6, "aside": 5}

"""Every record is either taken as it was meant, or set aside whole with the right reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from tests.telemetry.frames import START_MS

from penstock.errors import InputError
from penstock.model.telemetry import SAMPLE_FIELDS, Input, Output, Sample
from penstock.telemetry.ingest import COLUMNS, from_columns, from_lines
from penstock.telemetry.reasons import Reason
from penstock.telemetry.schemas import RECORD
from penstock_bench.synthetic.defects import DEFECTS, DefectKind, Good, to_line

pytestmark = pytest.mark.spark

NOW_MS = START_MS + 3_600_000
TYPES = {"known-host": "big"}
GOOD: dict[str, Any] = Sample(
    time_ms=START_MS + 10_000,
    window_ms=10_000,
    topology="größe",
    component="b",
    task=2,
    host="m1",
    machine_type="M1",
    worker="6700",
    inputs=(Input("a", "default", 100.0, bytes=1000.0),),
    outputs=(Output("default", 50.0),),
    cpu_points=3.5,
).to_dict()


def good(**changes: Any) -> dict[str, Any]:
    """The good record with some fields changed; ``...`` takes one out."""
    return {k: v for k, v in {**GOOD, **changes}.items() if v is not ...}


#: Lines that only look odd, by the component in them.
ODD = {
    "plain": good(),
    "numbers as text": good(time_ms=str(START_MS + 10_000), task="2", cpu_points="3.5"),
    "counts as text": good(inputs=[{"component": "a", "stream": "default", "tuples": "100"}]),
    "whole number with a point": good(task=2.0),
    "port as number": good(worker=6700),
    "type by host": good(host="known-host", machine_type=...),
    "own type goes first": good(host="known-host"),
    "unknown fields": good(note={"from": "tomorrow"}),
    "nothing came": good(inputs=[], outputs=[]),
    "nothing counted": good(inputs=..., outputs=...),
    "a day ahead": good(time_ms=NOW_MS + 86_400_000),
}
#: Defects beyond those of the generator: line, reason, field.
MORE_BROKEN: list[tuple[bytes, Reason, str]] = [
    (to_line(good(component="more", task=float("nan"))), Reason.NOT_FINITE, "task"),
    (to_line(good(component="more", worker=["6700"])), Reason.WRONG_TYPE, "worker"),
    (to_line(good(component="more", host="   ")), Reason.EMPTY_NAME, "host"),
    (to_line(good(component="more", outputs=[None])), Reason.BAD_ENTRY, "outputs"),
    (to_line(good(component="more", outputs={"stream": "s"})), Reason.BAD_ENTRY, "outputs"),
    (to_line(good(component="more", sample_rate=1.5)), Reason.OUT_OF_RANGE, "sample_rate"),
    (to_line(good(component="more", window_ms=-1)), Reason.BAD_WINDOW, "window_ms"),
    (to_line(good(component="more", time_ms=NOW_MS + 86_400_001)), Reason.FUTURE, "time_ms"),
    # Two things wrong: the first in the order of the checks is named.
    (to_line(good(component="", cpu_points=-1.0)), Reason.EMPTY_NAME, "component"),
    (b'  {"version": 1', Reason.NOT_JSON, ""),
    (b'"a text"', Reason.NOT_AN_OBJECT, ""),
]


def _broken() -> dict[bytes, tuple[str, str]]:
    """Reason and field by line. No two lines are alike, so a line says which one it is."""
    rng = np.random.default_rng(0)
    lines = {}
    alone = [defect for defect in DEFECTS if defect.kind is DefectKind.ALONE]
    for number, defect in enumerate(alone):
        source = to_line(good(task=1000 + number))
        lines[defect.spoil(Good(source, rng))] = (defect.reason.value, defect.field)
    for line, reason, field in MORE_BROKEN:
        lines[line] = (reason.value, field)
    return lines


BROKEN = _broken()


@pytest.fixture(scope="module")
def judged(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    """All lines of these tests, read by one job from one file."""
    odd = [to_line({**record, "component": name}) for name, record in ODD.items()]
    file: Path = tmp_path_factory.mktemp("lines") / "records.jsonl"
    file.write_bytes(b"\n".join([b"", odd[0], b"   ", *BROKEN, *odd[1:], b"", b""]))
    lines = spark.read.text(str(file)).select("value", F.lit("records.jsonl").alias("file"))
    frame = from_lines(lines, TYPES, NOW_MS)
    assert frame.columns == list(COLUMNS)
    return frame.collect()


@pytest.fixture(scope="module")
def taken(judged: list[Row]) -> dict[str, Row]:
    return {row["component"]: row for row in judged if row["reason"] is None}


def test_every_broken_line_is_set_aside_with_its_reason_and_field(judged: list[Row]) -> None:
    seen = {bytes(r["raw"]): (r["reason"], r["field"]) for r in judged if r["reason"] is not None}
    wrong = {line[:80]: (seen.get(line), told) for line, told in BROKEN.items()
             if seen.get(line) != told}  # fmt: skip
    assert wrong == {}


def test_every_reason_a_line_can_have_is_among_them() -> None:
    of_other_sources = {Reason.NOT_METRICS, Reason.CUT_OFF, Reason.DUPLICATE, Reason.CONFLICT}
    of_other_sources |= {Reason.UNREADABLE_FILE}
    # Told below, with a store that keeps no record for ever.
    of_some_stores = {Reason.EXPIRED}
    told = {*Reason} - of_other_sources - of_some_stores
    assert {reason for reason, _ in BROKEN.values()} == told


def test_raw_text_is_kept_byte_for_byte_and_only_of_what_is_set_aside(judged: list[Row]) -> None:
    assert {bytes(row["raw"]) for row in judged if row["raw"] is not None} == set(BROKEN)
    assert all((row["raw"] is None) == (row["reason"] is None) for row in judged)
    assert {row["file"] for row in judged} == {"records.jsonl"}


def test_nothing_is_lost_and_empty_lines_are_no_records(judged: list[Row]) -> None:
    assert len(judged) == len(ODD) + len(BROKEN)


def test_what_only_looks_odd_is_taken_as_it_was_meant(taken: dict[str, Row]) -> None:
    assert set(taken) == set(ODD)
    plain = taken["plain"].asDict(recursive=True)
    for name in ("numbers as text", "whole number with a point", "port as number",
                 "unknown fields", "own type goes first"):  # fmt: skip
        row = taken[name].asDict(recursive=True)
        assert {**row, "component": "plain", "host": "m1"} == plain, name
    assert plain["inputs"][0] == {
        "component": "a", "stream": "default", "tuples": 100.0, "task": None, "bytes": 1000.0,
    }  # fmt: skip
    assert taken["counts as text"]["inputs"][0]["tuples"] == 100.0


def test_a_host_without_type_gets_it_from_the_mapping(taken: dict[str, Row]) -> None:
    assert taken["type by host"]["machine_type"] == "big"
    assert taken["own type goes first"]["machine_type"] == "M1"


def test_what_records_leave_out_is_filled_in_once(taken: dict[str, Row]) -> None:
    plain = taken["plain"]
    assert (plain["run"], plain["rack"], plain["counters"], plain["sample_rate"]) == (
        "", "", "delta", 1.0,
    )  # fmt: skip
    # Figures are not filled in: absent is unknown, and an empty list is nothing.
    assert plain["memory_mb"] is None
    assert (taken["nothing came"]["inputs"], taken["nothing came"]["outputs"]) == ([], [])
    assert (taken["nothing counted"]["inputs"], taken["nothing counted"]["outputs"]) == (None, None)


# -- columns -----------------------------------------------------------------------------------


def test_a_null_in_a_column_is_a_missing_field_and_nan_is_no_number(spark: SparkSession) -> None:
    plain = {"run": "r", **GOOD, "worker": "6700"}
    cases: dict[str, tuple[dict[str, Any], tuple[str | None, str | None]]] = {
        "good": (plain, (None, None)),
        "type by host": ({**plain, "machine_type": None, "host": "known-host"}, (None, None)),
        "nan": ({**plain, "cpu_points": float("nan")}, (Reason.NOT_FINITE.value, "cpu_points")),
        "entry": ({**plain, "inputs": [{"component": "a", "stream": None, "tuples": 1.0}]},
                  (Reason.MISSING_FIELD.value, "inputs.stream")),
    }  # fmt: skip
    for f in SAMPLE_FIELDS:
        if f.required:
            reason = Reason.NO_MACHINE_TYPE if f.name == "machine_type" else Reason.MISSING_FIELD
            cases[f.name] = ({**plain, f.name: None}, (reason.value, f.name))
    rows = [(*(record.get(n) for n in RECORD.names), name) for name, (record, _) in cases.items()]
    schema = T.StructType([*RECORD.fields, T.StructField("file", T.StringType())])
    frame = spark.createDataFrame(rows, schema)
    found = {row["file"]: row for row in from_columns(frame, TYPES, NOW_MS).collect()}
    assert {name: (row["reason"], row["field"]) for name, row in found.items()} == {
        name: told for name, (_, told) in cases.items()
    }
    # What is set aside is kept as a line that says the same.
    raw = json.loads(bytes(found["host"]["raw"]))
    assert raw == {k: v for k, v in plain.items() if k != "host"}


def test_columns_are_known_by_their_names_whatever_their_order_and_width(
    spark: SparkSession,
) -> None:
    # As another writer lays them out: small integers, a port as number, entries in another order
    # and without what they may leave out.
    schema = (
        "worker int, host string, task smallint, component string, topology string, "
        "window_ms int, time_ms bigint, version tinyint, machine_type string, cpu_points float, "
        "inputs array<struct<tuples: bigint, stream: string, component: string>>, file string"
    )
    row = (6700, "m1", 2, "b", "t", 10_000, START_MS, 1, "M1", 3.5, [(100, "s", "a")], "f")
    (found,) = from_columns(spark.createDataFrame([row], schema), {}, NOW_MS).collect()
    assert (found["reason"], found["worker"], found["cpu_points"]) == (None, "6700", 3.5)
    assert found["inputs"][0].asDict() == {
        "component": "a", "stream": "s", "tuples": 100.0, "task": None, "bytes": None,
    }  # fmt: skip
    assert found["outputs"] is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: f.drop("host", "task"), ["task: missing column", "host: missing column"]),
        (
            lambda f: f.drop("component").withColumns(
                {"time_ms": F.current_timestamp(), "inputs": F.lit("[]"), "cpu_points": F.lit("9")}
            ),
            [
                "time_ms: column is timestamp, expected bigint",
                "component: missing column",
                "inputs: column is string, expected array<",
                "cpu_points: column is string, expected double",
            ],
        ),
        (
            lambda f: f.withColumn("outputs", F.array(F.struct(F.lit(1.0).alias("tuples")))),
            ["outputs: column is array<struct<tuples:double>>"],
        ),
    ],
)
def test_columns_that_can_never_hold_a_record_are_refused_all_at_once(
    spark: SparkSession, change: Callable[[Any], Any], said: list[str]
) -> None:
    frame = spark.createDataFrame([], RECORD).withColumn("file", F.lit("f"))
    with pytest.raises(InputError) as refused:
        from_columns(change(frame), {}, NOW_MS)
    told = str(refused.value).splitlines()
    assert len(told) == len(said)
    for line, start in zip(told, said, strict=True):
        assert line.startswith(start)


def test_machine_types_may_come_from_the_mapping_alone(spark: SparkSession) -> None:
    frame = spark.createDataFrame([], RECORD).withColumn("file", F.lit("f")).drop("machine_type")
    assert from_columns(frame, TYPES, NOW_MS).columns == list(COLUMNS)


# -- what the store does not keep any more -----------------------------------------------------


def test_records_older_than_the_retention_are_set_aside_whichever_way_they_come(
    spark: SparkSession,
) -> None:
    at_ms = {"before": START_MS - 1, "first": START_MS, "seconds": START_MS // 1000}
    records = [good(component=name, time_ms=ms) for name, ms in at_ms.items()]
    lines = [(to_line(record).decode(), "f") for record in records]
    schema = T.StructType([*RECORD.fields, T.StructField("file", T.StringType())])
    rows = [(*(r.get(n) for n in RECORD.names), "f") for r in records]
    frames = {
        "lines": from_lines(
            spark.createDataFrame(lines, "value string, file string"), {}, NOW_MS, START_MS
        ),
        "columns": from_columns(spark.createDataFrame(rows, schema), {}, NOW_MS, START_MS),
    }
    for judged in frames.values():
        found = {r["component"]: (r["reason"], r["field"]) for r in judged.collect()}
        assert found == {
            "before": ("older than the retention", "time_ms"),
            "first": (None, None),
            # What is wrong with it is not its age.
            "seconds": (Reason.TIME_UNIT.value, "time_ms"),
        }

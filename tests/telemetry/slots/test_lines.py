"""What is read at once is what Spark reads; every other line is left to be read with care."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import types as T
from tests.telemetry.frames import START_MS
from tests.telemetry.slots.test_soundness import good

from penstock.telemetry.ingest import from_lines
from penstock.telemetry.reasons import LONGEST_LINE
from penstock.telemetry.slots.lines import read_lines
from penstock.telemetry.slots.records import filled
from penstock.telemetry.slots.soundness import sound_records
from penstock_bench.synthetic.breakage import break_lines
from penstock_bench.synthetic.defects import DEFECTS, DefectKind, to_line

NOW_MS = START_MS + 3_600_000
#: Each way of writing a line is told apart by its task.
TASKS = range(100, 10_000)


def text(**changes: Any) -> str:
    return json.dumps(good() | {"last_task": None} | changes, ensure_ascii=False)


PLAIN = text()


def with_(old: str, new: str) -> str:
    assert old in PLAIN
    return PLAIN.replace(old, new, 1)


#: Lines with a whole record in them, as far as anyone can tell.
SURE: dict[str, str | bytes] = {
    "plain": PLAIN,
    "spaces": "{ " + with_('"version": 1', '"version"  :\t1 ')[1:],
    "line ends within": PLAIN.replace(", ", ",\r"),
    "unknown fields": text(note={"from": ["tomorrow", {"deep": None}]}, tags=[1, "x", None, True]),
    "null for nothing": text(inputs=None, cpu_points=None, rack=None),
    "empty lists": text(inputs=[], outputs=[]),
    "escapes": with_('"topology": "t"', r'"topology": "\u0074\/\"\\ \ud83d\ude80"'),
    "letters of all kinds": text(topology="größe 漢字 🚀", component="}x{"),
    "exponents": with_('"cpu_points": 3.5', '"cpu_points": 35e-1'),
    "many digits": with_('"cpu_points": 3.5', '"cpu_points": 3.50000000000000000000000000000001'),
    "smallest": with_('"cpu_points": 3.5', '"cpu_points": 5e-324'),
    "a whole number where any may be": with_('"cpu_points": 3.5', '"cpu_points": 3'),
    "largest task": text(task=2**63 - 1),
    "an unknown field twice": PLAIN[:-1] + ', "x": 1, "x": "2"}',
    "an unknown number that is none": text(note=float("nan")),
    "an unknown list within lists": PLAIN[:-1] + f', "x": {900 * "["}{900 * "]"}}}',
    "an escaped field": with_('"host"', r'"h\u006fst"'),
    "a zero character": with_('"m1"', r'"m\u0000"'),
    "nothing below zero": with_('"cpu_points": 3.5', '"cpu_points": -0'),
}
#: Lines that are read at once, and are not sound.
NOT_SOUND: dict[str, str | bytes] = {
    "NaN": text(cpu_points=float("nan")),
    "infinity": text(cpu_points=float("inf")),
    "minus infinity": text(cpu_points=-float("inf")),
    "a number in an entry that is none": text(outputs=[{"stream": "s", "tuples": float("nan")}]),
    "below zero": text(cpu_points=-1),
    "a missing field": PLAIN.replace('"host"', '"hosts"'),
    "another version": text(version=2),
}
#: Lines that have to be read with care, whatever comes of it.
UNSURE: dict[str, str | bytes] = {
    "two objects": PLAIN + PLAIN,
    "two objects with a space": PLAIN + " " + PLAIN,
    "two objects with a tab": PLAIN + "\t" + PLAIN,
    "two objects with a comma": PLAIN + ", " + PLAIN,
    "two objects with a carriage return": PLAIN + "\r" + PLAIN,
    "an object in a list": f"[{PLAIN}]",
    "an object and more": PLAIN + "x}",
    "an object and a number": PLAIN + " 5 {}",
    "a bracket too many": PLAIN + "}",
    "a bracket too few": PLAIN[:-1],
    "cut within a list": PLAIN[: PLAIN.index("]") - 0],
    "cut after an entry": PLAIN[: PLAIN.index("}") + 1],
    "trailing comma": PLAIN[:-1] + ",}",
    "trailing comma in a list": PLAIN.replace("}]", "},]"),
    "a known field twice": PLAIN[:-1] + ', "host": "m2"}',
    "a known field twice and alike": PLAIN[:-1] + ', "host": "m1"}',
    "numbers as text": with_('"cpu_points": 3.5', '"cpu_points": "3.5"'),
    "a whole number as text": text(task="2"),
    "a whole number with a point": text(window_ms=10_000.0),
    "a whole number with an exponent": with_('"window_ms": 10000', '"window_ms": 1e4'),
    "a whole number too large": text(task=2**63),
    "a number as name": text(worker=6700),
    "true as name": text(worker=True),
    "an object as name": text(worker={"port": 6700}),
    "a name as list": text(inputs="a"),
    "an object as list": text(inputs={"component": "a"}),
    "a number in a list": text(inputs=[1]),
    "a number beyond all": with_('"cpu_points": 3.5', '"cpu_points": 1e400'),
    "an unknown number beyond all": PLAIN[:-1] + ', "x": 1e400}',
    "leading zero": with_('"cpu_points": 3.5', '"cpu_points": 03.5'),
    "leading plus": with_('"cpu_points": 3.5', '"cpu_points": +3.5'),
    "no digit before the point": with_('"cpu_points": 3.5', '"cpu_points": .5'),
    "no digit after the point": with_('"cpu_points": 3.5', '"cpu_points": 3.'),
    "single quotes": PLAIN.replace('"', "'"),
    "no quotes": with_('"host"', "host"),
    "a comment": PLAIN[:-1] + "/* x */}",
    "a tab in a name": with_('"m1"', '"m\t1"'),
    "a line end in a name": with_('"m1"', '"m\r1"'),
    "half a surrogate pair": with_('"m1"', r'"m\ud800"'),
    "the other half": with_('"m1"', r'"m\udc00"'),
    "an unknown escape": with_('"m1"', r'"m\x31"'),
    "invalid UTF-8": with_('"m1"', '"m@"').encode().replace(b"@", b"\xff"),
    "half a letter": with_('"m1"', '"m@"').encode().replace(b"@", b"\xc3"),
    "a surrogate in UTF-8": with_('"m1"', '"m@"').encode().replace(b"@", b"\xed\xa0\x80"),
    "a slash written too long": with_('"m1"', '"m@"').encode().replace(b"@", b"\xc0\xaf"),
    "byte order mark": b"\xef\xbb\xbf" + PLAIN.encode(),
    "UTF-16": PLAIN.encode("utf-16-le"),
    "spaces around": f"  {PLAIN}  ",
    "too long": text(note="x" * LONGEST_LINE),
    "a zero byte after it": PLAIN.encode() + b"\x00}",
    "nothing": "",
    "blank": "   ",
    "null": "null",
    "a text": '"{}"',
    "no JSON": "{x}",
}  # fmt: skip


def numbered(lines: dict[str, str | bytes]) -> dict[str, bytes]:
    """With a task of its own in each, where it has one."""
    result = {}
    for task, (name, line) in zip(TASKS, lines.items(), strict=False):
        data = line.encode() if isinstance(line, str) else line
        result[name] = re.sub(rb'"task": 2\b', b'"task": %d' % task, data, count=1)
    return result


LINES = numbered(SURE | NOT_SOUND | UNSURE)


def array(lines: Sequence[bytes]) -> pa.Array:
    return pa.array(lines, pa.binary())


@pytest.mark.parametrize("name", SURE)
def test_a_plain_record_is_read_at_once(name: str) -> None:
    records, numbers = read_lines(array([LINES[name]]))
    assert numbers.tolist() == [0]
    assert len(records) == 1


@pytest.mark.parametrize("name", NOT_SOUND)
def test_what_is_wrong_with_a_record_is_seen(name: str) -> None:
    records, numbers = read_lines(array([LINES[name]]))
    assert numbers.tolist() == [0]
    assert sound_records(records, {}, NOW_MS).tolist() == [False]


@pytest.mark.parametrize("name", UNSURE)
def test_what_is_not_sure_is_left_out(name: str) -> None:
    records, numbers = read_lines(array([LINES[name]]))
    assert numbers.tolist() == []
    assert len(records) == 0


@pytest.mark.parametrize("name", UNSURE)
def test_one_odd_line_does_not_change_how_others_are_read(name: str) -> None:
    others = [to_line(good() | {"task": 1000 + n}) for n in range(300)]
    lines = [*others[:150], LINES[name], *others[150:]]
    records, numbers = read_lines(array(lines))
    assert 150 not in numbers
    # Those next to it are read with care, too; far away nobody notices.
    assert len(numbers) >= 300 - 64
    tasks = [1000 + n - (n > 150) for n in numbers]
    assert records["task"].to_pylist() == tasks


@pytest.mark.parametrize("seed", range(5))
def test_among_odd_lines_every_record_is_that_of_its_line(seed: int) -> None:
    """An odd line must never be read together with another."""
    order = np.random.default_rng(seed).permutation(len(LINES))
    lines = [list(LINES.values())[n] for n in order]
    for chunk in (2, 3, len(lines)):
        for begin in range(0, len(lines), chunk):
            some = lines[begin : begin + chunk]
            records, numbers = read_lines(array(some))
            for record, number in zip(records.to_pylist(), numbers, strict=True):
                (alone,) = read_lines(array([some[number]]))[0].to_pylist()
                assert repr(record) == repr(alone)  # NaN is like NaN here


def test_lines_may_be_text_a_slice_or_missing() -> None:
    lines = [LINES["plain"], b"{", LINES["escapes"], LINES["nothing"]]
    for given_lines in (array(lines), pa.array([b"{", *lines, b"{"], pa.binary()).slice(1, 4)):
        assert read_lines(given_lines)[1].tolist() == [0, 2]
    whole = pa.array([LINES["plain"].decode(), None, LINES["escapes"].decode()], pa.string())
    records, numbers = read_lines(whole)
    assert numbers.tolist() == [0, 2]
    assert records["topology"].to_pylist() == ["t", 't/"\\ 🚀']
    assert len(read_lines(array([]))[0]) == 0


def test_exactly_the_good_lines_among_broken_ones_are_taken() -> None:
    """Defects of single lines, as the pipeline's tests have them."""
    alone = [defect for defect in DEFECTS if defect.kind is DefectKind.ALONE]
    lines = [to_line(good() | {"component": f"b{n}"}) for n in range(5000)]
    broken = break_lines(lines, 0.02, np.random.default_rng(2), alone)
    records, numbers = read_lines(array(broken.lines))
    sound = set(numbers[sound_records(records, {}, NOW_MS)].tolist())
    assert not sound & set(broken.broken)
    # What shares its last halves with a broken line is read with care; that is not many.
    assert len(sound) > 0.2 * broken.good
    for number, component in zip(numbers, records["component"].to_pylist(), strict=True):
        if number not in broken.broken:
            assert component == f"b{number}"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda some: (
        st.lists(some, max_size=3) | st.dictionaries(st.text(max_size=3), some, max_size=3)
    ),
    max_leaves=5,
)


@given(st.sampled_from(sorted(good())), JSON, st.booleans())
def test_what_is_read_is_what_python_reads(field: str, value: Any, ascii_only: bool) -> None:
    line = json.dumps(good() | {field: value}, ensure_ascii=ascii_only).encode("utf-8", "replace")
    records, numbers = read_lines(array([line]))
    if not len(numbers):
        return
    (record,) = records.to_pylist()
    expected = json.loads(line)[field]
    if isinstance(expected, float) and np.isnan(expected):
        assert np.isnan(record[field])
        return
    if isinstance(expected, list):
        expected = [{name: entry.get(name) for name in got} if entry else entry
                    for entry, got in zip(expected, record[field], strict=True)]  # fmt: skip
    assert record[field] == expected


@pytest.fixture(scope="module")
def of_spark(spark: SparkSession) -> dict[str, dict[str, Any]]:
    """How the checks read each line, and what they say of it."""
    rows = [(bytearray(line), name) for name, line in LINES.items()]
    schema = T.StructType(
        [T.StructField("value", T.BinaryType()), T.StructField("file", T.StringType())]
    )
    frame = spark.createDataFrame(rows, schema).selectExpr("cast(value as string) value", "file")
    found = from_lines(frame, {}, NOW_MS).collect()
    return {row["file"]: row.asDict(recursive=True) for row in found}


@pytest.mark.spark
@pytest.mark.parametrize("together", [False, True])
def test_what_is_taken_at_once_is_what_spark_reads(
    of_spark: dict[str, dict[str, Any]], together: bool
) -> None:
    names = list(LINES)
    parts = [names] if together else [[name] for name in names]
    taken = 0
    for part in parts:
        records, numbers = read_lines(array([LINES[name] for name in part]))
        sound = sound_records(records, {}, NOW_MS)
        for record, number, is_sound in zip(
            filled(records, {}).to_pylist(), numbers, sound, strict=True
        ):
            if is_sound:
                theirs = of_spark[part[number]]
                assert theirs["reason"] is None, part[number]
                assert record == {name: theirs[name] for name in record}, part[number]
                taken += 1
    if not together:
        assert taken == len(SURE)


#: Lines that Spark's reader gives up on, and Arrow's does not, or the other way round.
AT_ODDS: dict[str, str] = {
    "a number of too many digits": with_('"cpu_points": 3.5', f'"cpu_points": 0.{1001 * "3"}'),
    "an unknown number of too many digits": PLAIN[:-1] + f', "x": {1001 * "3"}}}',
    "lists too deep in each other": PLAIN[:-1] + f', "x": {1001 * "["}{1001 * "]"}}}',
    "a field's name too long": PLAIN[:-1] + f', "{"x" * 50_001}": 1}}',
    "a name like an object": text(component="{x}"),
    "a name like a list": text(host="[fe80::1]"),
    "a name like an object in an entry": text(outputs=[{"stream": "{x", "tuples": 1}]),
}


@pytest.mark.spark
def test_a_line_does_not_fare_otherwise_beside_an_odd_one(spark: SparkSession) -> None:
    """Which lines are read with care depends on their neighbours; what becomes of them must not."""
    lines = {name: line.encode() for name, line in AT_ODDS.items()}
    rows = [(line.decode(), name) for name, line in lines.items()]
    found = from_lines(spark.createDataFrame(rows, "value string, file string"), {}, NOW_MS)
    of_spark = {row["file"]: row["reason"] is None for row in found.collect()}
    at_once = {}
    for name, line in lines.items():
        records, numbers = read_lines(array([line]))
        at_once[name] = bool(len(numbers)) and bool(sound_records(records, {}, NOW_MS)[0])
    # What is left to be read with care is judged by Spark anyway.
    assert [name for name, is_taken in at_once.items() if is_taken and not of_spark[name]] == []

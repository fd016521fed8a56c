"""Of equal records one stays, contradictions all go, and no order of arrival matters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.telemetry.frames import START_MS, Row, accepted, took

from penstock.telemetry.reasons import Reason
from penstock.telemetry.slots.columns import Groups, Vocabulary, from_arrow
from penstock.telemetry.slots.repeats import KEY, find_repeats


def case(name: str, number: int, **changes: Any) -> Row:
    return {"component": name, "task": number, "cpu_points": 5.0, **changes}


REPEATS = [
    case("once", 1),
    case("twice", 2),
    case("twice", 2),
    case("in three files", 3, file="c"),
    case("in three files", 3, file="a"),
    case("in three files", 3, file="b"),
    case("contradiction", 4),
    case("contradiction", 4, cpu_points=6.0),
    # Two against one is no majority: a repeated mistake is still one.
    case("two against one", 5),
    case("two against one", 5),
    case("two against one", 5, cpu_points=6.0),
    # Another run, another moment and another topology are other records.
    case("others", 6),
    case("others", 6, run="r2"),
    case("others", 6, topology="u"),
    case("others", 6, time_ms=START_MS + 20_000),
    # Lists count as a whole.
    case("one more input", 7, inputs=[took("a", 5.0)]),
    case("one more input", 7, inputs=[took("a", 5.0), took("c", 5.0)]),
]


#: What became of a record: its component, CPU, the reason to set it aside, and its file.
Verdict = tuple[str, float, str, str]


def outcome(records: pa.Table) -> list[Verdict]:
    """Everything kept and set aside."""
    keys = from_arrow(records.select(KEY), Vocabulary())
    repeats = find_repeats(records, Groups.of(*keys.values()))
    reason = np.full(len(records), "", dtype=object)
    reason[repeats.duplicates] = Reason.DUPLICATE.value
    reason[repeats.conflicts] = Reason.CONFLICT.value
    assert repeats.rows.tolist() == np.flatnonzero(reason != "").tolist()
    columns = [records[name].to_pylist() for name in ("component", "cpu_points", "file")]
    return sorted(
        (component, cpu, why, file)
        for component, cpu, file, why in zip(*columns, reason.tolist(), strict=True)
    )


@pytest.fixture(scope="module")
def repeats() -> list[Verdict]:
    return outcome(accepted(REPEATS))


def reasons(found: list[Verdict], component: str) -> list[str]:
    return sorted(why for name, _, why, _ in found if name == component)


def test_of_equal_records_one_stays(repeats: list[Verdict]) -> None:
    assert reasons(repeats, "once") == [""]
    assert reasons(repeats, "twice") == ["", "duplicate"]
    assert reasons(repeats, "in three files") == ["", "duplicate", "duplicate"]


def test_records_that_contradict_each_other_are_all_set_aside(repeats: list[Verdict]) -> None:
    conflict = "contradicts another record"
    assert reasons(repeats, "contradiction") == [conflict] * 2
    assert reasons(repeats, "two against one") == [conflict] * 3
    assert reasons(repeats, "one more input") == [conflict] * 2


def test_another_run_moment_or_topology_is_no_repeat(repeats: list[Verdict]) -> None:
    assert reasons(repeats, "others") == [""] * 4


def test_the_order_of_arrival_does_not_matter(repeats: list[Verdict]) -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        order = rng.permutation(len(REPEATS))
        shuffled = accepted([REPEATS[i] for i in order])
        assert outcome(shuffled) == repeats  # which of the files keeps its record, too


def test_of_equal_records_the_one_of_the_first_file_stays(repeats: list[Verdict]) -> None:
    assert [(why, file) for name, _, why, file in repeats if name == "in three files"] == [
        ("", "a"),
        ("duplicate", "b"),
        ("duplicate", "c"),
    ]


def test_where_nothing_is_repeated_nothing_is_set_aside() -> None:
    alone = accepted([case("b", n) for n in range(5)])
    assert [why for _, _, why, _ in outcome(alone)] == [""] * 5
    assert outcome(accepted([])) == []


#: Two records that differ in this alone, and have all else.
FULL: Row = {
    "rack": "r1", "produced": 5.0, "uptime_s": 10.0, "queue_fill": 0.5,
    "inputs": [took("a", 5.0, task=1, bytes=50.0), took("c", 1.0)],
    "outputs": [{"stream": "s", "tuples": 5.0, "bytes": 7.0}],
}  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [
        {"rack": ""},
        {"produced": None},
        {"queue_fill": 0.0},
        {"component": "other"},
        {"inputs": None},
        {"inputs": []},
        {"inputs": FULL["inputs"][::-1]},
        {"inputs": [took("a", 5.0, task=2, bytes=50.0), took("c", 1.0)]},
        {"inputs": [took("a", 5.0, bytes=50.0), took("c", 1.0)]},
        {"inputs": [took("a", 5.0, "x", task=1, bytes=50.0), took("c", 1.0)]},
        {"inputs": [took("a", 5.0, task=1, bytes=50.0), took("c", 1.0, bytes=0.0)]},
        {"outputs": [{"stream": "s", "tuples": 6.0, "bytes": 7.0}]},
    ],
)
def test_records_are_equal_only_if_everything_in_them_is(changes: Row) -> None:
    same = accepted([FULL, FULL, case("between", 2)])
    assert [why for _, _, why, _ in outcome(same)] == ["", "duplicate", ""]
    contradicting = accepted([FULL, case("between", 2), FULL | changes])
    assert sorted(why for _, _, why, _ in outcome(contradicting)) == ["", *2 * [Reason.CONFLICT]]

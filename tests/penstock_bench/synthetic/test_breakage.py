"""Broken lines are broken in just the defect they say, and in the number asked for."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.telemetry.reasons import (
    EARLIEST_MS,
    LATEST_MS,
    LONGEST_LINE,
    LONGEST_WINDOW_MS,
    MOST_CPU_POINTS,
    Reason,
)
from penstock_bench.synthetic.breakage import break_file, break_lines
from penstock_bench.synthetic.defects import DEFECTS, Defect, DefectKind, Good, to_line

RECORD: dict[str, Any] = {
    "version": 1,
    "time_ms": 1_767_225_610_000,
    "window_ms": 10_000,
    "topology": "größe",
    "component": "b",
    "task": 2,
    "host": "m1",
    "machine_type": "M1",
    "worker": "6700",
    "inputs": [{"component": "a", "stream": "default", "tuples": 100.0}],
    "cpu_points": 3.5,
}
SPOUT = {k: v for k, v in RECORD.items() if k != "inputs"}
#: 1980: a time before it is one in seconds, read as milliseconds.
YEAR_1980_MS = 315_532_800_000


def spoilt(defect: Defect, record: dict[str, Any]) -> bytes:
    return defect.spoil(Good(to_line(record), np.random.default_rng(0)))


def value_at(record: dict[str, Any], field: str) -> Any:
    place, _, key = field.rpartition(".")
    return (record[place][0] if place else record).get(key)


def _shows(defect: Defect, line: bytes) -> bool:
    """Whether the line has the defect that the defect says it has, found by other means."""
    match defect.reason:
        case Reason.TOO_LONG:
            return len(line) > LONGEST_LINE
        case Reason.NOT_UTF8:
            return not _reads(line.decode, UnicodeDecodeError)
        case Reason.NOT_JSON:
            return not _reads(lambda: json.loads(line), json.JSONDecodeError)
        case Reason.NOT_AN_OBJECT:
            return not isinstance(json.loads(line), dict)
        case Reason.BAD_ENTRY:
            inputs = json.loads(line)["inputs"]
            return not isinstance(inputs, list) or not isinstance(inputs[0], dict)
    value = value_at(json.loads(line), defect.field)
    match defect.reason:
        case Reason.MISSING_FIELD | Reason.NO_MACHINE_TYPE:
            return value is None
        case Reason.WRONG_TYPE:
            return isinstance(value, str | bool | dict) or value % 1 != 0
        case Reason.TIME_UNIT:
            return value < YEAR_1980_MS or value > LATEST_MS
        case Reason.TOO_OLD:
            return YEAR_1980_MS < value < EARLIEST_MS
        case Reason.FUTURE:
            return 5.6e12 < value < LATEST_MS
        case Reason.BAD_WINDOW:
            return not 0 < value <= LONGEST_WINDOW_MS
        case Reason.NOT_FINITE:
            return not np.isfinite(value)
        case Reason.NEGATIVE:
            return value < 0
        case Reason.IMPOSSIBLE_CPU:
            return value > MOST_CPU_POINTS
    return {
        Reason.UNKNOWN_VERSION: value == 99,
        Reason.EMPTY_NAME: value == "",
        Reason.OUT_OF_RANGE: value in (1.7, 1.2, 0.0, -9),
        Reason.UNKNOWN_COUNTERS: value == "sometimes",
    }[defect.reason]


def _reads(read: Any, error: type[Exception]) -> bool:
    try:
        read()
    except error:
        return False
    return True


ALONE = [defect for defect in DEFECTS if defect.kind is DefectKind.ALONE]


@pytest.mark.parametrize("record", [RECORD, SPOUT], ids=["bolt", "spout"])
@pytest.mark.parametrize("defect", ALONE, ids=lambda defect: defect.name)
def test_a_line_has_the_defect_its_way_names(defect: Defect, record: dict[str, Any]) -> None:
    line = spoilt(defect, record)
    assert b"\n" not in line
    assert _shows(defect, line)


@pytest.mark.parametrize("defect", [w for w in ALONE if w.field], ids=lambda defect: defect.name)
def test_a_line_has_no_other_defect(defect: Defect) -> None:
    line = json.loads(spoilt(defect, RECORD))
    changed = {key for key in {*line, *RECORD} if line.get(key) != RECORD.get(key)}
    assert changed == {defect.field.partition(".")[0]}


#: Reasons that a single line of ours cannot give: of other formats, of whole files, of a store.
NOT_OF_A_LINE = {
    Reason.NOT_METRICS, Reason.CUT_OFF, Reason.UNREADABLE_FILE, Reason.EXPIRED
}  # fmt: skip


def test_every_reason_has_a_way_and_no_two_ways_share_a_name() -> None:
    assert {defect.reason for defect in DEFECTS} == set(Reason) - NOT_OF_A_LINE
    assert len({defect.name for defect in DEFECTS}) == len(DEFECTS) >= 20


def lines(count: int) -> list[bytes]:
    return [to_line({**RECORD, "task": i + 1}) for i in range(count)]


def test_the_share_is_exact_and_all_ways_are_used() -> None:
    made = break_lines(lines(1000), 0.2, np.random.default_rng(1))
    assert len(made.lines) == 1000
    assert len(made.broken) == 200
    assert made.good == 800
    assert {defect.name for defect in made.broken.values()} == {defect.name for defect in DEFECTS}
    assert sum(made.expected.values()) == 200
    # 48 defects in turn, contradictions by two; long lines only in the first two rounds.
    often = Counter(defect.name for defect in made.broken.values())
    assert often.pop("too long") == 2
    assert often.pop("contradiction") == 8
    assert set(often.values()) <= {4, 5}


def test_good_lines_stay_as_they_were() -> None:
    given = lines(1000)
    made = break_lines(given, 0.2, np.random.default_rng(1))
    good = [line for i, line in enumerate(made.lines) if i not in made.broken]
    assert len(set(good)) == 800
    assert set(good) <= set(given)


def test_a_duplicate_repeats_a_good_line_and_a_contradiction_spoils_both() -> None:
    made = break_lines(lines(1000), 0.2, np.random.default_rng(1))
    good = {line for i, line in enumerate(made.lines) if i not in made.broken}
    by_kind: dict[DefectKind, list[bytes]] = {kind: [] for kind in DefectKind}
    for i, defect in made.broken.items():
        by_kind[defect.kind].append(made.lines[i])
    repeats, contradictions = by_kind[DefectKind.REPEATS], by_kind[DefectKind.CONTRADICTS]
    assert len(repeats) == len(set(repeats)) > 1
    assert set(repeats) <= good
    told = Counter(json.loads(line)["task"] for line in contradictions)
    assert set(told.values()) == {2}
    assert len(set(contradictions)) == len(contradictions) > 3
    assert not told.keys() & {json.loads(line)["task"] for line in good}


def test_a_share_that_leaves_nothing_to_repeat_is_refused() -> None:
    with pytest.raises(ValueError, match="no good line left to repeat"):
        break_lines(lines(100), 1.0, np.random.default_rng(1))
    contradiction = [defect for defect in DEFECTS if defect.kind is DefectKind.CONTRADICTS]
    with pytest.raises(ValueError, match="a single line"):
        break_lines(lines(100), 0.1, np.random.default_rng(1), contradiction)


def test_the_same_seed_breaks_the_same_way() -> None:
    one, two = (break_lines(lines(300), 0.3, np.random.default_rng(4)) for _ in range(2))
    assert one == two


def test_a_file_is_broken_line_by_line(tmp_path: Path) -> None:
    source, target = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    source.write_bytes(b"".join(line + b"\n" for line in lines(500)))
    made = break_file(source, target, 0.2, np.random.default_rng(1))
    assert tuple(target.read_bytes().split(b"\n")[:-1]) == made.lines
    assert len(made.broken) == 100
    assert {p.name for p in tmp_path.iterdir()} == {"good.jsonl", "bad.jsonl"}

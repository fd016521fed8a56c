"""The defects that :mod:`penstock_bench.synthetic.breakage` gives to records, one each.

A defect says for which reason, and for which field, the pipeline must set such a record aside.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import numpy as np

from penstock.model.telemetry import SAMPLE_VERSION
from penstock.telemetry.reasons import LONGEST_LINE, LONGEST_WINDOW_MS, MOST_CPU_POINTS, Reason

_YEAR_MS = 31_536_000_000
#: First moments of the years 1999 and 2150.
_1999_MS, _2150_MS = 915_148_800_000, 5_680_281_600_000

Record = dict[str, Any]


@dataclass(frozen=True)
class Good:
    """A line to be spoilt, the record in it, and chance."""

    text: bytes
    rng: np.random.Generator

    @property
    def record(self) -> Record:
        """Read anew each time, to be changed at will."""
        read: Record = json.loads(self.text)
        return read


Break = Callable[[Good], bytes]


class DefectKind(Enum):
    """What a line is spoilt by."""

    #: Itself.
    ALONE = auto()
    #: A good line that it repeats.
    REPEATS = auto()
    #: Another line that says otherwise, and is spoilt with it.
    CONTRADICTS = auto()


@dataclass(frozen=True)
class Defect:
    """How to spoil a line, and what the pipeline must say of it."""

    name: str
    reason: Reason
    #: Field the quarantine must name; "" if it is the line as a whole.
    field: str
    spoil: Break
    kind: DefectKind = DefectKind.ALONE
    #: So large that a few of them are enough.
    rare: bool = False


def to_line(record: Record) -> bytes:
    """A record as its line, without line end; NaN and infinities as Python writes them."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()


def _line(name: str, reason: Reason, spoil: Break) -> Defect:
    return Defect(name, reason, "", spoil)


def _edit(name: str, reason: Reason, field: str, change: Callable[[Record], object]) -> Defect:
    """A defect that changes the record; ``change`` works in place."""

    def spoil(good: Good) -> bytes:
        record = good.record
        change(record)
        return to_line(record)

    return Defect(name, reason, field, spoil)


def _set(name: str, reason: Reason, field: str, value: object) -> Defect:
    """A defect that gives a field another value; ``inputs.tuples`` is that of the first input."""

    def change(record: Record) -> None:
        place, _, key = field.rpartition(".")
        (_first(record, place) if place else record)[key] = value

    return _edit(name, reason, field, change)


def _without(field: str, reason: Reason = Reason.MISSING_FIELD) -> Defect:
    def change(record: Record) -> None:
        place, _, key = field.rpartition(".")
        (_first(record, place) if place else record).pop(key, None)

    return _edit(f"no {field}", reason, field, change)


def _time(name: str, reason: Reason, change: Callable[[int], int]) -> Defect:
    return _edit(name, reason, "time_ms", lambda r: r.update(time_ms=change(r["time_ms"])))


def _first(record: Record, place: str) -> Record:
    """The first entry of ``inputs`` or ``outputs``; spouts and sinks get one to be spoilt."""
    if not record.get(place):
        entry: Record = {"stream": "default", "tuples": 1.0}
        record[place] = [{"component": "source", **entry} if place == "inputs" else entry]
    return record[place][0]


def _truncated(good: Good) -> bytes:
    # Cut between characters: half a character would be another defect.
    text = good.text.decode()
    return text[: int(good.rng.integers(1, len(text)))].encode()


def _garbage(good: Good) -> bytes:
    return b"#" + good.rng.integers(33, 127, size=len(good.text), dtype=np.uint8).tobytes()


def _not_utf8(good: Good) -> bytes:
    # Inside a name: who decodes leniently gets a sound record of a topology there never was.
    return re.sub(rb'("topology"\s*:\s*")', b"\\1\xff\xfe", good.text, count=1)


def _overflowing(good: Good) -> bytes:
    """Proper JSON, but more than a double holds."""
    return to_line({**good.record, "execute_ms": "huge"}).replace(b'"huge"', b"1e999")


def _contradicting(good: Good) -> bytes:
    record = good.record
    return to_line({**record, "cpu_points": 1.0 + 1.5 * record.get("cpu_points", 1.0)})


def _too_long(good: Good) -> bytes:
    return to_line({**good.record, "note": "x" * LONGEST_LINE})


_NAN, _INFINITY = float("nan"), float("inf")

DEFECTS: tuple[Defect, ...] = (
    _line("truncated", Reason.NOT_JSON, _truncated),
    _line("garbage", Reason.NOT_JSON, _garbage),
    # Two writers in one file; a parser that stops after the first object loses the second.
    _line("two records in one line", Reason.NOT_JSON, lambda good: good.text * 2),
    _line("in an array", Reason.NOT_AN_OBJECT, lambda good: b"[" + good.text + b"]"),
    _line("a number", Reason.NOT_AN_OBJECT, lambda good: b"%d" % good.rng.integers(10**6)),
    _line("not UTF-8", Reason.NOT_UTF8, _not_utf8),
    Defect("too long", Reason.TOO_LONG, "", _too_long, rare=True),
    _set("version of tomorrow", Reason.UNKNOWN_VERSION, "version", SAMPLE_VERSION + 98),
    _without("version"),
    _without("time_ms"),
    _without("window_ms"),
    _without("topology"),
    _without("component"),
    _without("task"),
    _without("host"),
    _without("worker"),
    _without("machine_type", Reason.NO_MACHINE_TYPE),
    _set("null component", Reason.MISSING_FIELD, "component", None),
    _set("text for a number", Reason.WRONG_TYPE, "cpu_points", "many"),
    _set("text for a count", Reason.WRONG_TYPE, "inputs.tuples", "many"),
    _set("fractional task", Reason.WRONG_TYPE, "task", 3.5),
    _set("truth for a number", Reason.WRONG_TYPE, "window_ms", True),
    _set("object for a text", Reason.WRONG_TYPE, "host", {"name": "m1"}),
    _set("empty component", Reason.EMPTY_NAME, "component", ""),
    _set("NaN", Reason.NOT_FINITE, "cpu_points", _NAN),
    _set("infinite tuples", Reason.NOT_FINITE, "inputs.tuples", _INFINITY),
    Defect("beyond a double", Reason.NOT_FINITE, "execute_ms", _overflowing),
    _set("negative tuples", Reason.NEGATIVE, "inputs.tuples", -5.0),
    _set("negative CPU", Reason.NEGATIVE, "cpu_points", -0.5),
    _set("overfull queue", Reason.OUT_OF_RANGE, "queue_fill", 1.7),
    _set("held back for longer than the window", Reason.OUT_OF_RANGE, "held_back", 1.2),
    _set("tasks that end before they begin", Reason.OUT_OF_RANGE, "last_task", -9),
    _set("sampling nothing", Reason.OUT_OF_RANGE, "sample_rate", 0.0),
    _set("inputs not a list", Reason.BAD_ENTRY, "inputs", 17),
    _set("input not an object", Reason.BAD_ENTRY, "inputs", [17]),
    _without("inputs.component"),
    _without("outputs.stream"),
    _set("unknown counters", Reason.UNKNOWN_COUNTERS, "counters", "sometimes"),
    _time("in seconds", Reason.TIME_UNIT, lambda ms: ms // 1000),
    _time("in microseconds", Reason.TIME_UNIT, lambda ms: ms * 1000),
    _time("in nanoseconds", Reason.TIME_UNIT, lambda ms: ms * 1_000_000),
    _time("in 1999", Reason.TOO_OLD, lambda ms: _1999_MS + ms % _YEAR_MS),
    _time("in 2150", Reason.FUTURE, lambda ms: _2150_MS + ms % _YEAR_MS),
    _set("no window", Reason.BAD_WINDOW, "window_ms", 0),
    _set("window of two days", Reason.BAD_WINDOW, "window_ms", 2 * LONGEST_WINDOW_MS),
    _set("impossible CPU", Reason.IMPOSSIBLE_CPU, "cpu_points", 5.0 * MOST_CPU_POINTS),
    Defect("duplicate", Reason.DUPLICATE, "", lambda good: good.text, DefectKind.REPEATS),
    Defect("contradiction", Reason.CONFLICT, "", _contradicting, DefectKind.CONTRADICTS),
)

"""Whether a journal's turns hold what its writer puts there: others may have changed them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.control.decision import DecisionKind

#: Seconds, up to the year 9999.
_MOST_S = 2.5e11
_MOST_COUNT = 10**12
#: Of numbers that are summed and drawn.
_MOST = 1e300
_Check = Callable[[Any], bool]


def unsound_field(row: Mapping[str, Any]) -> str | None:
    """The first field of a turn that is not what a journal holds there; None if all are."""
    return _unsound(_TURN, row)


def _unsound(checks: Mapping[str, _Check], row: Mapping[str, Any]) -> str | None:
    return next((n for n, check in checks.items() if n not in row or not check(row[n])), None)


def _is_number(value: Any) -> bool:
    # What is none fails each comparison.
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and -_MOST < value < _MOST


def _is_known_or_not(value: object) -> bool:
    return value is None or _is_number(value)


def _is_time(value: Any) -> bool:
    return _is_number(value) and abs(value) <= _MOST_S


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_COUNT


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _list_of(check: _Check) -> _Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _tuple_of(*checks: _Check) -> _Check:
    def is_tuple(value: Any) -> bool:
        fits = isinstance(value, list) and len(value) == len(checks)
        return fits and all(check(one) for check, one in zip(checks, value, strict=True))

    return is_tuple


def _or_none(check: _Check) -> _Check:
    return lambda value: value is None or check(value)


def _fields(checks: Mapping[str, _Check]) -> _Check:
    return lambda value: (
        isinstance(value, dict)
        and value.keys() == checks.keys()
        and _unsound(checks, value) is None
    )


_IS_PLACEMENT = _list_of(_tuple_of(_is_text, _is_text, _is_count, _is_known_or_not))
_IS_DETECTION = _fields(
    {
        "time_s": _is_number,
        "kind": _is_text,
        "subject": _is_text,
        "value": _is_known_or_not,
        "why": _is_text,
        "is_over": lambda value: isinstance(value, bool),
    }
)
_IS_DECISION = _fields(
    {
        "time_s": _is_number,
        "kind": lambda value: value in list(DecisionKind),
        "reason": _is_text,
        "evidence": _list_of(_tuple_of(_is_text, _is_known_or_not)),
        "placement": _or_none(_IS_PLACEMENT),
        "rate_before_per_s": _is_known_or_not,
        "rate_after_per_s": _is_known_or_not,
        "headroom_before": _is_known_or_not,
        "headroom_after": _is_known_or_not,
        "machines_before": _is_count,
        "machines_after": _is_count,
        "moves": _is_count,
        "pause_s": _is_known_or_not,
        "gap": _is_known_or_not,
        "refused": _list_of(_tuple_of(_is_text, _is_text, _is_text)),
        "calls_for_help": _is_text,
    }
)
_TURN: dict[str, _Check] = {
    "begin_s": _is_time,
    "end_s": _is_time,
    "turns": _is_count,
    "placement": _IS_PLACEMENT,
    "away": _list_of(_is_text),
    "offered_per_s": _is_known_or_not,
    "processed_per_s": _is_known_or_not,
    "backlog": _is_known_or_not,
    "latency_s": _is_known_or_not,
    "paused_s": _is_known_or_not,
    "cpu": _or_none(_list_of(_is_known_or_not)),
    "stream_per_s": _or_none(_list_of(_is_known_or_not)),
    "decision": _or_none(_IS_DECISION),
    "detections": _or_none(_list_of(_IS_DETECTION)),
}

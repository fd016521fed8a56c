"""Names of slots and hours, the units in which tables are computed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from penstock.model.arrays import IntVector

#: Ten minutes: short enough that a live batch computes little again, and what a fit takes for one
#: stretch of windows that depend on each other.
SLOT_MS = 600_000
HOUR_MS = 3_600_000
_HOUR = "%Y-%m-%d-%H"
_SLOT = "%Y-%m-%d-%H-%M"
#: Keys of slots begin with their hour.
HOUR_LENGTH = len("2026-01-01-00")


def slot_numbers(time_ms: IntVector) -> IntVector:
    return np.asarray(time_ms // SLOT_MS)


def slot_name(number: int) -> str:
    return datetime.fromtimestamp(number * SLOT_MS / 1000, UTC).strftime(_SLOT)


def hour_name(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms // HOUR_MS * HOUR_MS / 1000, UTC).strftime(_HOUR)


def hour_of(key: str) -> str:
    """The hour that a part's key begins with."""
    return key[:HOUR_LENGTH]


def slot_of(key: str) -> str:
    """The slot that the key of a part of the samples begins with."""
    return key.partition("/")[0]


def shifted(hour: str, by: int) -> str:
    moment = datetime.strptime(hour, _HOUR).replace(tzinfo=UTC)
    return (moment + timedelta(hours=by)).strftime(_HOUR)


def hour_start(hour: str) -> int:
    """The moment an hour begins, in milliseconds."""
    return int(datetime.strptime(hour, _HOUR).replace(tzinfo=UTC).timestamp() * 1000)

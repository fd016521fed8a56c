"""Slots of ten minutes and hours have names that sort like time, and fit into each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.telemetry.reasons import EARLIEST_MS, LATEST_MS
from penstock.telemetry.slots.keys import (
    HOUR_MS,
    SLOT_MS,
    hour_name,
    hour_of,
    hour_start,
    shifted,
    slot_name,
    slot_numbers,
    slot_of,
)

MOMENTS = st.integers(EARLIEST_MS, LATEST_MS)


@given(MOMENTS)
def test_a_moment_lies_in_its_hour_and_its_slot_in_the_same(time_ms: int) -> None:
    hour = hour_name(time_ms)
    assert hour_start(hour) <= time_ms < hour_start(hour) + HOUR_MS
    number = int(slot_numbers(np.array([time_ms]))[0])
    assert number * SLOT_MS <= time_ms < (number + 1) * SLOT_MS
    slot = slot_name(number)
    assert hour_of(slot) == hour
    assert slot_of(f"{slot}/batch-000001/00000") == slot


@given(MOMENTS, MOMENTS)
def test_names_sort_like_time(one: int, other: int) -> None:
    first, second = sorted((one, other))
    assert hour_name(first) <= hour_name(second)
    assert slot_name(first // SLOT_MS) <= slot_name(second // SLOT_MS)


@given(MOMENTS, st.integers(-48, 48))
def test_hours_are_shifted_over_the_ends_of_days_and_years(time_ms: int, by: int) -> None:
    assert shifted(hour_name(time_ms), by) == hour_name(time_ms + by * HOUR_MS)


@pytest.mark.parametrize(
    ("hour", "by", "there"),
    [
        ("2026-01-01-00", -1, "2025-12-31-23"),
        ("2024-02-28-23", 1, "2024-02-29-00"),
        # No summer time: hours are those of UTC.
        ("2026-03-29-01", 1, "2026-03-29-02"),
    ],
)
def test_the_hour_before_and_after(hour: str, by: int, there: str) -> None:
    assert shifted(hour, by) == there


def test_a_slot_is_named_by_its_beginning() -> None:
    assert slot_name(1_767_225_600_000 // SLOT_MS + 5) == "2026-01-01-00-50"

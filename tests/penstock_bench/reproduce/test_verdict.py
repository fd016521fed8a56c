"""Verdicts: each can be reached, and each can be missed by a hair."""

from __future__ import annotations

import pytest

from penstock_bench.reproduce.paper_fields import (
    ChangeMeasure,
    CountsMeasure,
    Published,
    RatioMeasure,
    Row,
    ValueMeasure,
)
from penstock_bench.reproduce.verdict import Verdict, judge

REPRODUCED, SAME, NOT = Verdict.REPRODUCED, Verdict.SAME_DIRECTION, Verdict.NOT_REPRODUCED
CHANGE = ChangeMeasure("change", "rate_per_s", ("hetero",), "default")
VALUE = ValueMeasure("value", "rate_per_s", ("hetero",))
COUNTS = CountsMeasure("counts", ("a", "b"), ("hetero",))
RATIO = RatioMeasure("ratio", CHANGE, CHANGE)


def verdict(measure, published, ours, **near):
    row = Row("what", measure, Published(**published), **near)
    return judge(row, [ours if isinstance(ours, tuple) else (ours,)])


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        (44, REPRODUCED),
        (49, REPRODUCED),  # 44 + 5
        (39, REPRODUCED),  # 44 - 5
        (49.1, SAME),
        (38.9, SAME),
        (0.1, SAME),
        (0.0, NOT),  # no difference is no gain
        (-1.0, NOT),
    ],
)
def test_a_gain_of_44_percent_within_5_points(ours, expected):
    assert verdict(CHANGE, {"value": 44}, ours, within=5) is expected


def test_a_small_gain_is_not_reproduced_by_a_small_loss():
    # 3 - (-1.3) = 4.3 points are within 5, but a loss is no gain.
    assert verdict(CHANGE, {"value": 3}, -1.3, within=5) is NOT
    assert verdict(CHANGE, {"value": 3}, 0.2, within=5) is REPRODUCED


@pytest.mark.parametrize(("ours", "expected"), [(4.9, REPRODUCED), (-4.9, REPRODUCED), (6, NOT)])
def test_the_same_throughput_has_no_direction(ours, expected):
    assert verdict(CHANGE, {"value": 0}, ours, within=5) is expected


@pytest.mark.parametrize(
    ("ours", "expected"),
    [(-30, REPRODUCED), (-36, SAME), (-1, SAME), (1, NOT)],  # -30.7 within 5: -35.7 to -25.7
)
def test_a_loss_has_a_direction_too(ours, expected):
    assert verdict(CHANGE, {"value": -30.7}, ours, within=5) is expected


@pytest.mark.parametrize(
    ("ours", "expected"),
    [((26, 49), REPRODUCED), ((21, 54), REPRODUCED), ((20.9, 40), SAME), ((30, -1), NOT)],
)
def test_every_setting_of_a_range_counts(ours, expected):
    row = Row("what", CHANGE, Published(least=26, most=49), within=5)
    assert judge(row, [(value,) for value in ours]) is expected


def test_a_limit_that_allows_no_difference_has_no_direction():
    # "At most 4 % less": 9 % less is not the same claim weaker, it breaks it.
    assert verdict(CHANGE, {"least": -4}, -3.9, within=0) is REPRODUCED
    assert verdict(CHANGE, {"least": -4}, -9, within=0) is NOT
    # "At least 37 % more": 20 % more is.
    assert verdict(CHANGE, {"least": 37}, 20, within=0) is SAME


@pytest.mark.parametrize(("ours", "expected"), [(110, REPRODUCED), (111, NOT), (90, REPRODUCED)])
def test_a_rate_within_10_percent_has_no_direction(ours, expected):
    assert verdict(VALUE, {"value": 100}, ours, within_percent=10) is expected


@pytest.mark.parametrize(("ours", "expected"), [(1.2, REPRODUCED), (2.0, SAME), (0.9, NOT)])
def test_a_ratio_is_compared_around_one(ours, expected):
    # 1.15 within 10 %: 1.035 to 1.265
    assert verdict(RATIO, {"value": 1.15}, ours, within_percent=10) is expected


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        ((41.0, 42.0), REPRODUCED),
        ((45.0, 38.0), REPRODUCED),  # within 10 % each: 36.9 to 45.1, 37.8 to 46.2
        ((10.0, 20.0), SAME),  # fewer first, as published
        ((20.0, 10.0), NOT),
        ((41.0,), NOT),  # not as many numbers as were published
    ],
)
def test_counts_within_10_percent_or_in_the_same_order(ours, expected):
    assert verdict(COUNTS, {"values": (41, 42)}, ours, within=1, within_percent=10) is expected


def test_counts_that_are_equal_in_the_paper_must_be_equal():
    assert verdict(COUNTS, {"values": (5, 5)}, (1.0, 1.0), within=1) is SAME
    assert verdict(COUNTS, {"values": (5, 5)}, (1.0, 2.0), within=1) is NOT


@pytest.mark.parametrize(("ours", "expected"), [(0.5, REPRODUCED), (0.0, NOT), (-2.0, NOT)])
def test_only_which_way(ours, expected):
    assert verdict(CHANGE, {"sign": "more"}, ours) is expected


def test_without_a_number_there_is_no_verdict():
    row = Row("what", CHANGE, Published(value=1), within=1)
    assert judge(row, []) is Verdict.NOT_JUDGED
    assert judge(row, [(1.0,), ()]) is Verdict.NOT_JUDGED

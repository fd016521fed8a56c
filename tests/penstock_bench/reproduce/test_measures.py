"""What measures make of figures, worked out by hand."""

from __future__ import annotations

import pytest

from penstock.errors import InputError
from penstock_bench.reproduce.measures import read
from penstock_bench.reproduce.paper_fields import (
    AwayMeasure,
    BetweenMeasure,
    ChangeMeasure,
    CountsMeasure,
    RatioMeasure,
    ValueMeasure,
)

FOUND = {
    "default": {"rate": 80.0, "use": 0.5, "low": 2.0, "high": 3.0},
    "hetero": {"rate": 100.0, "use": 0.6, "simulated": 90.0},
    "top": {"rate": 90.0},
    "none": {"rate": None, "why_not": "no memory"},
}


def change(**more):
    given = {"figure": "rate", "of": ("hetero",), "against": "default"} | more
    return ChangeMeasure("change", **given)


def test_a_change_is_of_the_other_or_of_the_larger():
    assert read(change(), FOUND).values == (25.0,)  # 20 of 80
    assert read(change(percent_of="larger"), FOUND).values == (20.0,)  # 20 of 100
    lower = change(of=("default",), against="hetero", percent_of="larger")
    assert read(lower, FOUND).values == (-20.0,)


def test_the_best_of_several_is_named():
    best = read(change(of=("top", "hetero")), FOUND)
    assert (best.values, best.detail) == ((25.0,), "hetero")
    least = read(change(of=("top", "hetero"), best="least"), FOUND)
    assert (least.values, least.detail) == ((12.5,), "top")  # 10 of 80


def test_another_figure_of_the_other():
    energy = change(figure="use", against_figure="rate")
    assert read(energy, FOUND).values[0] == pytest.approx(-99.25)  # (0.6 - 80) / 80


def test_values_counts_ratios_and_distances():
    assert read(ValueMeasure("value", "rate", ("hetero",), times=10), FOUND).values == (1000.0,)
    assert read(CountsMeasure("counts", ("low", "high"), ("default",)), FOUND).values == (2.0, 3.0)
    ratio = RatioMeasure("ratio", change(), change(figure="use"))
    assert read(ratio, FOUND).values[0] == pytest.approx(1.25)  # 25 % over 20 %
    away = AwayMeasure("away", "rate", ("hetero",), measured=80.0)
    assert read(away, FOUND).values == (20.0,)  # 20 of 100
    between = BetweenMeasure("between", "simulated", "rate", ("hetero",))
    assert read(between, FOUND).values == (10.0,)  # 10 of 100


def test_a_scheduler_without_a_plan_has_no_number_but_a_reason():
    for measure in (change(of=("none",)), change(against="none")):
        reading = read(measure, FOUND)
        assert (reading.values, reading.no_plan) == ((), True)
        assert "no memory" in reading.detail


def test_a_figure_or_scheduler_that_is_not_there_is_an_error():
    with pytest.raises(InputError, match='no figure "speed" of hetero'):
        read(change(figure="speed"), FOUND)
    with pytest.raises(InputError, match='no figures of "storm"'):
        read(change(of=("storm",)), FOUND)

"""Drift: named where it is, silent where there is none, however many figures are looked at."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.model.profile import Cost, Profile, StreamMeasure
from penstock.telemetry.drift import Measure, between_profiles, drifts


def unchanged(count: int, seed: int, error: float = 0.02) -> list[Measure]:
    """Figures of 1 measured twice, each off by its standard error."""
    rng = np.random.default_rng(seed)
    before, after = 1.0 + rng.normal(0.0, error, (2, count))
    return [
        Measure(f"c{i:04}", "M1", "e", float(before[i]), error, float(after[i]), error)
        for i in range(count)
    ]


@pytest.mark.parametrize("seed", range(5))
def test_a_thousand_unchanged_figures_raise_no_alarm(seed: int) -> None:
    measures = unchanged(1000, seed)
    found = drifts(measures)
    assert len(found) == 1000
    assert not any(d.drifted for d in found)
    # One at a time, ten of them would stray beyond 99 %.
    alone = [drifts([m])[0].confidence >= 0.99 for m in measures]
    assert 2 <= sum(alone) <= 22


def test_a_tenth_more_is_found_among_a_thousand_and_named_first() -> None:
    # 10 % with errors of 1 %: 0.1 / (0.01 * sqrt 2) = 7 standard errors, by luck 1e-12.
    measures = unchanged(999, seed=1, error=0.01)
    measures.insert(500, Measure("sort", "M2", "e", 2.0, 0.02, 2.2, 0.02))
    first, *rest = drifts(measures)
    assert (first.row, first.machine_type, first.measure) == ("sort", "M2", "e")
    assert first.drifted
    assert first.change == pytest.approx(0.10)
    assert first.confidence > 0.999
    assert not any(d.drifted for d in rest)


def test_holms_rule_multiplies_by_the_figures_still_open() -> None:
    # 3 standard errors and 2: chances of 0.0027 and 0.0455 by luck.
    # Of two figures the likelier change counts double (0.0054), the other once.
    pair = [
        Measure("b", "", "e", 1.0, 0.0, 1.2, 0.1),
        Measure("a", "", "e", 1.0, 0.0, 1.3, 0.1),
    ]
    first, second = drifts(pair)
    assert (first.row, first.confidence) == ("a", pytest.approx(1 - 0.0053996, abs=1e-6))
    assert (second.row, second.confidence) == ("b", pytest.approx(1 - 0.0455003, abs=1e-6))
    assert (first.drifted, second.drifted) == (True, False)


def test_a_change_below_five_percent_is_no_drift_however_sure() -> None:
    small, fall, large = drifts(
        [
            Measure("small", "", "e", 1.0, 1e-6, 1.049, 1e-6),
            Measure("fall", "", "e", 1.0, 1e-6, 0.94, 1e-6),
            Measure("large", "", "e", 1.0, 1e-6, 1.051, 1e-6),
        ]
    )[::-1]
    assert {d.row: d.drifted for d in (small, fall, large)} == {
        "small": False, "fall": True, "large": True,
    }  # fmt: skip
    assert small.confidence == pytest.approx(1.0)


def test_figures_without_errors_and_unknown_ones_are_left_out() -> None:
    nan = float("nan")
    measures = [
        Measure("unknown before", "", "e", nan, 0.1, 1.0, 0.1),
        Measure("no error", "", "e", 1.0, 0.1, 2.0, nan),
        Measure("same to the last digit", "", "e", 1.0, 0.0, 1.0, 0.0),
        Measure("exact and other", "", "e", 1.0, 0.0, 2.0, 0.0),
    ]
    assert [(d.row, d.drifted) for d in drifts(measures)] == [
        ("exact and other", True),
        ("same to the last digit", False),
    ]
    assert drifts([]) == []


def _profile(e: float, selectivity: float) -> Profile:
    costs = (
        Cost("a", "M1", e=0.1, met=1.0, e_error=0.001, met_error=0.1),
        Cost("b", "M1", e=e, met=1.0, e_error=0.002, met_error=0.1),
        Cost("b", "M2", e=9 * e, met=1.0, e_error=0.002, met_error=0.1, extrapolated=True),
    )
    stream = StreamMeasure("a", "b", selectivity=selectivity, selectivity_error=0.01)
    return Profile("p", costs, streams=(stream, StreamMeasure("b", "c")))


def test_profiles_are_compared_cost_by_cost_and_stream_by_stream() -> None:
    found = between_profiles(_profile(0.2, 2.0), _profile(0.26, 2.3))
    drifted = [(d.row, d.machine_type, d.measure) for d in found if d.drifted]
    # b costs 30 % more and a puts out 15 % more; what was extrapolated proves nothing.
    assert drifted == [("b", "M1", "e"), ("a -> b", "", "selectivity")]
    assert len(found) == 5  # e and met of two costs, one selectivity


def test_a_component_of_one_profile_only_has_not_drifted() -> None:
    before = _profile(0.2, 2.0)
    after = replace(before, costs=before.costs[:1], streams=())
    assert [d.row for d in between_profiles(before, after)] == ["a", "a"]
    assert between_profiles(after, before) != []
    assert not any(d.drifted for d in between_profiles(after, before))

"""A recorded load: its beginning, and medians over longer steps."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.control.recorded_load import RecordedLoad

#: An hour, every ten minutes.
LOAD = RecordedLoad("hour", np.array([1.0, 9.0, 2.0, 3.0, 8.0, 4.0]), 600.0)


@pytest.mark.parametrize(
    ("seconds", "steps"),
    # 1,500 s are two and a half steps; Python rounds halves to even numbers.
    [(0.0, 1), (600.0, 1), (1500.0, 2), (3600.0, 6), (1e12, 6), (1e308, 6)],
)
def test_the_beginning_is_a_step_at_least_and_all_at_most(seconds, steps):
    first = LOAD.first(seconds)
    assert first.rate_per_s.tolist() == LOAD.rate_per_s[:steps].tolist()


def test_a_peak_of_a_moment_is_gone_from_medians():
    # Of (1, 9, 2) and (3, 8, 4).
    assert LOAD.medians(1800.0).rate_per_s.tolist() == [2.0, 4.0]


@pytest.mark.parametrize(
    ("asked_s", "step_s", "rates"),
    [
        # 840 s are 1.4 steps: one, which is still ten minutes long.
        (840.0, 600.0, [1.0, 9.0, 2.0, 3.0, 8.0, 4.0]),
        # Longer than it is: one median of all, between 3 and 4.
        (36_000.0, 3600.0, [3.5]),
    ],
)
def test_medians_are_over_whole_steps_that_there_are(asked_s, step_s, rates):
    medians = LOAD.medians(asked_s)
    assert (medians.step_s, medians.rate_per_s.tolist()) == (step_s, rates)

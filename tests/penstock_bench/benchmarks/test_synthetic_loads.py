"""Loads of our own making: the same for a seed, positive, and what their names say."""

from __future__ import annotations

import numpy as np
import pytest

from penstock_bench.benchmarks.control.synthetic_loads import DAY, SYNTHETIC, synthetic_load


@pytest.mark.parametrize("name", SYNTHETIC)
def test_a_seed_gives_the_same_load_and_another_a_different_one(name):
    first, second, other = (synthetic_load(name, 2.0, seed) for seed in (0, 0, 1))
    assert len(first.rate_per_s) == 2 * DAY
    assert (first.rate_per_s > 0).all()
    np.testing.assert_array_equal(first.rate_per_s, second.rate_per_s)
    assert not np.array_equal(first.rate_per_s, other.rate_per_s)


def test_a_daily_load_repeats_and_a_shifting_one_does_not():
    def likeness(name: str) -> float:
        rates = synthetic_load(name, 8.0).rate_per_s
        return float(np.corrcoef(rates[:-DAY], rates[DAY:])[0, 1])

    assert likeness("daily") > 0.9
    assert likeness("shifts") < 0.5

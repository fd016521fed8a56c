"""The test that detectors share: evidence grows with a fault, and rarely without one."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.control.detectors.detector import BLOCK_S
from penstock.control.detectors.evidence import EvidenceTest

#: One block in a hundred: so often that a test can count them.
OFTEN = EvidenceTest(864.0 / BLOCK_S, fine=0.1, fault=0.5)
SUBJECTS = 400


def autocorrelated(blocks: int, like: float, seed: int, scale: float = 0.1) -> np.ndarray:
    """Noise of a subject in each column; neighbours correlate by ``like``."""
    rng = np.random.default_rng(seed)
    values = np.empty((blocks, SUBJECTS))
    values[0] = rng.normal(size=SUBJECTS)
    for i in range(1, blocks):
        values[i] = like * values[i - 1] + np.sqrt(1 - like**2) * rng.normal(size=SUBJECTS)
    return scale * values


def alarms(test: EvidenceTest, series: np.ndarray) -> int:
    """How often any subject's alarm begins."""
    evidence, number = test.start(series.shape[1]), 0
    for values in series:
        after = test.seen(values, evidence)
        number += int((after.alarmed & ~evidence.alarmed).sum())
        evidence = after
    return number


def test_the_threshold_follows_from_the_rate():
    # 86,400 / 30 = 2,880 blocks a day; one false alarm in 1,000 days is one in 2,880,000 blocks.
    assert EvidenceTest(1e-3, 0.1, 0.5).threshold == pytest.approx(np.log(2_880_000))


@pytest.mark.parametrize("like", [0.0, 0.4, 0.7])
@pytest.mark.parametrize("scale", [0.05, 0.3])
def test_noise_raises_fewer_alarms_than_stated(like, scale):
    # A rate of one in 100 blocks: 400 subjects in 400 blocks would have 1,600 at that rate.
    assert alarms(OFTEN, autocorrelated(400, like, 1, scale)) <= SUBJECTS * 400 / 100


def test_heavy_tails_raise_fewer_alarms_than_stated():
    rng = np.random.default_rng(2)
    # Student's t with 2 degrees of freedom has no variance.
    assert alarms(OFTEN, 0.1 * rng.standard_t(2, size=(400, SUBJECTS))) <= SUBJECTS * 400 / 100


def test_slow_swings_below_what_is_fine_raise_none():
    waves = 0.09 * np.sin(np.arange(2000) / 100)[:, None] * np.ones(SUBJECTS)
    assert alarms(EvidenceTest(1e-3, 0.2, 0.5), waves) == 0


def test_without_enough_of_a_past_nothing_is_judged():
    series = np.zeros((39, 1))
    series[20:] = 5.0
    assert alarms(OFTEN, series) == 0


def test_what_is_unknown_changes_nothing():
    test = EvidenceTest(1e-3, 0.1, 0.5)
    evidence = test.start(1)
    for _ in range(60):
        evidence = test.seen(np.zeros(1), evidence)
    for _ in range(3):
        evidence = test.seen(np.full(1, 0.5), evidence)
    before = float(evidence.log_e[0])
    assert before > 0
    for _ in range(10):
        evidence = test.seen(np.full(1, np.nan), evidence)
    assert float(evidence.log_e[0]) == before


def test_a_fault_is_not_learned_as_usual():
    test = EvidenceTest(1e-3, 0.1, 0.5)
    series = np.concatenate([autocorrelated(100, 0, 3), 0.5 + autocorrelated(1000, 0, 4)])
    evidence = test.start(SUBJECTS)
    for values in series:
        evidence = test.seen(values, evidence)
    assert evidence.alarmed.all()
    assert evidence.mean_above.mean() == pytest.approx(0.5, abs=0.05)


def test_what_is_over_counts_as_over():
    test = EvidenceTest(1e-3, 0.1, 0.5)
    parts = [autocorrelated(n, 0, n) + shift for n, shift in ((100, 0), (30, 0.5), (200, 0))]
    evidence = test.start(SUBJECTS)
    for values in np.concatenate(parts):
        evidence = test.seen(values, evidence)
    assert not evidence.alarmed.any()


def test_what_rounding_leaves_is_no_noise_whose_blocks_resemble_each_other():
    test = EvidenceTest(1e-3, 0.1, 0.5)
    found = []
    for rounding in (0.0, 1e-16):
        series = rounding * autocorrelated(100, 0.99, 5, scale=1.0)
        evidence = test.start(SUBJECTS)
        for values in (*series, np.full(SUBJECTS, 0.5)):
            evidence = test.seen(values, evidence)
        found.append(evidence.log_e)
    assert found[0].min() > 0
    assert found[1] == pytest.approx(found[0])

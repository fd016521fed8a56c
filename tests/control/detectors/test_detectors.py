"""Each detector on series whose fault is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.builders import nasiri

from penstock.control.detectors.bank import DetectorBank
from penstock.control.detectors.cost_drift import DriftedCosts
from penstock.control.detectors.detector import BLOCK_S, Detector, TelemetryBlock
from penstock.control.detectors.key_skew import KeySkew
from penstock.control.detectors.machine_presence import MachinePresence
from penstock.control.detectors.prediction_error import PredictionError
from penstock.control.detectors.sick_machine import SickMachine, against_peers
from penstock.control.detectors.spout_held_back import SpoutHeldBack
from penstock.model.placement import Placement

#: Four machines of each of three types.
PROBLEM = nasiri("diamond", (4, 4, 4))
COMPONENTS = len(PROBLEM.components)
PLACEMENT = Placement.of([0] * 12, range(12))
ALIVE = np.ones(12, dtype=np.bool_)
#: Blocks before a fault begins: an hour.
CALM = 120


def block(**differs) -> TelemetryBlock:
    calm = TelemetryBlock(
        0.0, BLOCK_S, PLACEMENT, ALIVE, np.zeros(12), 0.0, np.zeros(COMPONENTS)
    )  # fmt: skip
    return replace(calm, **differs)


def said(detector: Detector, blocks):
    """Detections with the number of their block."""
    memory, found = detector.start(PROBLEM), []
    for i, one in enumerate(blocks):
        news, memory = detector.look(replace(one, time_s=(i + 1) * BLOCK_S), memory, PROBLEM)
        found += [(i, detection) for detection in news]
    return found


def noisy(blocks: int, seed: int = 0, scale: float = 0.1) -> np.ndarray:
    return np.random.default_rng(seed).normal(scale=scale, size=(blocks, 12))


def of_cpu(log_cpu: np.ndarray):
    return [block(log_cpu=row) for row in log_cpu]


@pytest.mark.parametrize("seed", range(5))
def test_a_machine_slowed_to_60_percent_is_found_within_5_minutes(seed):
    log_cpu = noisy(CALM + 20, seed)
    log_cpu[CALM:, 7] -= np.log(0.6)
    found = said(SickMachine(), of_cpu(log_cpu))
    at, first = found[0]
    assert first.subject == PROBLEM.cluster.machines[7].name
    # 5 minutes are 10 blocks.
    assert CALM <= at < CALM + 10
    assert first.value == pytest.approx(0.6, abs=0.1)
    assert all(d.subject == first.subject for _, d in found)


def test_it_is_demoted_then_out_then_tried_again_for_longer_each_time():
    log_cpu = noisy(CALM + 900)
    log_cpu[CALM:, 7] -= np.log(0.6)
    found = [(i, d.why) for i, d in said(SickMachine(), of_cpu(log_cpu))]
    kinds = [why.split(" ", 1)[1] for _, why in found]
    assert "planned with that" in kinds[0]
    assert "planned without it" in kinds[1]
    assert "tried again" in kinds[2]
    out = [i for (i, _), kind in zip(found, kinds, strict=True) if "without" in kind]
    again = [i for (i, _), kind in zip(found, kinds, strict=True) if "tried again" in kind]
    # An hour is 120 blocks, two are 240.
    assert [b - a for a, b in zip(out, again, strict=False)][:2] == [120, 240]


def test_a_machine_that_was_slow_from_the_first_is_found():
    log_cpu = noisy(CALM, scale=0.05)
    log_cpu[:, 2] -= np.log(0.6)
    assert {d.subject for _, d in said(SickMachine(), of_cpu(log_cpu))} == {
        PROBLEM.cluster.machines[2].name
    }


def test_a_machine_that_recovers_is_as_fast_as_it_was_again():
    log_cpu = noisy(CALM + 60, 3)
    log_cpu[CALM : CALM + 6, 7] -= np.log(0.6)
    found = said(SickMachine(), of_cpu(log_cpu))
    assert [d.is_over for _, d in found] == [False, True]


def test_what_all_machines_of_a_type_share_is_drift_and_no_sick_machine():
    log_cpu = noisy(CALM + 30)
    log_cpu[CALM:, :4] += np.log(1.5)
    assert said(SickMachine(), of_cpu(log_cpu)) == []
    (_, drift), *_ = said(DriftedCosts(), of_cpu(log_cpu))
    assert drift.subject == PROBLEM.cluster.types[0].name
    assert drift.value == pytest.approx(1.5, abs=0.1)


def test_costs_that_fall_are_drift_too():
    log_cpu = noisy(CALM + 30)
    log_cpu[CALM:] += np.log(0.6)
    found = {d.subject: d.value for _, d in said(DriftedCosts(), of_cpu(log_cpu))}
    assert found["all machines"] == pytest.approx(0.6, abs=0.1)


def test_a_sick_machine_is_no_peer():
    # Two of four are sick and known to be: the median is that of the two others.
    log_cpu = np.array([0.5, 0.5, 0.0, 0.02, *[0.0] * 8])
    beside = np.array([False, False, *[True] * 10])
    assert against_peers(log_cpu, PROBLEM, beside)[0] == pytest.approx(0.5, abs=0.02)


def test_a_machine_lost_and_back():
    gone = ALIVE.copy()
    gone[3] = False
    found = said(MachinePresence(), [block(), block(alive=gone), block(alive=gone), block()])
    name = PROBLEM.cluster.machines[3].name
    assert [(i, d.why) for i, d in found] == [(1, f"{name} is lost"), (3, f"{name} is back")]


def test_a_machine_that_was_never_there_is_new():
    without = ALIVE.copy()
    without[0] = False
    found = said(MachinePresence(), [block(alive=without), block()])
    assert [d.why for _, d in found] == [f"{PROBLEM.cluster.machines[0].name} is new"]


def test_keys_that_become_uneven():
    rng = np.random.default_rng(5)
    busiest = np.abs(rng.normal(scale=0.05, size=(CALM + 20, COMPONENTS)))
    busiest[CALM:, 1] += np.log(1.6)
    found = said(KeySkew(), [block(log_busiest=row) for row in busiest])
    assert {d.subject for _, d in found} == {PROBLEM.labels[1]}
    assert found[0][0] < CALM + 10


def test_spouts_that_are_held_back_for_minutes_and_not_for_moments():
    held = np.zeros(200)
    held[::30] = 0.5  # now and then: 1.7 % of the time
    assert said(SpoutHeldBack(), [block(held_back=h) for h in held]) == []
    held[100:120] = 1.0
    found = said(SpoutHeldBack(), [block(held_back=h) for h in held])
    assert [d.is_over for _, d in found] == [False, True]
    # Each such block is worth ln 10.5 = 2.35, the threshold is 14.87: the seventh at the latest.
    assert found[0][0] <= 106


def test_predictions_that_become_worse():
    log_cpu = noisy(CALM + 60, scale=0.05)
    log_cpu[CALM:] += 0.3 * np.where(np.arange(12) % 2, 1.0, -1.0)
    found = said(PredictionError(), of_cpu(log_cpu))
    assert found[0][0] < CALM + 20


@pytest.mark.parametrize("detector", DetectorBank().detectors, ids=lambda d: d.name)
def test_calm_says_nothing_and_missing_telemetry_neither(detector):
    unknown = block(
        log_cpu=np.full(12, np.nan), held_back=np.nan, log_busiest=np.full(COMPONENTS, np.nan)
    )
    assert said(detector, [*of_cpu(noisy(CALM)), *[unknown] * 60]) == []


@pytest.mark.parametrize("detector", DetectorBank().detectors[:1] + DetectorBank().detectors[2:])
def test_the_rate_of_false_alarms_is_a_parameter(detector):
    assert detector.false_alarms_per_day == 1e-3


def test_fewer_than_three_machines_are_no_majority():
    few = nasiri("diamond", (1, 1, 0))
    log_cpu = np.array([0.5, 0.0])
    assert against_peers(log_cpu, few, np.ones(2, dtype=np.bool_)).tolist() == [0.5, 0.0]

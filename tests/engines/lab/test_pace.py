"""The pace of a computer that others share."""

import math
import time

import pytest

from penstock.engines.lab.pace import PaceMeter, pace_measured


def test_only_pieces_that_ended_between_two_times_count():
    meter = PaceMeter(seen=[(10.0, 0.002), (11.0, 0.003), (12.0, 0.005), (13.0, 0.9)])
    assert meter.usual_s(10.5, 12.0) == pytest.approx(0.004)
    assert math.isnan(meter.usual_s(20.0, 30.0))


def test_one_piece_that_was_disturbed_does_not_count():
    meter = PaceMeter(seen=[(1.0, 0.002), (2.0, 0.002), (3.0, 0.9)])
    assert meter.usual_s(0.0, 4.0) == 0.002


def test_work_is_timed_by_its_cpu_and_not_by_the_clock():
    meter = PaceMeter(work=lambda: time.sleep(0.05))
    meter.measure()
    ((_, cpu_s),) = meter.seen
    assert 0 <= cpu_s < 0.02


def test_it_runs_beside_a_block_and_ends_with_it():
    began = time.time()
    with pace_measured(every_s=0.01) as meter:
        while len(meter.seen) < 3:
            time.sleep(0.01)
    counted = len(meter.seen)
    assert meter.usual_s(began, time.time()) > 0
    time.sleep(0.05)
    assert len(meter.seen) == counted

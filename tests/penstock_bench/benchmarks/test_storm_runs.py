"""How the machines of a lab are loaded while costs are measured."""

import pytest

from penstock_bench.benchmarks.storm_runs import _in_proportion, _turns


def test_every_machine_is_as_busy_as_its_points_allow():
    machines, carries = _in_proportion([90.0, 50.0, 30.0])
    # 3 : 1.67 : 1, rounded; the second has only 25 points for each of its two, and is full first.
    assert machines == [0, 0, 0, 1, 1, 2]
    assert carries == pytest.approx(6 * 25 / 90)


def test_equal_machines_carry_as_many_times_as_there_are():
    assert _in_proportion([40.0, 40.0]) == ([0, 1], 2.0)


def test_the_two_that_are_close_are_flooded_in_turns():
    # A computer that becomes slower by the same in each window takes as much from both.
    assert list(_turns(2)) == [("rstorm", 2), ("hetero", 1), ("penstock", 2), ("hetero", 1)]
    assert list(_turns(1)) == [("rstorm", 1), ("hetero", 1), ("penstock", 1)]

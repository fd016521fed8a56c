"""Plans for a rate that changes: the least, near to what runs, mended where machines are lost."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from penstock import app
from penstock.evaluate.capacity import capacity
from penstock.evaluate.limits import violations
from penstock.planning.capacity_plans import CapacityPlan, CapacityPlanner

PROBLEM = app.problem("diamond", "nasiri-medium", weighted=True)
PLANNER = CapacityPlanner(PROBLEM)
ALL = np.ones(30, dtype=np.bool_)


@cache
def carried(part: float) -> CapacityPlan:
    """A plan for a part of what no plan can exceed."""
    return PLANNER.carrying(part * PLANNER.bound_per_s, ALL)


@pytest.mark.parametrize(
    "part",
    [pytest.param(0.15, marks=pytest.mark.slow), 0.4, pytest.param(0.8, marks=pytest.mark.slow)],
)
def test_a_rate_is_carried_by_nearly_the_least_and_never_by_less(part):
    rate = part * PLANNER.bound_per_s
    made = carried(part)
    assert made.at_least == PLANNER.least_for(rate, ALL)
    assert capacity(PROBLEM, made.placement).scale >= rate
    assert made.at_least <= made.machines <= made.at_least + 1
    assert made.gap == pytest.approx(made.machines / made.at_least - 1)


@pytest.mark.slow
def test_more_than_the_cluster_carries_gets_what_it_carries():
    made = PLANNER.carrying(3 * PLANNER.bound_per_s, ALL)
    assert made.carries_per_s == pytest.approx(PLANNER.bound_per_s, rel=0.01)


def test_what_runs_already_stays():
    first = carried(0.4)
    again = PLANNER.carrying(0.4 * PLANNER.bound_per_s, ALL, first.placement)
    assert PLANNER.moves(first.placement, again.placement) == 0


@pytest.mark.slow
def test_lost_machines_are_not_planned_for():
    alive = ALL.copy()
    alive[[0, 3, 12]] = False
    made = PLANNER.carrying(0.5 * PLANNER.bound_per_s, alive)
    assert alive[made.placement.machine].all()


def test_what_ran_on_a_lost_machine_goes_to_an_idle_one():
    made = carried(0.4)
    lost = int(made.placement.machines_used[-1])
    alive = ALL.copy()
    alive[lost] = False
    mended = PLANNER.without_lost(made.placement, alive)
    assert lost not in mended.machine
    assert not violations(PROBLEM, mended)
    # There is another machine of its type, so nothing is lost.
    assert PLANNER.carries_per_s(mended) == pytest.approx(made.carries_per_s, rel=1e-6)
    stays = made.placement.machine != lost
    np.testing.assert_array_equal(mended.machine[stays], made.placement.machine[stays])


@pytest.mark.slow
def test_without_an_idle_machine_it_goes_where_most_is_left():
    made = PLANNER.carrying(PLANNER.bound_per_s, ALL)
    alive = ALL.copy()
    alive[5] = False
    mended = PLANNER.without_lost(made.placement, alive)
    assert 5 not in mended.machine
    assert 0.8 < PLANNER.carries_per_s(mended) / made.carries_per_s < 1.0


@pytest.mark.slow
def test_so_many_machines_carry_what_they_can():
    made = PLANNER.on_machines(12, ALL)
    assert made.machines <= 12
    more = PLANNER.carrying(made.carries_per_s * 1.15, ALL)
    assert more.machines > 12

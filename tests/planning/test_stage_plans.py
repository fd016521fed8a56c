"""Plans for an engine that runs stages one after the other: a choice of machines."""

import numpy as np
import pytest
from tests.builders import cluster, profile, topology

from penstock import app
from penstock.planning.capacity_plans import CapacityPlanner
from penstock.planning.stage_plans import StagePlanner, planner_for

#: A tuple costs a point in a and one in b: 90, 50 and 30 points carry 45, 25 and 15 tuples/s.
POINTS = {"M1": {"cpu_points": 90.0}, "M2": {"cpu_points": 50.0}, "M3": {"cpu_points": 30.0}}
PROBLEM = app.problem(
    topology("a>b"), cluster(types=POINTS, M1=1, M2=1, M3=1), profile(a=1.0, b=1.0), engine="spark"
)
ALL = np.ones(3, dtype=np.bool_)


@pytest.fixture(scope="module")
def planner():
    return planner_for(PROBLEM, "proportional")


def test_only_engines_that_run_stages_get_such_plans(planner):
    assert type(planner) is StagePlanner
    assert type(planner_for(PROBLEM, "penstock")) is CapacityPlanner


@pytest.mark.parametrize(
    ("rate", "machines", "carries"),
    # The last of the machines is the weakest that does.
    [(40, [0], 45), (55, [0, 2], 60), (65, [0, 1], 70), (80, [0, 1, 2], 85), (99, [0, 1, 2], 85)],
)
def test_a_plan_has_the_fewest_machines_that_carry_the_rate(planner, rate, machines, carries):
    plan = planner.carrying(rate, ALL)
    assert plan.placement.machines_used.tolist() == machines
    assert plan.carries_per_s == pytest.approx(carries)
    # Every component is on every machine in use, by its speed.
    assert len(plan.placement) == 2 * len(machines)


def test_machines_that_are_away_are_not_planned_on(planner):
    plan = planner.carrying(40, np.array([False, True, True]))
    assert plan.placement.machines_used.tolist() == [1, 2]
    everything = planner.carrying(80, ALL).placement
    left = planner.without_lost(everything, np.array([False, True, True]))
    assert planner.carries_per_s(left) == pytest.approx(40)
    alone = planner.carrying(40, ALL).placement
    assert planner.without_lost(alone, np.array([False, True, True])).machines_used.tolist() == [1]


def test_a_slow_machine_gets_less_on_the_same_machines(planner):
    everything = planner.carrying(80, ALL).placement
    slowed = planner.at_speeds(np.array([0.5, 1.0, 1.0]))
    # 45 of 125 points instead of 90 of 170; 62.5 tuples/s.
    shares = slowed.reshared(everything).share[everything.machine == 0]
    assert shares.tolist() == pytest.approx([45 / 125] * 2)
    assert slowed.carries_per_s(slowed.reshared(everything)) == pytest.approx(62.5)

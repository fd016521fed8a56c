"""``penstock`` where patterns cannot be listed: knapsacks, the remainder, wide machines."""

from __future__ import annotations

import numpy as np
import pytest
from tests.builders import cluster, profile, solve, topology

from penstock import app
from penstock.evaluate.capacity import capacity
from penstock.model.problem import build
from penstock.schedulers.penstock.aggregate import AggregateProblem, MachineGroups
from penstock.schedulers.penstock.knapsack import fill
from penstock.schedulers.penstock.remainder import Remainder
from penstock_bench.generate import Size, generate


def test_the_knapsack_takes_the_most_valuable_filling():
    # 10 cells; items of 3 cells worth 4 and of 5 worth 7: 5 + 5 = 14, not 3 + 3 + 3 = 12.
    assert fill(np.array([[3, 5]]), np.array([[4.0, 7.0]]), 10).tolist() == [[0, 2]]
    # 11 cells: 3 + 3 + 5 = 15.
    assert fill(np.array([[3, 5]]), np.array([[4.0, 7.0]]), 11).tolist() == [[2, 1]]
    # Nothing of value, nothing taken.
    assert fill(np.array([[1]]), np.array([[0.0]]), 5).tolist() == [[0]]


def test_the_remainder_goes_onto_the_machines_that_are_left():
    # Instances of 10 tuples/s at 1 point; 2 of 3 machines hold ten a each. b (visits 1) needs as
    # many as a: at scale s, s/10 each. 20 of a are kept; the last machine takes ten: at s = 100,
    # ten of b and none of a more, so the plan carries 100.
    problem = build(topology("a>b"), cluster(M1=3), profile(a=1.0, b=1.0))
    aggregate = AggregateProblem.of(problem, 150.0)
    sizes = np.array([10.0, 10.0])
    kept = MachineGroups(np.array([0]), np.array([2]), np.array([[10, 0]]))
    rest = Remainder(aggregate, sizes, np.full((2, 1), 10.0), np.ones(1), kept)
    groups = rest.pack(100.0 / 150.0)
    assert groups.totals.tolist() == [20, 10]


def test_wide_machines_are_filled_by_threads():
    # 8 cores of 100 points, overhead 2: eight full threads of a and b carry 8 * 98 / 2 per machine.
    kind = {"cpu_points": 800.0, "core_points": 100.0}
    costs = profile(a=1.0, b=1.0, met=2.0)
    problem = build(topology("a>b"), cluster(M1=4, every=kind), costs)
    outcome = solve(problem, "penstock")
    assert capacity(problem, outcome.placement).scale == pytest.approx(4 * 8 * 98 / 2)


@pytest.mark.slow
def test_twenty_components_beat_hetero_within_the_bound():
    made = generate(Size(components=20, machines=60, types=5, memory=True), 3)
    problem = build(made.topologies, made.cluster, made.profile)
    ours, hetero = app.plan(problem, "penstock"), app.plan(problem, "hetero")
    assert not ours.facts.violations
    assert ours.facts.gap < 0.12
    assert hetero.facts.violations or ours.facts.scale >= hetero.facts.scale

"""``isolation``: named topologies alone on their machines."""

from __future__ import annotations

import numpy as np
import pytest
from tests.builders import cluster, topology

from penstock.errors import InputError, UnknownNameError
from penstock.model.problem import Problem, build
from penstock.schedulers.base import Budget
from penstock.schedulers.even import DefaultScheduler
from penstock.schedulers.isolation import IsolationScheduler

TWO = {"cpu_points": 1.0, "instances": 2}


def three(workers: int = 2) -> Problem:
    graphs = [
        topology("a>b", name=name, workers=workers, a=TWO, b=TWO)
        for name in ("one", "two", "three")
    ]
    return build(graphs, cluster(every={"slots": 4}, M1=4))


def machines_of(problem: Problem, machines: str) -> dict[str, set[int]]:
    outcome = IsolationScheduler(machines).solve(problem, Budget(), np.random.default_rng(0))
    placement = outcome.placement
    return {
        graph.name: set(placement.machine[problem.topology_of[placement.component] == t].tolist())
        for t, graph in enumerate(problem.topologies)
    }


def test_an_isolated_topology_shares_its_machines_with_nobody():
    # "two" gets two of the four machines, the first ones; the others share the remaining two.
    assert machines_of(three(), "two:2") == {"two": {0, 1}, "one": {2, 3}, "three": {2, 3}}


def test_workers_are_spread_evenly_over_the_isolated_machines():
    problem = three(workers=4)
    outcome = IsolationScheduler("one:2").solve(problem, Budget(), np.random.default_rng(0))
    mine = problem.topology_of[outcome.placement.component] == 0
    # Four workers on two machines: slots 0 and 1 of each, one instance in each.
    pairs = sorted(zip(outcome.placement.machine[mine], outcome.placement.slot[mine], strict=True))
    assert pairs == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_nobody_named_is_the_default_scheduler():
    problem = three()
    default = DefaultScheduler().solve(problem, Budget(), np.random.default_rng(0))
    isolated = IsolationScheduler().solve(problem, Budget(), np.random.default_rng(0))
    assert isolated.placement == default.placement


def test_too_few_machines_refuse_the_topology_and_serve_the_others():
    outcome = IsolationScheduler("one:3,two:2").solve(three(), Budget(), np.random.default_rng(0))
    assert [str(s) for s in outcome.shortfalls] == ["two: needs 2 machines of its own, 1 available"]


def test_an_unknown_topology_is_an_error_with_a_hint():
    with pytest.raises(UnknownNameError, match='did you mean "three"'):
        IsolationScheduler("tree:1").solve(three(), Budget(), np.random.default_rng(0))


@pytest.mark.parametrize("machines", ["one", "one:", "one:0", ":2", "one:x"])
def test_a_wrong_setting_says_how_it_is_written(machines):
    with pytest.raises(InputError, match="name:count"):
        IsolationScheduler(machines)

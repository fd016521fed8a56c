"""A machine is lost: what is promised is what the moves give, instance by instance."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.builders import cluster, place, profile, topology

from penstock import app
from penstock.evaluate.capacity import capacity
from penstock.evaluate.limits import violations
from penstock.model.placement import Placement
from penstock.model.plan import Contingency, Plan
from penstock.model.problem import Problem, build
from penstock.planning.contingencies.with_rates import contingencies
from penstock.schedulers.base import Budget
from penstock_bench.benchmarks.realistic import ProblemSetting, real_problem

CASE = Path(__file__).parents[2] / "fixtures" / "contingency"


def carried_out(problem: Problem, placement: Placement, loss: Contingency) -> Placement:
    """The placement after the moves of a contingency, read off its words alone."""
    starts = placement.starts(len(problem.components))
    label = {name: c for c, name in enumerate(problem.labels)}
    machine, slot = placement.machine.copy(), placement.slot.copy()
    for component, number, to, its_slot in loss.moves:
        at = int(starts[label[component]]) + number
        machine[at], slot[at] = problem.cluster.machine_index[to], its_slot
    ends = np.zeros(len(placement), dtype=bool)
    for component, number in loss.dropped:
        ends[int(starts[label[component]]) + number] = True
    component = np.concatenate(
        [placement.component[~ends], [label[name] for name, _, _ in loss.added]]
    )
    index = problem.cluster.machine_index
    machine = np.concatenate([machine[~ends], [index[to] for _, to, _ in loss.added]])
    slot = np.concatenate([slot[~ends], [s for _, _, s in loss.added]])
    return Placement.of(component.astype(int), machine.astype(int), slot.astype(int))


def promised_and_true(plan: Plan, loss: Contingency) -> tuple[float, float]:
    problem = plan.problem
    after = carried_out(problem, plan.placement, loss)
    lost = problem.cluster.machine_index[loss.machine]
    assert not (after.machine == lost).any()
    assert not violations(problem, after)
    true = capacity(problem, after).scale * float(problem.demand.sum())
    return loss.rate_left_per_s or 0.0, true


def test_a_global_stream_beside_a_shuffled_one_is_not_promised_too_much():
    """Version 1 promised 594 tuples/s after the loss of B-1, and its moves carried 354."""
    problem = app.problem(CASE / "topology.json", CASE / "cluster.json", CASE / "profile.json")
    budget = lambda: Budget(iterations=5)  # noqa: E731
    plan = app.plan(problem, budget=budget, if_lost=100).plan
    assert plan is not None
    assert plan.if_lost
    for loss in plan.if_lost:
        promised, true = promised_and_true(plan, loss)
        assert promised <= true * (1 + 1e-9)


def test_two_topologies_are_not_put_into_one_slot():
    shapes = [topology("a", name=name) for name in ("x", "y")]
    machines = cluster(M1=2, every={"slots": 2, "core_points": 50.0})
    problem = build(shapes, machines, profile(a=0.1, met=1.0))
    placement = place(problem, "x/a M1-1", "y/a M1-2")
    for loss in contingencies(problem, placement, Budget()):
        after = carried_out(problem, placement, loss)
        assert not violations(problem, after)


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting",
    [
        ProblemSetting(machines=6, skew=1.0, keys=2000),
        ProblemSetting(machines=6, topologies=3, slots=2),
        ProblemSetting(machines=8, topologies=2, remote=0.2),
    ],
    ids=str,
)
@pytest.mark.parametrize("seed", [1])
def test_what_is_promised_is_what_the_moves_give(setting: ProblemSetting, seed: int):
    problem = real_problem(setting, seed)
    plan = app.plan(problem, if_lost=100).plan
    assert plan is not None
    assert len(plan.if_lost) == len(plan.placement.machines_used)
    for loss in plan.if_lost:
        if loss.moves or loss.dropped:
            promised, true = promised_and_true(plan, loss)
            assert promised == pytest.approx(true, rel=1e-9)

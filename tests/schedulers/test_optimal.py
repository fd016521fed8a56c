"""``optimal`` against the plain exhaustive search, and its proofs."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import app
from penstock.errors import InputError
from penstock.evaluate.bound import upper_bound
from penstock.evaluate.capacity import capacity
from penstock.evaluate.limits import violations
from penstock.model.problem import Problem, build
from penstock.schedulers.base import Budget
from penstock.schedulers.hetero import HeteroScheduler
from penstock.schedulers.lcstream.scheduler import LcStreamScheduler
from penstock.schedulers.optimal import OptimalScheduler
from penstock_bench.benchmarks.exhaustive import best_scale
from penstock_bench.generate import Size, generate


def solve(problem: Problem, **settings: float):
    scheduler = OptimalScheduler(**settings)
    return scheduler.solve(problem, Budget(), np.random.default_rng(0))


def small(seed: int) -> Problem:
    """Two or three components on two or three machines, some with memory."""
    rng = np.random.default_rng(seed)
    machines = int(rng.integers(2, 4))
    components = int(rng.integers(2, 4))
    size = Size(
        components=components,
        machines=machines,
        types=int(rng.integers(1, machines + 1)),
        memory=bool(rng.random() < 0.3),
    )
    made = generate(size, seed)
    return build(made.topologies, made.cluster, made.profile)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_equals_the_exhaustive_search_on_a_hundred_random_problems(block: int):
    for seed in range(10 * block, 10 * block + 10):
        problem = small(seed)
        per_machine = 4 if len(problem.components) * len(problem.cluster.machines) <= 6 else 3
        outcome = solve(problem, per_machine=per_machine)
        expected = best_scale(problem, per_machine)
        if outcome.placement is None:
            assert expected == 0.0, seed
            continue
        scale = capacity(problem, outcome.placement).scale
        assert scale == pytest.approx(expected, rel=1e-9), seed
        assert outcome.bound_scale == pytest.approx(scale, rel=1e-9), seed
        assert not outcome.interrupted
        assert not violations(problem, outcome.placement)


@pytest.mark.slow
@pytest.mark.parametrize("topology", ["linear", "diamond", "star"])
def test_no_scheduler_beats_it_and_it_stays_below_the_bound(topology: str):
    problem = app.problem(topology, "nasiri-testbed")
    best = app.plan(problem, "optimal").facts.scale
    assert best is not None
    assert best <= upper_bound(problem).scale
    rows = app.compare(problem).rows
    assert len(rows) > 3
    for row in rows:
        most = max((load.instances for load in row.plan.predicted.machines), default=0)
        if most <= 10:  # optimal's own limit on instances per machine
            assert row.facts.scale <= best * (1 + 1e-9), row.scheduler


def test_given_counts_are_kept():
    problem = app.problem("linear", "nasiri-testbed").with_counts((1, 2, 4))
    outcome = solve(problem)
    assert outcome.placement.counts(3).tolist() == [1, 2, 4]
    # hetero finds these counts itself; the best packing of them is at least as good.
    hetero = HeteroScheduler().solve(problem, Budget(), np.random.default_rng(0))
    assert hetero.placement.counts(3).tolist() == [1, 2, 4]
    reached = capacity(problem, hetero.placement).scale
    assert capacity(problem, outcome.placement).scale >= reached * (1 - 1e-12)


def test_a_spent_budget_leaves_an_honest_gap():
    problem = app.problem("star", "nasiri-small")
    outcome = OptimalScheduler(effort=1e5).solve(problem, Budget(), np.random.default_rng(0))
    scale = capacity(problem, outcome.placement).scale
    assert outcome.interrupted
    assert scale < outcome.bound_scale <= upper_bound(problem).scale


@pytest.mark.slow
def test_groupings_that_are_not_even_are_claimed_nothing_about():
    outcome = solve(app.problem("wordcount", "thesis"), effort=1e4, per_machine=3)
    assert outcome.bound_scale is None
    assert any("nothing is proven" in note for note in outcome.notes)


def test_too_many_components_fall_back_to_hetero():
    made = generate(Size(components=30, machines=5, types=2), 0)
    problem = build(made.topologies, made.cluster, made.profile)
    outcome = solve(problem)
    assert outcome.placement is not None
    assert outcome.interrupted
    assert outcome.bound_scale == pytest.approx(upper_bound(problem).scale)


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(InputError, match="per_machine"):
        OptimalScheduler(per_machine=0)
    with pytest.raises(InputError, match="effort"):
        OptimalScheduler(effort=0)


def test_a_start_that_would_take_for_ever_is_left_out(monkeypatch):
    """What lcstream itself refuses to do, this does not ask of it: hetero's plan is the start."""
    monkeypatch.setattr(LcStreamScheduler, "work_for", lambda _self, _problem: np.inf)
    monkeypatch.setattr(LcStreamScheduler, "solve", None)
    assert solve(small(1)).placement is not None

"""Shuffle grouping of ``penstock``: worked-out plans, prices that turn down, and the goals."""

from __future__ import annotations

import numpy as np
import pytest
from tests.builders import cluster, nasiri, profile, solve, topology

from penstock import app
from penstock.evaluate.bound import upper_bound
from penstock.evaluate.capacity import capacity
from penstock.evaluate.limits import violations
from penstock.model.problem import Problem, build
from penstock.schedulers.base import Budget
from penstock.schedulers.penstock.aggregate import (
    AggregateProblem,
    MachineGroups,
    even_scale,
    most_on_a_machine,
)
from penstock.schedulers.penstock.patterns import MasterProblem, list_patterns
from penstock.schedulers.penstock.sizes import SearchEffort, SizeSearch
from penstock_bench.benchmarks.small_problems import small_problem

#: What the issue demands of the gap to the general bound at overhead 1.5, in percent.
GOALS = {"nasiri-small": 7.0, "nasiri-medium": 5.0, "nasiri-large": 4.0}


def unlike() -> Problem:
    """One component on one M1 (1 point per tuple/s) and one M2 (2 points), no overhead."""
    return build(topology("a"), cluster(M1=1, M2=1), profile(a={"M1": 1.0, "M2": 2.0}))


def test_two_instances_on_the_machine_twice_as_fast():
    # Of equal instances, two on M1 and one on M2 fill both: 50 tuples/s each, 150 in all.
    problem = unlike()
    outcome = solve(problem, "penstock")
    assert capacity(problem, outcome.placement).scale == pytest.approx(150.0)
    assert not outcome.placement.has_shares
    assert outcome.bound_scale == pytest.approx(150.0)


def test_the_scale_of_groups_is_what_the_evaluator_says():
    problem = unlike()
    aggregate = AggregateProblem.of(problem, 150.0)
    # N = 3: each gets s/3; M1 holds one (1 * s/3 <= 100), M2 two (2 * 2 s/3 <= 100): s = 75.
    groups = MachineGroups(np.array([0, 1]), np.array([1, 1]), np.array([[1], [2]]))
    assert even_scale(aggregate, groups) == pytest.approx(75.0)


def test_the_relaxation_and_its_prices():
    # Sizes of 40: M1 holds two (80 points), M2 one (80 points): 3 * 40 = 120 of 150.
    problem = unlike()
    aggregate = AggregateProblem.of(problem, 150.0)
    master = MasterProblem(aggregate, list_patterns(aggregate))
    sizes = np.array([40.0])
    relaxed = master.relax(sizes, master.fits(sizes))
    assert relaxed.value * 150.0 == pytest.approx(120.0)
    # The same prices judge other sizes: at 60 only M1 holds one, 60; at 50 it is 2 + 1, 150.
    for size, most in ((60.0, 60.0), (50.0, 150.0)):
        other = np.array([size])
        ceiling = master.ceiling(other, master.fits(other), relaxed.prices)
        assert ceiling * 150.0 == pytest.approx(most)


@pytest.mark.parametrize("seed", range(20))
def test_prices_of_one_size_bound_every_other(seed):
    problem = small_problem(seed)
    aggregate = AggregateProblem.of(problem, upper_bound(problem).scale)
    master = MasterProblem(aggregate, list_patterns(aggregate))
    search = SizeSearch(master, SearchEffort(), Budget(), np.random.default_rng(seed))
    tried = [search._random_sizes() for _ in range(6)]
    solved = [(s, r) for s in tried if (r := master.relax(s, master.fits(s))) is not None]
    for _, one in solved:
        for sizes, other in solved:
            ceiling = master.ceiling(sizes, master.fits(sizes), one.prices)
            assert other.value <= ceiling * (1 + 1e-7)


def test_a_component_without_input_still_gets_an_instance():
    graph = topology("a>b", streams={"a>b": {"selectivity": 0.0}})
    problem = build(graph, cluster(M1=2), profile(a=1.0, b=1.0, met=1.0))
    outcome = solve(problem, "penstock")
    assert outcome.placement.counts(2)[1] == 1
    # One machine has a alone (99 points), the other a and b (98): two even instances, 2 * 98.
    assert capacity(problem, outcome.placement).scale == pytest.approx(196.0)


def test_given_counts_are_packed_as_well_as_the_exact_search_does():
    problem = nasiri("linear", (1, 1, 1)).with_counts((1, 2, 4))
    ours, exact = solve(problem, "penstock"), solve(problem, "optimal")
    assert ours.placement.counts(3).tolist() == [1, 2, 4]
    best = capacity(problem, exact.placement).scale
    assert capacity(problem, ours.placement).scale == pytest.approx(best, rel=1e-3)


def test_one_instance_of_what_is_not_divided():
    # All tuples go to one task, so a second instance would only cost.
    graph = topology("a>b", streams={"a>b": {"grouping": "global"}})
    problem = build(graph, cluster(M1=3), profile(a=1.0, b=1.0, met=1.0))
    outcome = solve(problem, "penstock")
    assert outcome.placement.counts(2)[1] == 1
    assert capacity(problem, outcome.placement).scale == pytest.approx(99.0)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["linear", "star"])
@pytest.mark.parametrize("machines", [*GOALS])
def test_within_the_goals_on_the_papers_clusters(shape, machines):
    problem = app.problem(shape, machines, met=1.5)
    planned = app.plan(problem, "penstock")
    assert 100 * planned.facts.gap <= GOALS[machines]
    assert violations(problem, planned.plan.placement) == ()
    assert planned.facts.scale >= app.plan(problem, "hetero").facts.scale


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(7))
def test_within_one_percent_of_the_optimum_of_small_problems(seed):
    problem = small_problem(seed)
    ours = app.plan(problem, "penstock").facts.scale
    best = app.plan(problem, "optimal", parameters={"effort": 3e8}).facts.scale
    assert ours >= best * 0.99


@pytest.mark.slow
def test_the_same_seed_gives_the_same_plan_byte_for_byte():
    problem = app.problem("linear", "nasiri-small", met=1.5)
    first, second = (app.plan(problem, "penstock", seed=3).to_dict() for _ in range(2))
    assert first == second


@pytest.mark.slow
def test_a_proof_over_narrow_plans_is_no_certificate_for_all():
    """Without overheads ever more instances gain a little: ten on a machine are not the end."""
    problem = nasiri("linear", (1, 1, 1), met=0.0)
    outcome = solve(problem, "penstock")
    assert outcome.bound_scale == pytest.approx(upper_bound(problem).scale)


def test_where_no_machine_holds_more_the_proof_is_one_for_all():
    # 100 points, 25 a piece: four instances at most, so plans with ten are all there are.
    problem = build(topology("a>b"), cluster(M1=2), profile(met=25.0, a=1.0, b=1.0))
    assert most_on_a_machine(problem) == 4
    outcome = solve(problem, "penstock")
    assert outcome.bound_scale == pytest.approx(capacity(problem, outcome.placement).scale)


def test_memory_and_counts_limit_what_a_machine_holds():
    by_memory = build(
        topology("a", a={"memory_mb": 30.0}), cluster(M1=1, every={"memory_mb": 100.0}),
        profile(a=1.0),
    )  # fmt: skip
    by_count = build(topology("a", a={"max_instances": 2}), cluster(M1=1), profile(a=1.0))
    free = build(topology("a"), cluster(M1=1), profile(a=1.0))
    assert [most_on_a_machine(p) for p in (by_memory, by_count, free)] == [3, 2, np.inf]

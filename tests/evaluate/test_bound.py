"""The upper bound: true for every placement, tight where it can be worked out by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from tests.builders import SCENARIOS, SHAPES, cluster, nasiri, profile, topology
from tests.model.strategies import placed, problems

import penstock
from penstock.evaluate import programme
from penstock.evaluate.bound import Bound, solve_bound, upper_bound
from penstock.evaluate.movement import can_matter
from penstock.evaluate.rates import visit_ratios
from penstock.model.cluster import Cluster, Machine
from penstock.model.placement import Placement
from penstock.model.problem import Problem, build
from penstock_bench.contract.reference import Reference

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def bound_of(shape: str, cluster: Cluster, **costs) -> Bound:
    return upper_bound(build(topology(shape), cluster, profile(**costs)))


@pytest.mark.slow
@given(placed())
def test_no_placement_carries_more_than_the_bound(case: tuple[Problem, Placement]):
    # The proof's own test: counts, places, shares and groupings are random, and the scale of the
    # placement is the reference's, not that of the evaluator the bound shares its model with.
    problem, placement = case
    judged = Reference(problem, placement)
    assume(not judged.machines_over_memory())
    bound = upper_bound(problem).scale
    assert judged.scale <= bound * (1 + 1e-9)


@pytest.mark.slow
@given(problems())
def test_the_bound_is_not_looser_than_its_own_solution(problem: Problem):
    # Prices clipped and multiplied by the variables' limits must not give away what was solved.
    bound = upper_bound(problem)
    assume(0 < bound.scale < math.inf)
    ratios = visit_ratios(problem)
    handled = bound.ideal_rate.sum(axis=1)[ratios > 0] / ratios[ratios > 0]
    # With what must move, the scale is sought in steps that end within 1e-4.
    within = 2e-4 if can_matter(problem) else 1e-6
    assert bound.scale == pytest.approx(handled.min(), rel=within)


@pytest.mark.parametrize("error", [0.0, 0.7, 0.999999, 1.3])
def test_the_bound_holds_whatever_the_solver_says(error, monkeypatch):
    # Weak duality: with wrong prices the bound gets looser, never false.
    problem = nasiri("diamond", (2, 2, 2))
    right = upper_bound(problem).scale
    solve = programme.solve

    def wrong(given: programme.Programme) -> programme.Solution:
        solved = solve(given)
        return replace(solved, prices=solved.prices * error)

    monkeypatch.setattr(programme, "solve", wrong)
    assert upper_bound(problem).scale >= right * (1 - 1e-9)


def test_one_component_on_like_machines():
    # n = 3 instances, each fills its machine: 3 * (100 - 10) / 2 = 135.
    bound = bound_of("a", cluster(M1=3), a=2.0, met=10.0)
    assert bound.scale == pytest.approx(135.0)
    assert bound.ideal_instances.tolist() == pytest.approx(np.array([[3.0]]))
    assert bound.type_utilisation.tolist() == pytest.approx([1.0])
    assert bound.added_by_one_machine.tolist() == pytest.approx([45.0])
    assert bound.binding_types.tolist() == [0]


def test_one_component_on_unlike_machines():
    # 2 * 90 / 1 on M1 and 1 * 90 / 3 on M2.
    bound = bound_of("a", cluster(M1=2, M2=1), a={"M1": 1.0, "M2": 3.0}, met=10.0)
    assert bound.scale == pytest.approx(210.0)
    assert bound.added_by_one_machine.tolist() == pytest.approx([90.0, 30.0])


def test_each_component_where_it_is_best():
    # a is ten times faster on M1, b on M2: one machine each, 90 tuples/s.
    costs = {"a": {"M1": 1.0, "M2": 10.0}, "b": {"M1": 10.0, "M2": 1.0}}
    bound = bound_of("a>b", cluster(M1=1, M2=1), **costs, met=10.0)
    assert bound.scale == pytest.approx(90.0)
    assert bound.ideal_rate == pytest.approx(np.array([[90.0, 0.0], [0.0, 90.0]]), abs=1e-6)


def test_without_overheads_the_bound_is_capacity_over_cost():
    # One component, met 0: 2 * 100 / 4 = 50; one more machine would add 25.
    bound = bound_of("a", cluster(M1=2), a=4.0)
    assert bound.scale == pytest.approx(50.0)
    assert bound.added_by_one_machine.tolist() == pytest.approx([25.0])
    assert bound.component_share.tolist() == pytest.approx([1.0])


def test_the_machine_and_one_worker_are_paid_for():
    kind = {"base_cpu_points": 10.0, "worker_cpu_points": 5.0}
    assert bound_of("a", cluster(M1=2, every=kind), a=1.0, met=5.0).scale == pytest.approx(160.0)


def test_headroom_is_paid_for():
    assert bound_of("a", cluster(M1=2, headroom=0.5), a=1.0, met=5.0).scale == pytest.approx(90.0)


def test_max_instances_and_threads_limit_together():
    # Three instances of one core each: 3 * (25 - 5) = 60, on a machine that could carry more.
    graph = topology("a", a={"max_instances": 3})
    problem = build(graph, cluster(M1=1, every={"core_points": 25.0}), profile(a=1.0, met=5.0))
    assert upper_bound(problem).scale == pytest.approx(60.0)


def test_memory_limits_the_instances():
    # 2 * (100 - 10) MB hold 3 instances of 60; one core each: 3 * (25 - 5) = 60.
    kind = {"core_points": 25.0, "memory_mb": 100.0, "worker_memory_mb": 10.0}
    problem = build(
        topology("a", a={"memory_mb": 60.0}), cluster(M1=2, every=kind), profile(a=1.0, met=5.0)
    )
    bound = upper_bound(problem)
    assert bound.scale == pytest.approx(60.0)
    assert bound.added_by_one_machine.tolist() == pytest.approx([30.0])


def test_all_grouping_counts_one_copy_at_least():
    # One instance of b gets a full copy, more would only add copies: a 1 + b 1 per tuple/s.
    graph = topology("a>b", streams={"a>b": {"grouping": "all"}})
    problem = build(graph, cluster(M1=1), profile(a=1.0, b=1.0))
    assert upper_bound(problem).scale == pytest.approx(50.0)


def test_demands_are_served_by_one_common_factor():
    # 30 * 1 + 10 * 2 = 50 points at scale 1.
    graphs = (topology("a", name="x", demand_per_s=30), topology("b", name="y", demand_per_s=10))
    problem = build(graphs, cluster(M1=1), profile(a=1.0, b=2.0))
    bound = upper_bound(problem)
    assert bound.scale == pytest.approx(2.0)
    assert bound.component_share.tolist() == pytest.approx([0.6, 0.4])


@pytest.mark.parametrize("machines", SCENARIOS)
@pytest.mark.parametrize("shape", SHAPES)
def test_shares_of_the_components_sum_to_one(shape, machines):
    bound = upper_bound(nasiri(shape, machines))
    assert bound.component_share.sum() == pytest.approx(1.0)
    assert (bound.component_share > 0).all()


def test_one_more_machine_adds_what_is_said():
    # Not degenerate: in the neighbourhood the bound is linear in the number of machines.
    problem = nasiri("linear", (20, 70, 90))
    bound = upper_bound(problem)
    for t, kind in enumerate(problem.cluster.types):
        machines = (*problem.cluster.machines, Machine("new", kind.name))
        larger = replace(problem, cluster=replace(problem.cluster, machines=machines))
        added = upper_bound(larger).scale - bound.scale
        assert added == pytest.approx(bound.added_by_one_machine[t], rel=1e-6)


def test_nothing_fits_where_overheads_are_too_large():
    bound = bound_of("a>b", cluster(M1=1), a=1.0, b=1.0, met=60.0)
    assert bound.scale == 0.0
    assert bound_of("a", cluster(M1=9), a=1.0, met=100.0).scale == 0.0


def test_nothing_fits_where_memory_is_too_small():
    problem = build(
        topology("a", a={"memory_mb": 60.0}),
        cluster(M1=9, every={"memory_mb": 50.0}),
        profile(a=1.0),
    )
    assert upper_bound(problem).scale == 0.0


def test_what_costs_nothing_has_no_bound():
    assert bound_of("a>b", cluster(M1=1), a=0.0, b=0.0, met=1.0).scale == math.inf


def test_what_is_never_reached_does_not_trouble_what_costs_nothing():
    graph = topology("a>b", streams={"a>b": {"selectivity": 0.0}})
    problem = build(graph, cluster(M1=1), profile(a=0.0, b=0.0, met=1.0))
    assert upper_bound(problem).scale == math.inf


def test_what_costs_nothing_per_tuple_still_pays_its_overheads():
    # Two instances of 60 points do not fit on one machine, whatever their tuples cost.
    assert bound_of("a>b", cluster(M1=1), a=0.0, b=0.0, met=60.0).scale == 0.0


def test_an_overhead_that_fills_the_machine_exactly_still_fits():
    # b's tuples cost nothing and its overhead is all of M2: a on M1 carries 100 tuples/s.
    costs = profile(a=1.0, b=0.0)
    full = [replace(c, met=100.0) if c.row == "b" else c for c in costs.costs]
    problem = build(topology("a>b"), cluster(M1=1, M2=1), replace(costs, costs=tuple(full)))
    placement = Placement.of([0, 1], [0, 1])
    assert Reference(problem, placement).scale == pytest.approx(100.0)
    assert upper_bound(problem).scale == pytest.approx(100.0)


def test_a_rounding_error_does_not_keep_an_instance_out():
    # 0.3 - 0.1 is a little less than 0.2 in floating point; the instance fits all the same.
    kind = {"memory_mb": 0.3, "worker_memory_mb": 0.1}
    graph = topology("a", a={"memory_mb": 0.2})
    problem = build(graph, cluster(M1=1, every=kind), profile(a=1.0, met=10.0))
    assert Reference(problem, Placement.of([0], [0])).machines_over_memory() == []
    assert upper_bound(problem).scale == pytest.approx(90.0)


def test_a_type_without_machines_and_without_costs_is_left_out():
    problem = build(topology("a"), cluster(M1=1, M9=0), profile(a=1.0, met=10.0))
    bound = upper_bound(problem)
    assert bound.scale == pytest.approx(90.0)
    assert math.isnan(bound.type_utilisation[1])
    assert bound.added_by_one_machine[1] == 0.0


@pytest.mark.parametrize("scheduler", ["penstock", "rstorm", "lcstream"])
def test_planning_solves_the_bound_once_whoever_asks_for_it(monkeypatch, scheduler):
    solved = []

    def counting(problem):
        solved.append(problem)
        return solve_bound(problem)

    monkeypatch.setattr("penstock.evaluate.bound.solve_bound", counting)
    problem = penstock.problem("linear", "nasiri-small")
    result = penstock.plan(problem, scheduler=scheduler)
    # penstock also asks every quick scheduler for its plan, and rstorm the bound for its requests.
    assert len(solved) == 1
    assert upper_bound(problem) is result.bound

"""Rates per instance: Nasiri et al., eq. 6, worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from tests.builders import SHAPES, all_on, cluster, nasiri_profile, place, profile, topology
from tests.model.strategies import placed

from penstock.evaluate.rates import instance_rates, propagate, visit_ratios
from penstock.model.placement import Placement
from penstock.model.problem import Problem, build
from penstock.model.topology import Grouping, Kind

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

ONE = profile(a=1.0, b=1.0, c=1.0, d=1.0)


def rates(problem: Problem, *instances: str, shares: list[float] | None = None) -> list[float]:
    return instance_rates(problem, place(problem, *instances, shares=shares)).per_instance.tolist()


def two(grouping: str, machines: int = 2, **options) -> Problem:
    """a -> b under a grouping; options are b's."""
    graph = topology("a>b", streams={"a>b": {"grouping": grouping}}, b=options)
    return build(graph, cluster(M1=machines), ONE)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("linear", {"low": 1, "mid": 1, "high": 1}),
        # Every subscriber of low1 gets its own full copy; low3 hears from all three of them.
        ("diamond", {"low1": 1, "mid": 1, "high": 1, "low2": 1, "low3": 3}),
        # The spouts share the rate equally; high gets all of it, and so does each mid.
        ("star", {"low1": 0.5, "low2": 0.5, "high": 1, "mid1": 1, "mid2": 1}),
    ],
)
def test_visit_ratios_of_the_papers_layouts(shape, expected):
    problem = build(topology(SHAPES[shape]), cluster(M1=1, M2=1, M3=1), nasiri_profile())
    ratios = visit_ratios(problem)
    assert dict(zip(problem.labels, ratios.tolist(), strict=True)) == expected
    alone = instance_rates(problem, all_on(problem)).per_instance
    assert alone.tolist() == ratios.tolist()


def test_split_fan_out_is_the_selectivity_divided_by_the_successors():
    # a feeds b and c; with 1/2 on each stream they share what a puts out, as in Nasiri's simulator.
    half = {"selectivity": 0.5}
    graph = topology("a>b>d a>c>d", streams={"a>b": half, "a>c": half})
    ratios = visit_ratios(build(graph, cluster(M1=1), ONE))
    assert ratios.tolist() == [1.0, 0.5, 1.0, 0.5]  # a, b, d, c


def test_selectivity_multiplies_along_the_way():
    graph = topology("a>b>c", streams={"a>b": {"selectivity": 10}, "b>c": {"selectivity": 0.5}})
    assert visit_ratios(build(graph, cluster(M1=1), ONE)).tolist() == [1.0, 10.0, 5.0]


def test_shuffle_gives_every_instance_the_same():
    # 1 tuple/s over three instances.
    got = rates(two("shuffle"), "a M1-1", "b M1-1", "b M1-1", "b M1-2")
    assert got == pytest.approx([1.0, 1 / 3, 1 / 3, 1 / 3])


def test_shuffle_goes_over_tasks():
    # 3 tasks on 2 executors: ranges of 2 and 1.
    got = rates(two("shuffle", tasks=3), "a M1-1", "b M1-1", "b M1-2")
    assert got == pytest.approx([1.0, 2 / 3, 1 / 3])


def test_all_gives_every_instance_a_full_copy():
    graph = topology("a>b>c", streams={"a>b": {"grouping": "all"}})
    problem = build(graph, cluster(M1=1), ONE)
    # Both instances of b take in 1 tuple/s and pass it on, so c gets 2.
    assert rates(problem, "a M1-1", "b M1-1", "b M1-1", "c M1-1") == [1.0, 1.0, 1.0, 2.0]
    assert visit_ratios(problem).tolist() == [1.0, 1.0, 1.0]
    assert visit_ratios(problem, np.array([1, 2, 1])).tolist() == [1.0, 2.0, 2.0]


def test_global_gives_everything_to_the_first_instance():
    assert rates(two("global"), "a M1-1", "b M1-2", "b M1-1") == [1.0, 1.0, 0.0]


@pytest.mark.parametrize("grouping", ["direct", "custom"])
def test_an_unknown_division_is_taken_as_even(grouping):
    assert rates(two(grouping), "a M1-1", "b M1-1", "b M1-2") == [1.0, 0.5, 0.5]


def test_local_or_shuffle_stays_in_the_process_where_it_can():
    problem = build(
        topology("a>b", streams={"a>b": {"grouping": "local-or-shuffle"}}), cluster(M1=3), ONE
    )
    # a: 1/3 in each of three processes. M1-1 has two b: 1/6 each. M1-2 has one: 1/3.
    # M1-3 has none, its 1/3 is shuffled over all three: 1/9 each.
    got = rates(problem, "a M1-1", "a M1-2", "a M1-3", "b M1-1", "b M1-1", "b M1-2")
    assert got[3:] == pytest.approx([1 / 6 + 1 / 9, 1 / 6 + 1 / 9, 1 / 3 + 1 / 9])


def test_local_means_the_same_process_not_the_same_machine():
    problem = two("local-or-shuffle")
    assert rates(problem, "a M1-1/0", "b M1-1/1", "b M1-2") == [1.0, 0.5, 0.5]


def test_local_or_shuffle_goes_over_the_tasks_of_the_process():
    # 3 tasks on 2 executors, both in a's process: Storm picks among the local *tasks*,
    # so the executor with two of them gets 2/3, exactly as under shuffle.
    got = rates(two("local-or-shuffle", tasks=3), "a M1-1", "b M1-1", "b M1-1")
    assert got == pytest.approx([1.0, 2 / 3, 1 / 3])


def test_spouts_share_the_input_by_their_shares():
    graph = topology("a>c b>c", a={"share": 3.0})
    assert visit_ratios(build(graph, cluster(M1=1), ONE)).tolist() == [0.75, 1.0, 0.25]  # a, c, b


@pytest.mark.parametrize("grouping", ["shuffle", "weighted"])
def test_the_shares_of_a_plan_divide_shuffle_and_weighted_streams(grouping):
    got = rates(two(grouping), "a M1-1", "b M1-1", "b M1-2", shares=[float("nan"), 0.75, 0.25])
    assert got == [1.0, 0.75, 0.25]


def test_other_groupings_do_not_follow_shares():
    got = rates(two("direct"), "a M1-1", "b M1-1", "b M1-2", shares=[float("nan"), 0.75, 0.25])
    assert got == [1.0, 0.5, 0.5]


def test_shares_of_a_spout_divide_its_input():
    got = rates(two("shuffle"), "a M1-1", "a M1-2", "b M1-1", shares=[0.9, 0.1, float("nan")])
    assert got == pytest.approx([0.9, 0.1, 1.0])


def test_several_topologies_take_in_their_demands():
    graphs = (topology("a>b", name="x", demand_per_s=30.0), topology("c", name="y", demand_per_s=5))
    assert visit_ratios(build(graphs, cluster(M1=1), ONE)).tolist() == [30.0, 30.0, 5.0]


def test_a_topology_that_was_not_placed_takes_in_nothing():
    graphs = (topology("a>b", name="x"), topology("c", name="y"))
    problem = build(graphs, cluster(M1=1), ONE)
    assert rates(problem, "y/c M1-1") == [1.0]


def test_work_left_undone_is_not_passed_on():
    problem = two("shuffle")
    placement = place(problem, "a M1-1", "a M1-2", "b M1-1")
    # The first a gets half of its 1/2 done, the second all of it: 1/4 + 1/2 arrive at b.
    kept = propagate(problem, placement, np.array([0.5, 1.0, 1.0])).per_instance
    assert kept.tolist() == pytest.approx([0.5, 0.5, 0.75])


# Without tasks: shuffle is even over tasks, so there 1/N would be something else.
@given(placed(3, "shares", "tasks"))
def test_even_shares_are_the_same_as_none(case: tuple[Problem, Placement]):
    problem, placement = case
    counts = placement.counts(len(problem.components))
    shared = Placement.of(
        placement.component, placement.machine, placement.slot, 1.0 / counts[placement.component]
    )
    expected = instance_rates(problem, placement).per_instance
    np.testing.assert_allclose(instance_rates(problem, shared).per_instance, expected, rtol=1e-12)


@given(placed())
def test_the_short_way_and_the_long_way_meet(case: tuple[Problem, Placement]):
    problem, placement = case
    short, long = instance_rates(problem, placement), propagate(problem, placement)
    np.testing.assert_allclose(short.per_instance, long.per_instance, rtol=1e-12)
    assert len(short.flows) == len(long.flows)


@given(placed())
def test_tuples_are_conserved(case: tuple[Problem, Placement]):
    # What a component takes in is what its sources took in, times selectivity, times the copies.
    problem, placement = case
    per_instance = instance_rates(problem, placement).per_instance
    size = len(problem.components)
    taken_in = np.bincount(placement.component, per_instance, size)
    counts = placement.counts(size)
    for c, component in enumerate(problem.components):
        expected = problem.spout_rate[c] if component.kind is Kind.SPOUT else 0.0
        for stream in problem.streams:
            if stream.target == c:
                copies = (component.tasks or counts[c]) if stream.grouping is Grouping.ALL else 1
                expected += taken_in[stream.source] * stream.selectivity * copies
        assert taken_in[c] == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(visit_ratios(problem, counts), taken_in, rtol=1e-9)

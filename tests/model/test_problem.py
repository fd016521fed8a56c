"""A problem: nouns flattened into arrays, or everything that does not fit together."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from tests.builders import cluster, profile, topology
from tests.model.strategies import problems

from penstock.errors import CycleError, InputError, NotMeasuredError
from penstock.model.problem import UNLIMITED, Problem, build
from penstock.model.profile import StreamMeasure, WorkerCost

ONE = profile(a=1.0, b=2.0, c=3.0)


def test_components_of_all_topologies_stand_in_one_list():
    problem = build((topology("a>b", name="x"), topology("c", name="y")), cluster(M1=1), ONE)
    assert problem.labels == ("x/a", "x/b", "y/c")
    assert problem.topology_of.tolist() == [0, 0, 1]
    assert problem.first_component == (0, 2)
    assert problem.e[:, 0].tolist() == [1.0, 2.0, 3.0]
    assert [(s.source, s.target) for s in problem.streams] == [(0, 1)]
    assert problem.streams_from == ((0,), (), ())


def test_a_single_topology_needs_no_prefix():
    assert build(topology("a>b"), cluster(M1=1), ONE).labels == ("a", "b")


def test_without_a_demand_the_scale_is_the_rate():
    assert build(topology("a"), cluster(M1=1), ONE).demand.tolist() == [1.0]


def test_spouts_share_the_demand():
    graph = topology("a>c b>c", demand_per_s=40.0, a={"share": 3.0})
    assert build(graph, cluster(M1=1), ONE).spout_rate.tolist() == [30.0, 0.0, 10.0]  # a, c, b


def test_measured_streams_replace_declared_ones():
    measures = (
        StreamMeasure("a", "b", selectivity=0.25),
        StreamMeasure("a", "b", topology="y", tuple_bytes=77.0),
    )
    costs = replace(ONE, streams=measures)
    declared = {"a>b": {"selectivity": 2.0, "tuple_bytes": 10.0}}
    graphs = tuple(topology("a>b", name=name, streams=declared) for name in "xy")
    flat = build(graphs, cluster(M1=1), costs).streams
    # y has a measure of its own, which says nothing of the selectivity.
    assert [(s.selectivity, s.tuple_bytes) for s in flat] == [(0.25, 10.0), (2.0, 77.0)]


def test_measured_memory_replaces_declared_memory():
    graph = topology("a>b>c", a={"memory_mb": 100.0}, b={"memory_mb": 200.0, "offheap_mb": 50.0})
    problem = build(graph, cluster(M1=1), profile(a=1.0, b=1.0, c=1.0, memory_mb={"a": 64.0}))
    assert problem.memory_mb[:2].tolist() == [64.0, 200.0]
    assert np.isnan(problem.memory_mb[2])
    assert problem.onheap_mb.tolist() == [64.0, 150.0, 0.0]


def test_an_instance_uses_its_threads_but_never_more_than_the_machine():
    graph = topology("a>b>c", b={"threads": 2}, c={"threads": 9})
    points = {"M1": {"core_points": 25.0}}
    problem = build(graph, cluster(M1=1, M2=1, types=points), ONE)
    assert problem.instance_points.tolist() == [[25.0, 100.0], [50.0, 100.0], [100.0, 100.0]]


def test_headroom_is_kept_free_on_threads_as_on_machines():
    graph = topology("a>b>c", b={"threads": 2}, c={"threads": 9})
    points = {"M1": {"core_points": 25.0}}
    problem = build(graph, cluster(M1=1, M2=1, types=points, headroom=0.2), ONE)
    assert problem.instance_points.tolist() == [[20.0, 80.0], [40.0, 80.0], [80.0, 80.0]]
    # What a core can do is another matter.
    assert problem.thread_points.tolist() == [[25.0, 80.0], [50.0, 80.0], [80.0, 80.0]]


def test_limits_and_requests_in_arrays():
    graph = topology("a>b", a={"tasks": 4, "cpu_points": 30.0})
    problem = build(graph, cluster(M1=1), ONE)
    assert problem.most_instances.tolist() == [4, UNLIMITED]
    assert problem.cpu_request[0] == 30.0
    assert np.isnan(problem.cpu_request[1])


def test_counts_laid_down_replace_the_topologys():
    problem = build(topology("a>b", a={"instances": 7}), cluster(M1=1), ONE)
    assert problem.counts_asked == (7, None)
    assert problem.with_counts([2, 3]).counts_asked == (2, 3)


def test_whole_numbers_are_as_good_as_others():
    problem = build(topology("a"), cluster(M1=1), profile(a=2, met=1))
    assert problem.e.dtype == problem.met.dtype == problem.e_remote.dtype == np.float64


def test_a_type_without_machines_needs_no_cost():
    problem = build(topology("a"), cluster(M1=1, M9=0), ONE)
    assert problem.e.tolist() == [[1.0, np.inf]]


def test_without_a_profile_there_are_no_rates():
    problem = build(topology("a", a={"cpu_points": 10.0}), cluster(M1=1))
    assert not problem.has_costs
    assert not problem.has_rates
    with pytest.raises(NotMeasuredError, match="--profile"):
        _ = problem.e


def test_with_a_cycle_there_are_costs_but_no_rates():
    problem = build(topology("c>a>b>a"), cluster(M1=1), ONE)
    assert problem.has_costs
    assert not problem.has_rates
    with pytest.raises(CycleError, match="topology t: cycle"):
        _ = problem.order


@given(problems())
def test_no_array_of_a_problem_can_be_written_to(problem: Problem):
    names = ("e", "met", "e_remote", "demand", "spout_rate", "most_instances", "topology_of")
    arrays = [getattr(problem, name) for name in (*names, "memory_mb", "instance_points")]
    assert not any(array.flags.writeable for array in arrays)


# -- what does not fit together ---------------------------------------------------------------


def findings(*arguments) -> list[str]:
    with pytest.raises(InputError) as caught:
        build(*arguments)
    return [str(finding) for finding in caught.value.findings]


def test_no_topology_is_no_problem():
    assert findings((), cluster(M1=1), ONE) == ["no topology given"]


def test_demands_are_for_all_or_for_none():
    graphs = (topology("a", name="x", demand_per_s=1.0), topology("b", name="y"))
    (found,) = findings(graphs, cluster(M1=1), ONE)
    assert found.startswith("topologies y declare no demand_per_s")


def test_a_row_that_the_profile_lacks_and_the_one_that_was_meant():
    (found,) = findings(topology("cuont"), cluster(M1=1), profile(count=1.0, split=1.0))
    assert found == 'profile p has no row "cuont"; did you mean "count"?'


def test_a_machine_type_that_the_profile_lacks():
    costs = profile(a={"M1": 1.0})
    (found,) = findings(topology("a"), cluster(M1=1, M2=1), costs)
    assert 'no cost of "a" on machine type M2' in found
    assert found.endswith('only on "M1"')


def test_without_a_profile_every_component_must_ask_for_cpu():
    found = findings(topology("a>b>c", b={"cpu_points": 5.0}), cluster(M1=1), None)
    assert [line.split(":")[0] for line in found] == [
        "no profile, and no cpu_points request of a, c"
    ]


def test_everything_wrong_is_said_at_once():
    graphs = (topology("a", name="x", demand_per_s=1.0), topology("zzz", name="x"))
    assert len(findings(graphs, cluster(M1=1), ONE)) == 3  # names, demands, row


def test_a_component_finds_its_own_measured_row_when_the_profile_has_no_row_of_its_kind():
    graph = topology("a>b", b={"profile": "midCompute"})
    assert build(graph, cluster(M1=1), ONE).cost_rows == ("a", "b")
    both = profile(a=1.0, b=2.0, midCompute=7.0)
    assert build(graph, cluster(M1=1), both).cost_rows == ("a", "midCompute")


def test_a_row_named_after_topology_and_component_is_the_components_own():
    graph = topology("a", a={"profile": ""})
    measured = profile(**{"t.a": 1.0, "a": 9.0})
    problem = build(graph, cluster(M1=1), measured)
    assert problem.cost_rows == ("t.a",)
    assert problem.e[0, 0] == 1.0


def test_a_measured_worker_cost_takes_the_place_of_the_declared_one():
    measured = replace(ONE, workers=(WorkerCost("M1", 4.5),))
    machines = cluster(M1=1, M2=1, every={"worker_cpu_points": 2.0})
    problem = build(topology("a"), machines, measured)
    assert problem.cluster.per_type("worker_cpu_points").tolist() == [4.5, 2.0]


def test_what_a_worker_spends_on_a_tuple_is_part_of_what_the_tuple_costs():
    measured = replace(ONE, workers=(WorkerCost("M1", 4.5, e=0.01),))
    plain = build(topology("a"), cluster(M1=1, M2=1), ONE)
    moving = build(topology("a"), cluster(M1=1, M2=1), measured)
    assert (moving.e - plain.e).tolist() == [[pytest.approx(0.01), 0.0]]
    assert not moving.has_remote_cost


def test_what_a_worker_spends_on_tuples_that_cross_is_added_to_what_instances_spend():
    costs = tuple(replace(cost, e_remote=0.002) for cost in ONE.costs)
    measured = replace(ONE, costs=costs, workers=(WorkerCost("M1", 4.5, e_remote=0.01),))
    problem = build(topology("a"), cluster(M1=1, M2=1), measured)
    assert problem.e_remote.tolist() == [[pytest.approx(0.012), pytest.approx(0.002)]]

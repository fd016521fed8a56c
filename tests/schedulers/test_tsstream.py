"""Ts-Stream: the topology cut with its Laplacian, the parts placed by room."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import cluster, profile, topology

import penstock
from penstock.errors import InputError
from penstock.evaluate.limits import violations
from penstock.model.outcome import Outcome, Shortfall
from penstock.model.problem import Problem, build
from penstock.schedulers import Budget
from penstock.schedulers.tsstream import Graph, TsStreamScheduler, fiedler
from penstock_bench.data import data_folder

#: Two triangles of heavy traffic and a thin stream between them: c>x carries a tenth of what the
#: others do. Each component has one executor unless a test says otherwise.
TRIANGLES = "a>b>c a>c x>y>z x>z c>x"


def tsstream(problem: Problem) -> Outcome:
    return TsStreamScheduler().solve(problem, Budget(), np.random.default_rng(0))


def asking(shape: str, workers: int | None = None, **options: Any) -> Any:
    """A topology whose components each ask for 10 points and one instance, unless told."""
    names = dict.fromkeys(shape.replace(">", " ").split())
    asked = {name: {"cpu_points": 10.0, "instances": 1, **options.pop(name, {})} for name in names}
    return topology(shape, workers=workers, **asked, **options)


def parts(problem: Problem, outcome: Outcome) -> list[set[str]]:
    """Component labels in each worker, by machine and slot."""
    found: dict[tuple[int, int], set[str]] = {}
    placement = outcome.placement
    for component, machine, slot in zip(
        placement.component, placement.machine, placement.slot, strict=True
    ):
        found.setdefault((int(machine), int(slot)), set()).add(problem.labels[component])
    return [found[worker] for worker in sorted(found)]


# -- the cut --------------------------------------------------------------------------------------


def test_fiedler_vector_of_a_path():
    # Laplacian of 1 - 2 - 3 with weights 1: eigenvalues 0, 1, 3, the second vector (-1, 0, 1).
    path = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    assert fiedler(path).tolist() == [-1.0, 0.0, 1.0]


def test_the_sign_follows_the_order_of_the_components():
    # The same path as 2 - 1 - 3, its ends first and last: still the first end low.
    path = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    assert fiedler(path).tolist() == [-1.0, 1.0, 0.0]


def test_an_eigenvalue_that_comes_twice_still_gives_one_order():
    # In a triangle every direction is as good: the projection of sqrt(1), sqrt(2), sqrt(3) is it.
    triangle = np.ones((3, 3)) - np.eye(3)
    steps = np.sqrt([1.0, 2.0, 3.0])
    expected = steps - steps.mean()
    assert fiedler(triangle).tolist() == pytest.approx((expected / -expected[0]).tolist())


def test_the_thin_stream_is_cut_first():
    # Worked out for two pairs: a = b, x = y with weight 4, b = x with 1. Laplacian
    # [[4,-4,0,0],[-4,5,-1,0],[0,-1,5,-4],[0,0,-4,4]]: the second vector is odd, (-u,-v,v,u) with
    # 4u - 4v = s u and -4u + 6v = s v, so s = 5 - sqrt(17) = 0.877 and v/u = (4 - s)/4 = 0.781.
    pairs = np.zeros((4, 4))
    for i, j, weight in ((0, 1, 4.0), (1, 2, 1.0), (2, 3, 4.0)):
        pairs[i, j] = pairs[j, i] = weight
    ratio = (np.sqrt(17) - 1) / 4
    assert fiedler(pairs).tolist() == pytest.approx([-1.0, -ratio, ratio, 1.0])
    assert Graph(0, pairs).halves(dict.fromkeys(range(4), 1)) == ({0: 1, 1: 1}, {2: 1, 3: 1})


def test_two_cliques_are_separated():
    thin = {"c>x": {"selectivity": 0.1}}
    problem = build(asking(TRIANGLES, 2, streams=thin), cluster(M1=2))
    assert parts(problem, tsstream(problem)) == [{"a", "b", "c"}, {"x", "y", "z"}]


def test_a_component_may_straddle_the_cut():
    # a has 2 executors and b 6: half is 4, so two of b go with a.
    pairs = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert Graph(0, pairs).halves({0: 2, 1: 6}) == ({0: 2, 1: 2}, {1: 4})


def test_pieces_without_a_stream_between_them_stay_whole():
    # Declared in turn, a c b d: the pieces a-b and c-d are not mixed.
    graph = asking("a c b d a>b c>d", 2)
    problem = build(graph, cluster(M1=2))
    assert parts(problem, tsstream(problem)) == [{"a", "b"}, {"c", "d"}]


def test_components_without_any_stream():
    problem = build(asking("a b c", 3), cluster(M1=3))
    assert sorted(map(sorted, parts(problem, tsstream(problem)))) == [["a"], ["b"], ["c"]]


def test_the_largest_part_is_cut_next():
    # 9 executors in a row of three: 4 and 5, then the 5 into 2 and 3.
    graph = asking("a>b>c", 3, a={"instances": 3}, b={"instances": 3}, c={"instances": 3})
    problem = build(graph, cluster(M1=3))
    placement = tsstream(problem).placement
    assert sorted(np.bincount(placement.machine).tolist()) == [2, 3, 4]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Graph, dict[int, int]]:
    size = draw(st.integers(1, 7))
    edges = draw(st.lists(st.sampled_from([0.0, 0.0, 1.0, 2.5, 1e-6, 1e6]), min_size=size**2))
    weights = np.array(edges[: size**2]).reshape(size, size)
    counts = draw(st.lists(st.integers(1, 5), min_size=size, max_size=size))
    return Graph(0, weights + weights.T), dict(enumerate(counts))


@pytest.mark.filterwarnings("error::RuntimeWarning")
@given(drawn=graphs())
def test_no_half_is_empty_and_nothing_is_lost(drawn):
    graph, part = drawn
    total = sum(part.values())
    near, far = graph.halves(part)
    assert sum(near.values()) == total // 2
    assert sum(far.values()) == total - total // 2
    assert all(count > 0 for half in (near, far) for count in half.values())
    assert {c: near.get(c, 0) + far.get(c, 0) for c in part} == part


# -- workers and machines -------------------------------------------------------------------------


def test_no_more_parts_than_executors():
    problem = build(asking("a>b", 9), cluster(M1=4))
    assert len(tsstream(problem).placement.workers) == 2


def test_without_a_worker_count_there_is_one_per_machine():
    problem = build(asking("a>b", a={"instances": 4}, b={"instances": 4}), cluster(M1=3))
    assert len(tsstream(problem).placement.workers) == 3


def test_the_largest_part_goes_where_there_is_most_room():
    # a asks for 60 points, b for 10: a's part to M2 with 300, then b's there too, with 240 left.
    graph = asking("a>b", 2, a={"cpu_points": 60.0})
    kinds = {"M1": {"cpu_points": 100.0}, "M2": {"cpu_points": 300.0}}
    problem = build(graph, cluster(M1=2, M2=1, types=kinds))
    assert tsstream(problem).placement.machine.tolist() == [2, 2]
    # With 155 there, b finds 95 left and goes to the first machine of 100.
    problem = build(graph, cluster(M1=2, M2=1, types={**kinds, "M2": {"cpu_points": 155.0}}))
    assert tsstream(problem).placement.machine.tolist() == [2, 0]


def test_without_requests_parts_have_the_size_of_their_cpu():
    # b costs ten times as much as a, so b's part is placed first and takes the larger machine.
    kinds = {"M1": {"cpu_points": 100.0}, "M2": {"cpu_points": 110.0}}
    graph = topology("a>b", workers=2, a={"instances": 1}, b={"instances": 1})
    problem = build(graph, cluster(M1=1, M2=1, types=kinds), profile(a=0.1, b=1.0))
    outcome = tsstream(problem)
    assert outcome.placement.machine.tolist() == [0, 1]
    assert any("upper bound" in note for note in outcome.notes)


def test_a_cycle_is_placed_and_said():
    costs = profile(a=1.0, b=1.0, c=1.0)
    problem = build(topology("a>b>c>b", workers=2), cluster(M1=2), costs).with_counts([1, 2, 2])
    outcome = tsstream(problem)
    assert outcome.feasible
    assert any("cycle" in note for note in outcome.notes)
    assert any("no rates" in note for note in outcome.notes)


def test_free_work_has_no_bound_to_take_the_rate_from():
    problem = build(topology("a>b"), cluster(M1=2), profile(a=0.0, b=0.0)).with_counts([2, 2])
    outcome = tsstream(problem)
    assert outcome.feasible
    assert any("cost nothing" in note for note in outcome.notes)


def test_memory_is_a_hard_limit_and_a_part_too_large_is_cut_again():
    # One worker asked for, 4 executors of 300 MB, machines of 700 MB: two parts of two.
    graph = asking("a", 1, a={"instances": 4, "memory_mb": 300.0})
    problem = build(graph, cluster(M1=2, every={"memory_mb": 700.0}))
    outcome = tsstream(problem)
    assert sorted(np.bincount(outcome.placement.machine).tolist()) == [2, 2]
    assert violations(problem, outcome.placement) == ()


def test_a_workers_heap_and_its_own_memory_count():
    # 450 MB of heap hold one executor of 300 MB; 100 MB more per worker: 400 of 800 each.
    graph = asking("a", 1, worker_max_heap_mb=450.0, a={"instances": 4, "memory_mb": 300.0})
    kind = {"memory_mb": 800.0, "worker_memory_mb": 100.0}
    problem = build(graph, cluster(M1=2, every=kind))
    outcome = tsstream(problem)
    assert len(outcome.placement.workers) == 4
    assert violations(problem, outcome.placement) == ()


def test_requests_of_cpu_are_kept_where_there_is_nothing_else():
    # 6 executors of 40 points: two on a machine of 100, so three machines for one worker asked.
    graph = asking("a", 1, a={"instances": 6, "cpu_points": 40.0})
    problem = build(graph, cluster(M1=3))
    outcome = tsstream(problem)
    assert np.bincount(outcome.placement.machine).tolist() == [2, 2, 2]
    assert violations(problem, outcome.placement) == ()


@pytest.mark.parametrize(
    ("component", "limits", "shortfall"),
    [
        ({"cpu_points": 150.0}, {}, Shortfall("cpu_points", 150.0, 100.0, "t", "a")),
        (
            {"memory_mb": 900.0},
            {"memory_mb": 500.0, "worker_memory_mb": 100.0},
            Shortfall("memory_mb", 900.0, 400.0, "t", "a"),
        ),
    ],
)
def test_an_executor_that_fits_nowhere(component, limits, shortfall):
    problem = build(asking("a", a=component), cluster(M1=2, every=limits))
    outcome = tsstream(problem)
    assert outcome.shortfalls == (shortfall,)
    assert outcome.placement is None


def test_an_executor_larger_than_a_workers_heap():
    graph = asking("a", worker_max_heap_mb=450.0, a={"memory_mb": 500.0})
    outcome = tsstream(build(graph, cluster(M1=2)))
    assert outcome.shortfalls == (Shortfall("memory_mb", 500.0, 450.0, "t", "a"),)


def test_several_topologies_by_priority_and_a_slot_each():
    graphs_ = [asking("a>b", 2, name="late", priority=3), asking("c>d", 2, name="urgent")]
    problem = build(graphs_, cluster(M1=1, M2=1))
    outcome = tsstream(problem)
    assert outcome.feasible
    # c and d were first and have slot 0.
    assert outcome.placement.slot.tolist() == [1, 1, 0, 0]


def test_without_a_slot_left_a_topology_is_refused_whole():
    graphs_ = [asking("a>b", 2, name="x"), asking("c>d", 2, name="y")]
    problem = build(graphs_, cluster(M1=2, every={"slots": 1}))
    outcome = tsstream(problem)
    assert outcome.shortfalls == (Shortfall("slots", 1, 0, "y"),)
    assert outcome.placement.counts(4).tolist() == [1, 1, 0, 0]


def test_a_refused_topology_leaves_its_room_to_the_others():
    # y fits nowhere (150 points); z needs all that x left.
    graphs_ = [
        asking("a", 1, name="x", a={"cpu_points": 50.0}),
        asking("b>c", 2, name="y", b={"cpu_points": 30.0}, c={"cpu_points": 150.0}),
        asking("d", 1, name="z", d={"cpu_points": 50.0}),
    ]
    problem = build(graphs_, cluster(M1=1))
    outcome = tsstream(problem)
    assert [s.topology for s in outcome.shortfalls] == ["y"]
    assert outcome.placement.counts(4).tolist() == [1, 0, 0, 1]


def test_counts_must_be_given():
    problem = build(topology("a>b"), cluster(M1=1), profile(a=1.0, b=1.0))
    with pytest.raises(InputError, match="tsstream only places"):
        tsstream(problem)


def test_the_same_problem_has_the_same_answer():
    problem = penstock.problem(["wordcount", "topn"], "lcstream")
    assert tsstream(problem) == tsstream(problem)


@pytest.mark.data
def test_a_production_cluster_is_placed_within_its_limits():
    folder = data_folder() / "production-clusters" / "largeCluster01"
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    problem = penstock.load(folder)
    outcome = tsstream(problem)
    assert outcome.feasible
    assert violations(problem, outcome.placement) == ()

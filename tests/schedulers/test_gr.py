"""``gr``: Gr-Storm, with the vectors of the thesis."""

from dataclasses import replace
from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import cluster, held_by_slot, machine_names, profile, topology

from penstock.errors import InputError
from penstock.files.examples import load_cluster, load_topology
from penstock.model.outcome import Outcome, Shortfall
from penstock.model.problem import Problem, build
from penstock.model.profile import StreamMeasure
from penstock.schedulers import Budget, Scheduler, parameters_of
from penstock.schedulers.gr import GrScheduler, cut, limited, max_flow_min_cut, partition

#: A graph like Fig. 3.7, whose own numbers did not survive: two spouts, four bolts, 35 into BD.
FIG_3_7 = {
    "SA>BA": 20,
    "SA>BB": 10,
    "SA>BC": 7,
    "SB>BC": 10,
    "BA>BB": 6,
    "BA>BD": 10,
    "BB>BC": 3,
    "BB>BD": 12,
    "BC>BD": 13,
}


def weights(edges: dict[str, float], names: str) -> np.ndarray:
    index = {name: i for i, name in enumerate(names.split())}
    made = np.zeros((len(index), len(index)))
    for edge, traffic in edges.items():
        source, target = edge.split(">")
        made[index[source], index[target]] = traffic
    return made


def solve(problem: Problem, **settings) -> Outcome:
    return GrScheduler(**settings).solve(problem, Budget(), np.random.default_rng(0))


def ones(count: int) -> np.ndarray:
    return np.ones(count, dtype=np.int64)


def test_it_is_a_scheduler_whose_parameters_are_explained():
    assert isinstance(GrScheduler(), Scheduler)
    assert [p.name for p in parameters_of(GrScheduler)] == ["largest"]
    assert all(p.help for p in parameters_of(GrScheduler))


# -- one cut ------------------------------------------------------------------------------------


def test_the_flow_of_the_figure_is_seven():
    # Fig. 3.6: 4 and 3 leave the source, 1 and 2 can send on more than that: the source is cut off.
    edges = {"s>1": 4, "s>2": 3, "1>2": 2, "1>t": 4, "2>t": 5}
    flow, sink_side = max_flow_min_cut(weights(edges, "s 1 2 t"), [0], [3])
    assert flow == pytest.approx(7.0)
    assert sink_side.tolist() == [False, True, True, True]


def test_the_sink_alone_is_the_minimum_cut():
    # 47 leaves the spouts, 35 enters BD over three streams, and all of that can flow.
    graph = weights(FIG_3_7, "SA SB BA BB BC BD")
    flow, _ = max_flow_min_cut(graph, [0, 1], [5])
    assert flow == pytest.approx(35.0)
    first, second = cut(ones(6), graph)
    assert first.tolist() == [1, 1, 1, 1, 1, 0]
    assert second.tolist() == [0, 0, 0, 0, 0, 1]


def test_of_equal_cuts_the_one_nearest_the_sinks_is_taken():
    _, second = cut(ones(4), weights({"a>b": 5, "b>c": 5, "c>d": 5}, "a b c d"))
    assert second.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("spouts", [3, 6, 7, 11])
def test_rounding_does_not_tell_equal_cuts_apart(spouts):
    # The spouts' parts add up to what the bolt sends on, 1, which in whole numbers they need not.
    names = [f"s{i}" for i in range(spouts)]
    edges = {**{f"{name}>b": 1 / spouts for name in names}, "b>c": 1.0}
    _, second = cut(ones(spouts + 2), weights(edges, " ".join([*names, "b", "c"])))
    assert second.tolist() == [0] * (spouts + 1) + [1]


def test_the_weight_of_a_stream_is_that_of_all_its_executor_pairs():
    # 1 a pair and 4 pairs for a-b, 3 a pair but only 2 pairs for b-c: cut a-b would cost 4, b-c 6.
    graph = weights({"a>b": 1, "b>c": 3}, "a b c")
    first, second = cut(np.array([2, 2, 1]), graph)
    assert (first.tolist(), second.tolist()) == ([2, 0, 0], [0, 2, 1])


def test_a_part_that_is_not_connected_is_cut_between_its_pieces():
    # Pieces a-b (2), c-d (5) and e (4); a stream without traffic joins nothing. The largest is c-d.
    graph = weights({"a>b": 9, "b>c": 0, "c>d": 1}, "a b c d e")
    first, second = cut(np.array([1, 1, 2, 3, 4]), graph)
    assert first.tolist() == [0, 0, 2, 3, 0]
    assert second.tolist() == [1, 1, 0, 0, 4]


def test_a_part_of_one_component_is_halved():
    first, second = cut(np.array([0, 5, 0]), weights({"b>b": 3}, "a b c"))
    assert (first.tolist(), second.tolist()) == ([0, 3, 0], [0, 2, 0])


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        # No source, no sink: from a, the first, to c, the last. a>b 2, b>c 1: c is cut off.
        ({"a>b": 2, "b>c": 1, "c>a": 9}, [0, 0, 1]),
        # c is a sink, no source: a, the first that is no sink, is one.
        ({"a>b": 9, "b>a": 9, "b>c": 1}, [0, 0, 1]),
        # a is a source, no sink: c, the last that is no source. 1 from a to b is the least.
        ({"a>b": 1, "b>c": 9, "c>b": 9}, [0, 1, 1]),
        # The first component is the only sink: b is the source.
        ({"b>c": 9, "c>b": 9, "c>a": 1}, [1, 0, 0]),
    ],
)
def test_cycles_are_cut_too(edges, expected):
    _, second = cut(ones(3), weights(edges, "a b c"))
    assert second.tolist() == expected


def cheapest(graph: np.ndarray) -> tuple[float, set[int]]:
    """By trying all: the least cut between sources and sinks, and its smallest sink side."""
    size = len(graph)
    sources = {v for v in range(size) if not graph[:, v].any()}
    sinks = {v for v in range(size) if not graph[v].any()}
    best: tuple[float, set[int]] = (np.inf, set())
    for side in product((False, True), repeat=size):
        far = {v for v in range(size) if side[v]}
        if far & sources or not sinks <= far:
            continue
        cost = sum(graph[u, v] for u in range(size) for v in far if u not in far)
        if (cost, len(far)) < (best[0], len(best[1])):
            best = (cost, far)
    return best


@given(seed=st.integers(0, 2**32 - 1))
def test_cutting_components_is_cutting_executors(seed):
    # Whole numbers below ten, so that equal cuts are frequent; every component feeds a later one,
    # or is fed, so that the graph of at most eight executors is connected and has no cycle.
    random = Random(seed)
    size = random.randint(2, 4)
    per_pair = np.zeros((size, size))
    for target in range(1, size):
        per_pair[random.randrange(target), target] = random.randint(1, 4)
    for source in range(size):
        for target in range(source + 1, size):
            per_pair[source, target] += random.choice((0, 0, 0, 1, 2))
    counts = np.array([random.randint(1, 2) for _ in range(size)])
    of = np.repeat(np.arange(size), counts)
    cost, far = cheapest(per_pair[np.ix_(of, of)])
    first, second = cut(counts, per_pair)
    assert second.tolist() == np.bincount(of[sorted(far)], minlength=size).tolist()
    assert first @ per_pair @ second == pytest.approx(cost)


# -- again and again ----------------------------------------------------------------------------


def test_the_part_with_the_most_executors_is_cut_next():
    # a 1, b 4, c 2 with traffic 1, 8: first a | b c. Of b c (6): b | c. Of b (4): halves.
    graph = weights({"a>b": 1 / 4, "b>c": 1}, "a b c")
    counts = np.array([1, 4, 2])
    assert partition(counts, graph, 1).tolist() == [[1, 4, 2]]
    assert partition(counts, graph, 2).tolist() == [[1, 0, 0], [0, 4, 2]]
    assert partition(counts, graph, 3).tolist() == [[1, 0, 0], [0, 4, 0], [0, 0, 2]]
    assert partition(counts, graph, 4).tolist() == [[1, 0, 0], [0, 2, 0], [0, 2, 0], [0, 0, 2]]
    # Seven executors are at most seven parts.
    assert partition(counts, graph, 99).sum(axis=1).tolist() == [1] * 7


def test_wordcount_of_the_thesis():
    # Traffic per sentence: spout-split 1, split-count 8, and acks: spout 1, split 1, count 8.
    # 2 leave the spout: it is cut off first. Then split-count 8 + split-acker 1 = 9, and into the
    # acker 1 + 8 = 9: equal, so the acker goes. Then split | count, then count in halves.
    graph = load_topology("wordcount")
    expected = {
        2: ["spout", "split count acker"],
        3: ["spout", "split count", "acker"],
        4: ["spout", "split", "count", "acker"],
        5: ["spout", "split", "count", "count", "acker"],
    }
    for workers, parts in expected.items():
        problem = build(replace(graph, workers=workers), load_cluster("thesis"))
        held = held_by_slot(problem, solve(problem)).values()
        assert sorted(" ".join(dict.fromkeys(h.split())) for h in held) == sorted(parts)


def test_parts_go_by_the_traffic_inside_to_the_nodes_by_gflops():
    # b-c stay together (cut a-b, 1 of 1 + 9). M2 has the GFLOPS, M1 only the memory.
    power = {"cores": 1, "flops_per_cycle": 1.0, "slots": 1}
    kinds = {"M1": {**power, "ghz": 1.0, "memory_mb": 1e9}, "M2": {**power, "ghz": 2.0}}
    asks = {"cpu_points": 1.0, "instances": 1}
    graph = topology(
        "a>b>c", streams={"b>c": {"selectivity": 9.0}}, a=asks, b=asks, c=asks, workers=2
    )
    problem = build(graph, cluster(types=kinds, M1=1, M2=1))
    outcome = solve(problem)
    assert held_by_slot(problem, outcome) == {"M1-1/0": "a", "M2-1/0": "b c"}
    assert outcome.notes == ("traffic from the rate model, not measured",)


def test_measured_traffic_changes_the_plan():
    one = {"instances": 1}
    graph = topology("a>b>c", a=one, b=one, c=one, workers=2)
    costs = profile(a=1.0, b=1.0, c=1.0)
    derived = build(graph, cluster(M1=1), costs)
    log = (StreamMeasure("a", "b", tuples_per_s=1.0), StreamMeasure("b", "c", tuples_per_s=9.0))
    seen = build(graph, cluster(M1=1), replace(costs, streams=log))
    # Equal traffic: c, the sink, is cut off; measured, a-b is the least.
    assert sorted(held_by_slot(derived, solve(derived)).values()) == ["a b", "c"]
    assert sorted(held_by_slot(seen, solve(seen)).values()) == ["a", "b c"]
    assert "traffic as measured" in solve(seen).notes


# -- a limit on the parts -----------------------------------------------------------------------


def test_a_part_over_the_limit_gives_its_last_executors_to_the_smallest():
    # Limit 4: the second part (7) gives c, c, b; the first part has 1, then 2, and the third 2:
    # c to the first (1 -> 2), then to the first again (2 -> 3, first of equals), b to the third.
    parts = np.array([[1, 0, 0], [0, 5, 2], [0, 0, 2]])
    assert limited(parts, 4).tolist() == [[1, 0, 2], [0, 4, 0], [0, 1, 2]]
    assert limited(parts, 7).tolist() == parts.tolist()


@pytest.mark.parametrize("largest", [10, 14])
def test_largest_is_kept(largest):
    problem = build(load_topology("wordcount"), load_cluster("thesis"))
    sizes = [
        len(h.split()) for h in held_by_slot(problem, solve(problem, largest=largest)).values()
    ]
    assert len(sizes) == 3
    assert sum(sizes) == 28
    assert max(sizes) == largest


def test_a_limit_that_cannot_be_kept_is_raised_and_said():
    # 28 executors on 3 workers: ten at least. Of 5, 20 and 3, the 20 give ten to the smaller two.
    problem = build(load_topology("wordcount"), load_cluster("thesis"))
    outcome = solve(problem, largest=6)
    assert sorted(len(h.split()) for h in held_by_slot(problem, outcome).values()) == [9, 9, 10]
    assert "wordcount: parts of up to 10, largest=6 is too few" in outcome.notes


def test_a_limit_is_a_count():
    with pytest.raises(InputError, match="largest must be 0 or more, not -1"):
        GrScheduler(largest=-1)


# -- the rest -----------------------------------------------------------------------------------


def test_a_cyclic_topology_without_a_profile_is_placed():
    asks = {"cpu_points": 10.0, "instances": 2}
    problem = build(topology("a>b>c>b c>c", a=asks, b=asks, c=asks, workers=4), cluster(M1=2))
    outcome = solve(problem)
    assert outcome.feasible
    assert len(outcome.placement.workers) == 4
    assert any("t has a cycle" in note for note in outcome.notes)
    assert any("cpu_points" in note for note in outcome.notes)


def test_several_topologies_and_too_few_slots():
    asks = {"cpu_points": 10.0, "instances": 2}
    graphs = tuple(
        topology("a>b", name=name, workers=2, priority=p, a=asks, b=asks)
        for name, p in (("x", 3), ("y", 0), ("z", 1))
    )
    problem = build(graphs, cluster(M1=1, every={"slots": 3}))
    outcome = solve(problem)
    # y gets the two it asks for, z the one that is left, x none.
    assert [len(machine_names(problem, outcome.placement, f"{n}/a")) for n in "xyz"] == [0, 2, 2]
    assert held_by_slot(problem, outcome)["M1-1/2"] == "z/a z/a z/b z/b"
    assert outcome.shortfalls == (Shortfall("slots", 1, 0, "x"),)


def test_the_same_problem_gives_the_same_answer():
    problem = build(replace(load_topology("wordcount"), workers=9), load_cluster("thesis"))
    assert solve(problem) == solve(problem)

"""``a3``: A3-Storm, with the vectors of the thesis."""

from dataclasses import replace

import numpy as np
import pytest
from tests.builders import cluster, held_by_slot, profile, topology

from penstock.errors import InputError
from penstock.model.outcome import Outcome, Shortfall
from penstock.model.problem import Problem, build
from penstock.model.profile import StreamMeasure
from penstock.schedulers import Budget, Scheduler, parameters_of
from penstock.schedulers.a3 import A3Scheduler
from penstock.schedulers.executor_groups import (
    fill_slot,
    pairs_by_traffic,
    traffic_inside,
)
from penstock.schedulers.executor_kinds import connected_pairs
from penstock.schedulers.traffic import traffic_between

#: Table 3.5.
FIG_3_4 = {"A>B": 6, "A>D": 1, "B>C": 7, "B>E": 9, "C>F": 2, "D>E": 8, "E>F": 7}


def measured(traffic: dict[str, float], counts: dict[str, int] | None = None, order="", **options):
    """A topology and a profile with this traffic on its streams, one instance each by default."""
    shape = f"{order} {' '.join(traffic)}"
    names = dict.fromkeys(shape.replace(" ", ">").split(">"))
    asked = {n: {"instances": (counts or {}).get(n, 1)} for n in names if n}
    streams = tuple(
        StreamMeasure(*pair.split(">"), tuples_per_s=rate) for pair, rate in traffic.items()
    )
    costs = profile(**dict.fromkeys(asked, 1.0))
    return topology(shape, **options, **asked), replace(costs, streams=streams)


def measured_problem(traffic, machines=None, **options) -> Problem:
    graph, costs = measured(traffic, **options)
    return build(graph, machines or cluster(M1=1, every={"slots": 10}), costs)


def solve(problem: Problem, **settings) -> Outcome:
    return A3Scheduler(**settings).solve(problem, Budget(), np.random.default_rng(0))


def per_pair(problem: Problem) -> np.ndarray:
    counts = [count or 0 for count in problem.counts_asked]
    return traffic_between(problem, counts).per_pair(counts)


def test_it_is_a_scheduler_whose_parameters_are_explained():
    assert isinstance(A3Scheduler(), Scheduler)
    assert [p.name for p in parameters_of(A3Scheduler)] == ["alpha"]
    assert all(p.help for p in parameters_of(A3Scheduler))


def test_the_pairs_are_sorted_as_in_the_table():
    problem = measured_problem(FIG_3_4, order="A B C D E F")
    pairs = pairs_by_traffic(connected_pairs(problem, 0), per_pair(problem))
    # Table 3.6: BE 9, DE 8, BC 7, EF 7, AB 6, CF 2, AD 1.
    named = ["".join(problem.labels[end] for end in pair) for pair in pairs]
    assert named == ["BE", "DE", "BC", "EF", "AB", "CF", "AD"]


@pytest.mark.parametrize(("order", "fourth"), [("A B C D E F", "C"), ("A B F D E C", "F")])
def test_the_figures_next_executors(order, fourth):
    # B, E open (9). D has 8 with E; then C has 7 with B, F 7 with E, and A 6 with B.
    problem = measured_problem(FIG_3_4, order=order)
    traffic = per_pair(problem)
    both_ways = traffic + traffic.T
    opening = pairs_by_traffic(connected_pairs(problem, 0), traffic)[0]
    score = both_ways[opening[0]] + both_ways[opening[1]]
    assert {n: score[problem.labels.index(n)] for n in "ACDF"} == {"A": 6, "C": 7, "D": 8, "F": 7}
    taken = fill_slot(np.ones(6, dtype=np.int64), opening, both_ways, 4, whole_slot=False)
    assert [problem.labels[c] for c in taken] == ["B", "E", "D", fourth]


def test_the_figure_on_two_workers():
    # Three to a slot: B, E, D. Then C-F, the first pair left, opens slot 1; A has no traffic with
    # it and is left over, k = 1, slot 1. Inside: 9 + 8 = 17 against 2.
    problem = measured_problem(FIG_3_4, order="A B C D E F", workers=2)
    assert held_by_slot(problem, solve(problem)) == {"M1-1/0": "B D E", "M1-1/1": "A C F"}


def test_only_the_opening_pair_counts():
    # Four to a slot. a-b open with 10 and take c, which has 3 with a. e has 2 with b, d only 1 with
    # b but 2 with c: with the opening pair e comes fourth, with the whole slot it would be d.
    traffic = {"a>b": 10, "a>c": 3, "b>d": 1, "c>d": 2, "b>e": 2, "f>g": 1}
    problem = measured_problem(traffic, order="a b c d e f g", workers=2)
    # f-g open slot 1; d has nothing to do with them and is left over: k = 1, slot 1.
    assert held_by_slot(problem, solve(problem)) == {"M1-1/0": "a b c e", "M1-1/1": "d f g"}


def test_one_worker_has_everything():
    problem = measured_problem({**FIG_3_4, "x>y": 0}, workers=1)
    assert len(solve(problem).placement.workers) == 1


@pytest.mark.parametrize("workers", [6, 9])
def test_as_many_workers_as_executors_means_one_each(workers):
    problem = measured_problem(FIG_3_4, order="A B C D E F", workers=workers)
    each = {f"M1-1/{i}": name for i, name in enumerate("ABCDEF")}
    assert held_by_slot(problem, solve(problem)) == each


def test_slots_go_by_the_traffic_inside():
    # Three to a slot. a-b open slot 0 with 5 a pair, p-q slot 1 with 4, but that takes the second
    # q too: 8 inside. c is left over, k = 1, slot 1. More traffic goes to the stronger node.
    problem = measured_problem(
        {"a>b": 5, "p>q": 8}, counts={"q": 2}, order="a b c p q", workers=2, machines=two_nodes()
    )
    expected = {"M1-1/0": "a b", "M2-1/0": "c p q q"}
    assert held_by_slot(problem, solve(problem)) == expected


def two_nodes():
    """M2 has three times the power, one slot each."""
    power = {"cores": 1, "flops_per_cycle": 1.0, "memory_mb": 1024.0, "slots": 1}
    kinds = {"M1": {**power, "ghz": 1.0}, "M2": {**power, "ghz": 3.0}}
    return cluster(types=kinds, M1=1, M2=1)


def test_traffic_inside_counts_every_pair_in_the_slot():
    # 2 a and 3 b with 4 a pair, one way: 24. With 1 a pair from a to itself: 2 * 2 more.
    between = np.array([[1.0, 4.0], [0.0, 0.0]])
    assert traffic_inside(np.array([[2, 3], [0, 3]]), between).tolist() == [28, 0]


def test_a_pair_without_traffic_opens_no_slot():
    # c>d is silent: both are left over, k = 1 to slot 1 and k = 2 to slot 0.
    problem = measured_problem({"c>d": 0, "a>b": 1}, workers=2)
    assert held_by_slot(problem, solve(problem)) == {"M1-1/0": "d a b", "M1-1/1": "c"}


def test_measured_traffic_changes_the_plan():
    two = {"instances": 2}
    triple = {"b>c": {"selectivity": 3.0}}
    graph = topology("a>b>c", streams=triple, a=two, b=two, c=two, workers=2)
    costs = profile(a=1.0, b=1.0, c=1.0)
    derived = build(graph, cluster(M1=1), costs)
    log = (StreamMeasure("a", "b", tuples_per_s=8.0), StreamMeasure("b", "c", tuples_per_s=1.0))
    seen = build(graph, cluster(M1=1), replace(costs, streams=log))
    from_model, from_log = solve(derived), solve(seen)
    # Rate model: 3/4 a pair for b-c, 1/4 for a-b. b, c open, and b goes before c, its equal. No b
    # is left for another pair: a, a, c go to slots 1, 0, 1. Inside: 2 * 3/4 + 2 * 1/4 against 0.
    assert held_by_slot(derived, from_model) == {"M1-1/0": "a b b c", "M1-1/1": "a c"}
    assert "traffic from the rate model, not measured" in from_model.notes
    # Measured: 2 a pair for a-b, 1/4 for b-c. a, b open, and a goes before b; then b, c with c.
    assert held_by_slot(seen, from_log) == {"M1-1/0": "a a b", "M1-1/1": "b c c"}
    assert "traffic as measured" in from_log.notes


def test_neither_a_profile_nor_a_dag_is_needed():
    asks = {"cpu_points": 10.0, "instances": 2}
    graph = topology("a>b>c>b", a=asks, b=asks, c=asks, workers=2)
    outcome = solve(build(graph, cluster(M1=2)))
    assert outcome.feasible
    assert any("t has a cycle" in note for note in outcome.notes)
    assert any("cpu_points" in note for note in outcome.notes)


def test_several_topologies_and_too_few_slots():
    x, costs = measured({"a>b": 2, "c>d": 1}, name="x", workers=2)
    y, _ = measured({"a>b": 2}, name="y", workers=1, priority=1)
    problem = build((y, x), cluster(M1=1, every={"slots": 2}), costs)
    outcome = solve(problem)
    assert held_by_slot(problem, outcome) == {"M1-1/0": "x/a x/b", "M1-1/1": "x/c x/d"}
    assert outcome.shortfalls == (Shortfall("slots", 1, 0, "y"),)


def test_the_same_problem_gives_the_same_answer():
    problem = measured_problem(FIG_3_4, counts={"B": 3, "E": 4, "F": 2}, workers=4)
    assert solve(problem) == solve(problem)


def test_alpha_is_a_weight():
    with pytest.raises(InputError, match="alpha must be between 0 and 1"):
        A3Scheduler(alpha=2)

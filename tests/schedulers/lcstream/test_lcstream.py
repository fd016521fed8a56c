"""Lc-Stream: counts from queues, related tasks together, idle machines asleep."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from tests.builders import SHAPES, cluster, links, machine_names, nasiri, profile, solve, topology
from tests.model.strategies import problems
from tests.schedulers.lcstream.problems import (
    FOUR_CORES,
    counts,
    lcstream,
    papers_experiment,
    pipeline,
    with_demand,
)

from penstock import app
from penstock.errors import CycleError, InputError, NotMeasuredError
from penstock.evaluate.assess import assess
from penstock.evaluate.bound import upper_bound
from penstock.model.cluster import Link, Network
from penstock.model.outcome import Outcome
from penstock.model.problem import Problem, build
from penstock.model.topology import Grouping
from penstock.schedulers.lcstream.counts import LatenessLimits, Stations
from penstock.schedulers.lcstream.scheduler import LcStreamScheduler


def operating_scale(outcome: Outcome, problem: Problem) -> float:
    """The scale in the first note; 1 where demand is declared."""
    if problem.topologies[0].demand_per_s is not None:
        return 1.0
    return float(outcome.notes[0].split("a scale of ")[1].split(", ")[0].replace(",", ""))


@pytest.fixture(scope="module")
def both() -> Problem:
    return papers_experiment()


# -- places ---------------------------------------------------------------------------------------


def test_related_executors_share_a_process():
    problem = pipeline(40.0)
    outcome = lcstream(problem)
    assert outcome.placement.workers == ((0, 0),)


def test_a_machine_over_its_threshold_takes_no_part():
    # 2 executors of a and 2 of b at 60 points each. 0.8 * 200 holds two of them, 0.5 * 200 one.
    kind = {"cpu_points": 200.0, "core_points": 100.0}
    graph = topology("a>b", demand_per_s=120.0)
    problem = build(graph, cluster(M1=4, every=kind), profile(a=1.0, b=1.0))
    assert len(lcstream(problem).placement.machines_used) == 2
    outcome = lcstream(problem, threshold=0.5)
    assert len(outcome.placement.machines_used) == 4
    assert assess(problem, outcome.placement, 1.0).machine_cpu.max() == pytest.approx(60.0)


def far_and_near(a_to_far_ms: float, a_to_near_ms: float) -> Problem:
    """Room for one executor per machine; the home region has two machines, the others one."""
    between = (
        ("home", "north", Link(a_to_far_ms)),
        ("home", "south", Link(a_to_near_ms)),
    )
    regions = {"M1-1": "home", "M1-2": "home", "M1-3": "north", "M1-4": "south"}
    network = Network(links((0.0,) * 5).links, between)
    machines = cluster(M1=4, regions=regions, network=network)
    graph = topology("a>b>c", demand_per_s=60.0)
    return build(graph, machines, profile(a=1.0, b=1.0, c=1.0))


def test_the_nearest_region_is_next():
    for north_ms, south_ms, expected in ((30.0, 10.0, "M1-4"), (10.0, 30.0, "M1-3")):
        problem = far_and_near(north_ms, south_ms)
        used = lcstream(problem).placement.machines_used.tolist()
        names = {problem.cluster.machines[machine].name for machine in used}
        assert names == {"M1-1", "M1-2", expected}


def test_without_known_latencies_the_own_region_is_the_nearest():
    """The machine of the other region stands first, and has as much room."""
    regions = {"M1-1": "south", "M1-2": "home", "M1-3": "home"}
    kinds = {"M1": {"cpu_points": 100.0}}
    machines = cluster(M1=3, types=kinds, regions=regions)
    problem = build(topology("a>b", demand_per_s=60.0), machines, profile(a=1.0, b=1.0))
    outcome = lcstream(problem)
    used = {problem.cluster.machines[m].name for m in outcome.placement.machines_used}
    assert used == {"M1-2", "M1-3"}
    assert any(note.startswith("no latency between regions is known") for note in outcome.notes)


def test_the_machine_with_the_most_room_opens():
    kinds = {"M1": {"cpu_points": 100.0}, "M2": {"cpu_points": 300.0}}
    problem = build(
        topology("a", demand_per_s=10.0), cluster(M1=2, M2=1, types=kinds), profile(a=1.0)
    )
    assert machine_names(problem, lcstream(problem).placement, "a") == ["M2-1"]


def test_a_thread_that_would_be_more_than_full_is_refused():
    # 150 tuples/s into one instance: 150 points on a machine of 400 whose cores have 100.
    outcome = lcstream(pipeline(150.0, a={"max_instances": 1}))
    (missing,) = outcome.shortfalls
    assert (missing.resource, missing.component) == ("cpu_points", "a")
    assert (missing.needed, missing.available) == (150.0, 100.0)
    assert outcome.placement is None


def test_memory_is_a_hard_limit():
    # 4 executors of a at 300 MB, one machine of 1000 MB: three fit.
    graph = topology("a", demand_per_s=40.0, a={"instances": 4, "memory_mb": 300.0})
    problem = build(graph, cluster(M1=1, every={"memory_mb": 1000.0}), profile(a=1.0))
    outcome = lcstream(problem)
    (missing,) = outcome.shortfalls
    assert (missing.resource, missing.needed, missing.available) == ("memory_mb", 300.0, 100.0)


def test_a_workers_heap_is_a_hard_limit():
    # One worker per machine and topology with at most 500 MB: one executor of 300 MB each.
    graph = topology(
        "a", demand_per_s=20.0, worker_max_heap_mb=500.0, a={"instances": 2, "memory_mb": 300.0}
    )
    two = build(graph, cluster(M1=2), profile(a=1.0))
    assert len(lcstream(two, sleep=False).placement.workers) == 2
    one = lcstream(build(graph, cluster(M1=1), profile(a=1.0)))
    (missing,) = one.shortfalls
    assert (missing.resource, missing.needed, missing.available) == ("memory_mb", 600.0, 500.0)


def test_a_topology_without_a_slot_is_refused_and_the_urgent_one_is_not():
    graphs = (
        topology("a", name="late", priority=5, demand_per_s=10.0),
        topology("b", name="urgent", demand_per_s=10.0),
    )
    problem = build(graphs, cluster(M1=1, every={"slots": 1}), profile(a=1.0, b=1.0))
    outcome = lcstream(problem)
    assert [(s.topology, s.resource) for s in outcome.shortfalls] == [("late", "slots")]
    assert outcome.placement.counts(2).tolist() == [0, 1]


def test_more_components_than_executors():
    problem = build(
        topology("a>b>c", demand_per_s=1.0), cluster(M1=1), profile(a=1.0, b=1.0, c=1.0)
    )
    (missing,) = lcstream(problem, per_machine=2).shortfalls
    assert missing.resource == "instances"


def test_executors_too_large_for_what_is_left_are_made_smaller():
    # One executor serves 100 tuples/s, so two do for 120, 42 points each. Up to half, 35 points are
    # free on each of three machines: enough in all, and three executors of 28 points fit.
    problem = build(
        topology("a", demand_per_s=120.0), cluster(M1=3, every={"cpu_points": 70.0}), profile(a=0.7)
    )
    assert counts(problem) == [2]
    assert counts(problem, threshold=0.5) == [3]


def test_executors_are_not_made_smaller_where_there_is_no_room_in_all():
    # 84 points needed, 3 * 0.3 * 70 = 63 there.
    problem = build(
        topology("a", demand_per_s=120.0), cluster(M1=3, every={"cpu_points": 70.0}), profile(a=0.7)
    )
    (missing,) = lcstream(problem, threshold=0.3).shortfalls
    assert (missing.resource, missing.needed, missing.available) == ("cpu_points", 42.0, 21.0)


# -- energy ---------------------------------------------------------------------------------------


def idle_pair(**settings: Any) -> tuple[Problem, Outcome]:
    """Two small topologies, each alone on a machine because it opens where there is most room."""
    graphs = [topology("a>b", name=name, demand_per_s=10.0) for name in ("x", "y")]
    kind = {"idle_watts": 50.0, "full_watts": 150.0}
    problem = build(graphs, cluster(M1=4, every=kind), profile(a=0.5, b=0.5))
    return problem, lcstream(problem, **settings)


def test_a_machine_with_little_to_do_is_emptied():
    # 10 of 100 points on each of two machines, both below 0.25: one sleeps, 50 W less.
    problem, awake = idle_pair(sleep=False)
    assert len(awake.placement.machines_used) == 2
    _, asleep = idle_pair()
    assert len(asleep.placement.machines_used) == 1
    watts = [assess(problem, o.placement, 1.0).watts for o in (awake, asleep)]
    assert watts == pytest.approx([50 + 10 + 50 + 10, 50 + 20])
    assert any("1 machines put to sleep (M1-1)" in note for note in asleep.notes)


def test_without_enough_idle_machines_nobody_sleeps():
    # As above with a threshold of 0.05: neither machine counts as idle.
    _, outcome = idle_pair(low=0.05)
    assert len(outcome.placement.machines_used) == 2
    assert any("no machine put to sleep: 0 of 2" in note for note in outcome.notes)


def test_executors_are_given_up_only_within_the_limits():
    # One executor per machine. Four of a at load 1 in all, on machines of 400 points: L = 0.25
    # each, utilisation 6 %. With 2 left L is 0.5; one would have L = 1.
    graph = topology("a", demand_per_s=100.0, a={"instances": 4})
    problem = build(graph, cluster(M1=6, every=FOUR_CORES), profile(a=1.0))
    outcome = lcstream(problem, per_machine=1)
    assert outcome.placement.counts(1).tolist() == [2]
    assert any("0 executors moved, 2 given up" in note for note in outcome.notes)


def test_sleeping_saves_power_in_the_papers_experiment(both):
    quiet = with_demand(both, 500.0)
    awake, asleep = lcstream(quiet, sleep=False), lcstream(quiet)
    judged = [assess(quiet, outcome.placement, 1.0) for outcome in (awake, asleep)]
    assert judged[1].watts < judged[0].watts
    assert judged[1].machine_cpu.max() <= 0.8 * 200.0 + 1e-9
    assert judged[1].sustainable_scale >= 1.0


# -- the paper's experiment ---------------------------------------------------------------------


@pytest.mark.parametrize("per_s", [None, 500.0, 5000.0, 20000.0])
def test_no_machine_is_over_its_threshold_at_the_operating_rate(both, per_s):
    problem = both if per_s is None else with_demand(both, per_s)
    outcome = lcstream(problem)
    assert outcome.feasible
    judged = assess(problem, outcome.placement, operating_scale(outcome, problem))
    assert judged.violations == ()
    assert (judged.machine_cpu <= 0.8 * problem.cluster.usable_cpu + 1e-3).all()
    assert (judged.instance_cpu <= 100.0 + 1e-3).all()
    assert judged.sustainable_scale >= judged.scale * (1 - 1e-6)


def test_queues_and_waits_are_within_the_limits(both):
    outcome = lcstream(both)
    found = outcome.placement.counts(len(both.components)).tolist()
    stations = Stations(both, operating_scale(outcome, both), LatenessLimits(0.8, 0.0))
    assert stations.loads(found).max() <= 0.8 + 1e-6
    assert not any("not reachable" in note for note in outcome.notes)


def test_over_all_rates_fewer_tuples_leave_their_machine_than_with_the_default(both):
    # At a single rate an executor more or less may turn it round.
    parts = [stays(with_demand(both, per_s)) for per_s in (5e3, 1e4, 1.5e4, 2e4, 2.5e4, 2.8e4)]
    ours, dealt = np.mean(parts, axis=0)
    assert ours > dealt


def stays(problem: Problem) -> tuple[float, float]:
    """Traffic within a process or a machine, as a part of all: with lcstream, and the default.

    With the same counts and the same number of workers, as the paper compares.
    """
    placement = lcstream(problem).placement
    owner = problem.topology_of[placement.component]
    graphs = [
        replace(graph, workers=len(np.unique(placement.machine[owner == t])))
        for t, graph in enumerate(problem.topologies)
    ]
    same = build(graphs, problem.cluster, problem.profile)
    same = same.with_counts(placement.counts(len(problem.components)).tolist())
    ours, dealt = assess(problem, placement), assess(same, solve(same, "default").placement)
    part, other = (
        t.unit_traffic.tuples[:2].sum() / t.unit_traffic.tuples.sum() for t in (ours, dealt)
    )
    return part, other


def test_the_notes_say_what_was_assumed(both):
    notes = lcstream(both).notes
    assert "of the upper bound" in notes[0]
    assert "M/M/1 says" in notes[1]
    assert "put to sleep" in notes[2]
    assert lcstream(with_demand(both, 500.0)).notes[0] == "operating rate: the declared demand"


def test_load_is_the_fraction_of_the_bound():
    problem = nasiri("diamond", (10, 10, 10))
    outcome = lcstream(problem, load=0.3)
    assert operating_scale(outcome, problem) == pytest.approx(
        0.3 * upper_bound(problem).scale, rel=1e-4
    )


# -- the rest -------------------------------------------------------------------------------------


def test_the_same_problem_has_the_same_answer(both):
    assert lcstream(both) == lcstream(both)


def test_without_a_profile_it_says_that_it_needs_rates():
    graph = topology("a", a={"cpu_points": 10.0, "instances": 1})
    with pytest.raises(NotMeasuredError, match="arrival and service rates"):
        lcstream(build(graph, cluster(M1=1)))


def test_a_cycle_is_named():
    problem = build(topology("a>b>c>b"), cluster(M1=1), profile(a=1.0, b=1.0, c=1.0))
    with pytest.raises(CycleError, match="cycle"):
        lcstream(problem)


@pytest.mark.parametrize(
    "setting",
    [{"load": 0.0}, {"queue": 1.5}, {"threshold": -1.0}, {"wait_ms": -1.0}, {"per_machine": 0}],
)
def test_settings_that_make_no_sense_are_refused(setting):
    with pytest.raises(InputError, match=next(iter(setting))):
        LcStreamScheduler(**setting)


def test_work_that_costs_nothing_has_no_bound():
    problem = build(topology("a>b"), cluster(M1=2), profile(a=0.0, b=0.0, met=1.0))
    outcome = lcstream(problem)
    assert outcome.feasible
    assert "no bound" in outcome.notes[0]


def test_local_or_shuffle_is_taken_as_shuffle_and_said():
    graph = topology("a>b", streams={"a>b": {"grouping": "local-or-shuffle"}}, demand_per_s=10.0)
    notes = lcstream(build(graph, cluster(M1=2), profile(a=1.0, b=1.0))).notes
    assert notes[-1] == "lcstream takes local-or-shuffle as shuffle"


@pytest.mark.parametrize("iterations", [0, 1, 5])
def test_a_spent_budget_still_gets_an_answer(both, iterations):
    outcome = lcstream(both, iterations)
    assert outcome.interrupted
    assert outcome.iterations == iterations


def test_a_search_that_ends_in_time_is_not_interrupted():
    assert not lcstream(nasiri("linear", (2, 2, 2))).interrupted


@pytest.mark.filterwarnings("error::RuntimeWarning")
@given(drawn=problems())
def test_random_problems_keep_threshold_thread_and_memory(drawn):
    problem = with_demand(drawn, 4.0)
    outcome = lcstream(problem, iterations=500)
    placement = outcome.placement
    if placement is None:
        assert outcome.shortfalls
        return
    judged = assess(problem, placement, 1.0)
    assert judged.violations == ()
    if any(stream.grouping is Grouping.LOCAL_OR_SHUFFLE for stream in problem.streams):
        return  # its division depends on the placement
    assert (judged.machine_cpu <= 0.8 * problem.cluster.usable_cpu + 1e-6).all()
    kind = problem.cluster.type_of[placement.machine]
    thread = problem.instance_points[placement.component, kind]
    assert (judged.instance_cpu <= thread + 1e-6).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_unlike_machines_carry_the_rate_that_was_planned(shape):
    problem = nasiri(shape, (10, 10, 10))
    outcome = lcstream(problem)
    assert outcome.feasible
    carried = assess(problem, outcome.placement).sustainable_scale
    assert carried >= operating_scale(outcome, problem)
    assert carried <= upper_bound(problem).scale


def test_more_work_than_anyone_waits_for_is_refused_with_the_way_out():
    """One component on one machine: an executor x (a machine + 20 x a component), 21 steps."""
    problem = build(topology("a"), cluster(M1=1), profile(a=1.0)).with_counts([1])
    with pytest.raises(InputError, match=r"some 2\.1e\+01 steps, .*--set work=21\)"):
        lcstream(problem, work=20.0)
    assert lcstream(problem, work=21.0).placement is not None


def test_a_queue_that_only_grows_is_said_to_be_unbounded():
    # All 100 tuples/s go to one executor of b, which serves 100: rho = 1.
    notes = lcstream(pipeline(100.0, streams={"a>b": {"grouping": "global"}})).notes
    assert "M/M/1 says L unbounded, W unbounded" in notes[1]
    assert "inf" not in notes[1]


@pytest.mark.parametrize("same_counts", [False, True])
def test_no_contingency_counts_on_a_machine_asleep(same_counts):
    """M1-1 sleeps, and is the first that would take over from M1-2, where everything runs."""
    problem, _ = idle_pair()
    planned = app.plan(problem, "lcstream", if_lost=10, same_counts=same_counts)
    assert planned.outcome.asleep == ("M1-1",)
    (lost,) = (loss for loss in planned.plan.if_lost if loss.machine == "M1-2")
    takes_over = {machine for _, _, machine, _ in lost.moves}
    takes_over |= {machine for _, machine, _ in lost.added}
    assert takes_over
    assert "M1-1" not in takes_over

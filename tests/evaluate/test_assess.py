"""What is said of a placement, in the definitions of the papers."""

import math

import numpy as np
import pytest
from tests.builders import TABLE_3, all_on, cluster, nasiri, place, profile, topology

from penstock.evaluate.assess import assess
from penstock.model.problem import Problem, build

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def test_overall_throughput_counts_every_component():
    # Diamond: 1 + 1 + 1 + 1 + 3 = 7 per tuple/s of input.
    problem = nasiri("diamond", (1, 1, 1))
    assert assess(problem, all_on(problem), scale=10.0).throughput_per_s == pytest.approx(70.0)


def test_ackers_do_not_count():
    graph = topology("a>b a>ack b>ack", ack={"kind": "acker"})
    problem = build(graph, cluster(M1=1), profile(a=1.0, b=1.0, ack=1.0))
    judged = assess(problem, all_on(problem), scale=10.0)
    assert judged.component_rate_per_s.tolist() == [10.0, 10.0, 20.0]
    assert judged.throughput_per_s == pytest.approx(20.0)
    # b feeds only the acker, so it is the sink.
    assert judged.sink_throughput_per_s == pytest.approx(10.0)


def test_sinks_are_summed_and_averaged():
    # Star at 10: both mids take in 10.
    problem = nasiri("star", (1, 1, 1))
    judged = assess(problem, all_on(problem), scale=10.0)
    assert judged.sink_throughput_per_s == pytest.approx(20.0)
    assert judged.mean_sink_throughput_per_s == pytest.approx(10.0)


def test_throughput_per_machine_counts_the_machines_in_use():
    problem = nasiri("linear", (2, 2, 2))
    judged = assess(problem, place(problem, "low M1-1", "mid M1-1", "high M3-2"), scale=10.0)
    assert judged.throughput_per_machine == pytest.approx(15.0)  # 30 over two machines


def test_rates_of_topologies_are_their_demands_times_the_scale():
    graphs = (topology("a", name="x", demand_per_s=30.0), topology("b", name="y", demand_per_s=5))
    problem = build(graphs, cluster(M1=1), profile(a=1.0, b=2.0))
    judged = assess(problem, place(problem, "x/a M1-1/0", "y/b M1-1/1"))
    # 30 s + 2 * 5 s = 100
    assert judged.sustainable_scale == pytest.approx(2.5)
    assert judged.rate_per_s.tolist() == pytest.approx([75.0, 12.5])
    alone = assess(problem, place(problem, "x/a M1-1"), scale=1.0)
    assert alone.rate_per_s.tolist() == [30.0, 0.0]


def test_utilisation_is_of_the_whole_machine():
    problem = build(topology("a"), cluster(M1=1, headroom=0.2), profile(a=1.0))
    judged = assess(problem, all_on(problem))
    assert judged.sustainable_scale == pytest.approx(80.0)
    assert judged.utilisation.tolist() == pytest.approx([0.8])


def test_weighted_utilisation_by_hand():
    # One kind of work, twice as fast on M1: x = (1/1, 1/2) / 1.5 = (2/3, 1/3).
    problem = build(topology("a"), cluster(M1=2, M2=1), profile(a={"M1": 1.0, "M2": 2.0}))
    judged = assess(problem, place(problem, "a M1-1", "a M2-1"), scale=60.0)
    # M1-1 at 30, M1-2 at 0: mean 0.15; M2-1 at 60.
    assert judged.weighted_utilisation == pytest.approx(2 / 3 * 0.15 + 1 / 3 * 0.6)


def test_weighted_utilisation_counts_each_kind_of_work_once():
    # Diamond has three low; they count as one kind beside mid and high.
    problem = nasiri("diamond", (1, 1, 1))
    judged = assess(problem, all_on(problem, machine=1), scale=50.0)
    x_of_m2 = sum(
        (1 / e["M2"]) / sum(1 / points for points in e.values()) for e in TABLE_3.values()
    )
    assert judged.weighted_utilisation == pytest.approx(x_of_m2 / 3 * judged.utilisation[1])


def test_a_cluster_full_everywhere_is_at_one():
    problem = build(topology("a"), cluster(M1=1, M2=1), profile(a={"M1": 1.0, "M2": 4.0}))
    placement = place(problem, "a M1-1", "a M2-1", shares=[0.8, 0.2])
    judged = assess(problem, placement)
    assert judged.sustainable_scale == pytest.approx(125.0)
    assert judged.weighted_utilisation == pytest.approx(1.0)


def test_power_of_the_machines_in_use():
    watts = {"idle_watts": 50.0, "full_watts": 150.0, "price_per_hour": 0.25}
    problem = build(topology("a"), cluster(M1=2, M2=1, types={"M1": watts}), profile(a=1.0))
    half = assess(problem, place(problem, "a M1-1", "a M1-2"), scale=100.0)
    assert half.watts == pytest.approx(2 * (50 + 0.5 * 100))
    assert half.price_per_hour == pytest.approx(0.5)
    assert assess(problem, place(problem, "a M1-1"), scale=50.0).watts == pytest.approx(100.0)
    # Overloaded, a machine takes no more than its full power.
    assert assess(problem, place(problem, "a M1-1"), scale=999.0).watts == pytest.approx(150.0)
    # M2 does not say what it takes.
    unknown = assess(problem, place(problem, "a M1-1", "a M2-1"), scale=1.0)
    assert unknown.watts is None
    assert unknown.price_per_hour is None


@pytest.mark.parametrize(
    ("every", "words"),
    [
        ({}, "CPU of M1-1 (M1), most of it b"),
        ({"core_points": 50.0}, "one instance of b on M1-1 (M1) has its thread full"),
        ({"nic_mbps": 0.001}, "network card of M1-1 (M1), sending"),
    ],
)
def test_the_limit_is_said_in_words(every, words):
    graph = topology("a>b>c", streams={"b>c": {"tuple_bytes": 1000.0}})
    problem = build(graph, cluster(M1=2, every=every), profile(a=1.0, b=2.0, c=1.0))
    judged = assess(problem, place(problem, "a M1-1", "b M1-1", "c M1-2"))
    assert judged.limited_by == words


def free_work() -> Problem:
    # b is reached by nothing, so its rate is 0 and stays so.
    graph = topology("a>b", streams={"a>b": {"selectivity": 0.0}})
    return build(graph, cluster(M1=1), profile(a=0.0, b=0.0, met=5.0))


def test_nothing_limits_what_costs_nothing():
    problem = free_work()
    judged = assess(problem, all_on(problem))
    assert judged.sustainable_scale == math.inf
    assert judged.limited_by == "nothing: no component costs anything per tuple"


def test_without_a_limit_cpu_is_what_idling_costs():
    # 0 points per tuple/s at any rate, however large, are 0 points.
    problem = free_work()
    judged = assess(problem, all_on(problem))
    assert judged.machine_cpu.tolist() == [10.0]
    assert judged.instance_cpu.tolist() == [5.0, 5.0]


def test_without_a_limit_what_is_not_reached_still_gets_nothing():
    problem = free_work()
    rate = assess(problem, all_on(problem)).component_rate_per_s
    np.testing.assert_array_equal(rate, [math.inf, 0.0])

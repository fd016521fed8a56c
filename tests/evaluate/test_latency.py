"""The estimate of a tuple's latency, worked out by hand."""

from __future__ import annotations

import pytest
from tests.builders import cluster, links, place, profile, topology

from penstock.evaluate.assess import assess
from penstock.evaluate.latency import path_latency_ms
from penstock.model.problem import build


def test_alone_on_a_machine_a_tuple_waits_as_in_processor_sharing():
    # 1 point per tuple/s of 100: 10 ms of CPU. At half the sustainable rate the machine is half
    # busy, and processor sharing doubles it: 10 / (1 - 0.5) = 20 ms.
    problem = build(topology("a"), cluster(M1=1), profile(a=1.0))
    judged = assess(problem, place(problem, "a M1-1"))
    assert path_latency_ms(judged, load=0.5) == pytest.approx(20.0)


def test_a_core_is_slower_than_its_machine():
    # A thread has 50 of the 100 points: 20 ms. It is full at 50 tuples/s; at half of that the
    # machine is a quarter busy: 20 / 0.75.
    problem = build(topology("a"), cluster(every={"core_points": 50.0}, M1=1), profile(a=1.0))
    judged = assess(problem, place(problem, "a M1-1"))
    assert path_latency_ms(judged, load=0.5) == pytest.approx(20.0 / 0.75)


def test_headroom_does_not_slow_a_core_down():
    # As above, with a fifth kept free: full at 40 tuples/s, at half of that 20 of 80 points are in
    # use. A tuple still takes 20 ms of the whole core.
    machines = cluster(every={"core_points": 50.0}, M1=1, headroom=0.2)
    problem = build(topology("a"), machines, profile(a=1.0))
    judged = assess(problem, place(problem, "a M1-1"))
    assert judged.scale == pytest.approx(40.0)
    assert path_latency_ms(judged, load=0.5) == pytest.approx(20.0 / 0.75)


def test_the_longest_path_counts_with_its_hops():
    # a > b > d and a > c > d, each alone on a machine; all full at 100/s but d, which takes 200/s
    # and costs half. At half load every machine is half busy: 20 ms each, d 10 ms. Hops of 3 ms.
    graph = topology("a>b>d a>c>d")
    costs = profile(a=1.0, b=1.0, c=1.0, d=0.5)
    machines = cluster(network=links((0.0, 0.0, 3.0, 0.0, 0.0)), M1=4)
    problem = build(graph, machines, costs)
    judged = assess(problem, place(problem, "a M1-1", "b M1-2", "c M1-3", "d M1-4"))
    assert judged.scale == pytest.approx(100.0)
    assert path_latency_ms(judged, load=0.5) == pytest.approx(20 + 3 + 20 + 3 + 10)


def test_without_a_rate_there_is_no_latency():
    problem = build(topology("a"), cluster(M1=1), profile(a=0.0))
    assert path_latency_ms(assess(problem, place(problem, "a M1-1"))) is None

"""A plan looked back at: CPU at the rate that came, and the limit only where it was reached."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.builders import cluster, place, profile, topology

from penstock.change.hindsight import hindsight
from penstock.change.history import (
    APPLIED,
    PROCESSES,
    ROLLED_BACK,
    THREADS,
    Entry,
    Receipt,
    TopologyReceipt,
    WhatRan,
    ends_ms,
)
from penstock.evaluate.predict import predict
from penstock.model.plan import Plan
from penstock.model.problem import build
from penstock.model.profile import WorkerCost

#: a costs 0.1 points per tuple/s and 1 point, b 0.2 and 1; a on M1-1, b on M1-2.
#: M1-2 is full at 0.2 * 495 + 1 = 100 points, so the plan carries 495 tuples/s.
LIMIT = 495.0


def plan(workers: tuple[WorkerCost, ...] = (), shape: str = "a>b") -> Plan:
    costs = replace(profile(a=0.1, b=0.2, met=1.0, on=("M1",)), workers=workers)
    problem = build(topology(shape), cluster(M1=2), costs)
    placement = place(problem, "a M1-1", "b M1-2")
    return Plan(problem, placement, "penstock", predicted=predict(problem, placement)[0])


def applied(made: Plan, began_s: int = 100, **changes) -> Receipt:
    fields = {
        "plan_id": "abcd", "plan": made, "engine": "storm", "outcome": APPLIED,
        "began_s": began_s, "ended_s": began_s + 5, "steps": (TopologyReceipt("t", "t-1-1"),),
    }  # fmt: skip
    return Receipt(**(fields | changes))


def ran(rate: float, **changes) -> WhatRan:
    # At 100/s: a uses 0.1 * 100 + 1 = 11 points, b 0.2 * 100 + 1 = 21.
    fields = {
        "from_ms": 0, "to_ms": 60_000, "stretches": 1,
        "rate_per_s": {("t", "a"): rate, ("t", "b"): rate},
        "held_back": {"t": 0.0}, "queue_fill": {}, "latency_ms": {"t": 4.0},
        "threads_cpu": {"M1-1": 0.1 * rate + 1, "M1-2": 0.2 * rate + 1},
        "processes_cpu": {"M1-1": 0.1 * rate + 5, "M1-2": 0.2 * rate + 5},
    }  # fmt: skip
    return WhatRan(**(fields | changes))


def test_cpu_is_compared_at_the_measured_rate():
    made = plan()
    assert dict(made.predicted.rate_per_s) == pytest.approx({"t": LIMIT})
    found = hindsight(applied(made), ran(100, threads_cpu={"M1-1": 10.0, "M1-2": 21.0}))
    # The plan predicts 50.5 and 100 points at 495/s; at 100/s that is 11 and 21.
    assert [m.expected_cpu_points for m in found.machines] == pytest.approx([11.0, 21.0])
    # 11 predicted of 10 measured is 10 % off; the other is exact; between them lies 5 %.
    assert [m.error for m in found.machines] == pytest.approx([0.1, 0.0])
    assert (found.median_cpu_error, found.worst_cpu_error) == pytest.approx((0.05, 0.1))
    assert found.compared == THREADS


def test_processes_are_compared_where_the_plan_charges_for_them():
    made = plan((WorkerCost("M1", 4.0),))
    found = hindsight(applied(made), ran(100))
    # 11 and 21 points of threads and 4 of each worker, as measured: 15 and 25.
    assert found.compared == PROCESSES
    assert [m.expected_cpu_points for m in found.machines] == pytest.approx([15.0, 25.0])
    assert found.worst_cpu_error == pytest.approx(0.0)
    # Where the processes' CPU was not told, the threads are compared with the threads.
    found = hindsight(applied(made), ran(100, processes_cpu={}))
    assert found.compared == THREADS
    assert [m.expected_cpu_points for m in found.machines] == pytest.approx([11.0, 21.0])


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"held_back": {"t": 0.9}}, "spouts were held back 90 % of the time"),
        ({"queue_fill": {("t", "b"): 0.8}}, "the queues of b were 80 % full"),
        ({"threads_cpu": {"M1-1": 50.0, "M1-2": 98.0}}, "CPU of M1-2 was full"),
    ],
)
def test_a_limit_that_was_reached_is_compared_with_the_one_predicted(changes, why):
    done = applied(plan())
    found = hindsight(done, ran(450, **changes))
    (topology_,) = found.topologies
    assert (topology_.at_limit, topology_.why) == (True, why)
    # 495 predicted, 450 carried: 10 % too much was promised.
    assert Entry(done, found).rate_error(topology_) == pytest.approx(0.1)
    # Both components took in 450 each.
    assert topology_.throughput_per_s == pytest.approx(900)


def test_a_rate_that_was_only_offered_says_nothing_of_the_limit():
    done = applied(plan())
    found = hindsight(done, ran(100))
    (topology_,) = found.topologies
    assert (topology_.at_limit, topology_.why) == (False, "not at its limit")
    assert Entry(done, found).rate_error(topology_) is None


def test_a_topology_that_takes_in_nothing_costs_its_met():
    found = hindsight(applied(plan()), ran(0))
    assert [m.expected_cpu_points for m in found.machines] == pytest.approx([1.0, 1.0])


def test_a_plan_by_requests_predicts_no_cpu():
    problem = build(
        topology("a>b", a={"cpu_points": 10, "instances": 1}, b={"cpu_points": 20, "instances": 1}),
        cluster(M1=2),
    )
    placement = place(problem, "a M1-1", "b M1-2")
    made = Plan(problem, placement, "rstorm", predicted=predict(problem, placement)[0])
    found = hindsight(applied(made), ran(100))
    assert [m.expected_cpu_points for m in found.machines] == [None, None]
    assert found.median_cpu_error is None


def test_a_plan_ends_with_the_next_one_of_its_topology():
    made, others = plan(), plan()
    first, second = applied(made, 100), applied(made, 200, outcome=ROLLED_BACK)
    elsewhere = applied(
        replace(
            others,
            problem=replace(
                others.problem,
                topologies=(replace(others.problem.topologies[0], name="u"),),
            ),
        ),
        150,
    )
    everything = [first, second, elsewhere]
    # That of another topology does not disturb; one that was taken back does.
    assert ends_ms(first, everything) == 200_000
    assert ends_ms(second, everything) is None

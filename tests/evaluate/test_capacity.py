"""The sustainable scale and what limits it, worked out by hand and by what must always hold."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from tests.builders import (
    all_on,
    cluster,
    nasiri,
    nasiri_profile,
    place,
    profile,
    topology,
)
from tests.model.strategies import placed

from penstock.evaluate.assess import assess
from penstock.evaluate.capacity import Resource, capacity, overhead_cpu
from penstock.model.cluster import Machine
from penstock.model.placement import Placement
from penstock.model.problem import Problem, build

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

Case = tuple[Problem, Placement]


def test_linear_on_one_pentium():
    # fixed 3 * 1.5 = 4.5, slope 0.0581 + 0.1030 + 0.1915 = 0.3526 points per tuple/s:
    # (100 - 4.5) / 0.3526 = 270.845...
    problem = build(topology("low>mid>high"), cluster(M1=1), nasiri_profile())
    found = capacity(problem, all_on(problem))
    assert found.scale == pytest.approx(95.5 / 0.3526)
    assert (found.limit.resource, found.limit.index) == (Resource.MACHINE_CPU, 0)
    assert found.machine_fixed.tolist() == [4.5]
    assert found.machine_slope.tolist() == pytest.approx([0.3526])


def test_linear_one_component_per_type():
    # low on M1: 98.5 / 0.0581 = 1695; mid on M2: 98.5 / 0.1844 = 534; high on M3: 98.5 / 0.3207
    # = 307.14..., the least.
    problem = nasiri("linear", (1, 1, 1))
    found = capacity(problem, place(problem, "low M1-1", "mid M2-1", "high M3-1"))
    assert found.scale == pytest.approx(98.5 / 0.3207)
    assert found.limit.index == 2


def test_the_last_bolt_of_the_diamond_weighs_three_times():
    # On M1: 3 low at 1, 1, 3 times the rate, mid and high at 1: 5 * 0.0581 + 0.103 + 0.1915
    # = 0.585; five instances pay 7.5: 92.5 / 0.585.
    problem = nasiri("diamond", (1, 1, 1))
    assert capacity(problem, all_on(problem)).scale == pytest.approx(92.5 / 0.585)


def test_headroom_is_not_used():
    problem = build(topology("a"), cluster(M1=1, headroom=0.25), profile(a=1.0, met=5.0))
    assert capacity(problem, all_on(problem)).scale == pytest.approx(75 - 5)


def test_headroom_is_not_used_by_a_thread_either():
    # A core of 25 points, a fifth of it kept free: (20 - 5) / 1, while the machine has 80.
    machines = cluster(M1=1, headroom=0.2, every={"core_points": 25.0})
    problem = build(topology("a"), machines, profile(a=1.0, met=5.0))
    found = capacity(problem, all_on(problem))
    assert found.scale == pytest.approx(15.0)
    assert found.limit.resource is Resource.THREAD_CPU


def test_the_machine_and_its_workers_cost_before_any_tuple():
    costs = {"base_cpu_points": 10.0, "worker_cpu_points": 4.0}
    problem = build(topology("a>b"), cluster(M1=2, every=costs), profile(a=1.0, b=1.0))
    one = place(problem, "a M1-1", "b M1-1")
    two = place(problem, "a M1-1/0", "b M1-1/1")
    assert overhead_cpu(problem, two).tolist() == [18.0, 0.0]  # M1-2 is not in use
    assert capacity(problem, one).scale == pytest.approx((100 - 10 - 4) / 2)
    assert capacity(problem, two).scale == pytest.approx((100 - 10 - 2 * 4) / 2)


def test_an_instance_is_one_thread():
    # 4 cores of 25: the one instance fills its core at (25 - 5) / 2 = 10 while the machine is idle.
    points = {"core_points": 25.0}
    problem = build(topology("a"), cluster(M1=1, every=points), profile(a=2.0, met=5.0))
    found = capacity(problem, all_on(problem))
    assert found.scale == pytest.approx(10.0)
    assert found.limit.resource is Resource.THREAD_CPU
    # Two threads: (50 - 5) / 2.
    two = build(topology("a", a={"threads": 2}), problem.cluster, problem.profile)
    assert capacity(two, all_on(two)).scale == pytest.approx(22.5)
    # Eight threads are no more than the machine: (100 - 5) / 2.
    eight = build(topology("a", a={"threads": 8}), problem.cluster, problem.profile)
    assert capacity(eight, all_on(eight)).limit.resource is Resource.MACHINE_CPU
    assert capacity(eight, all_on(eight)).scale == pytest.approx(47.5)


def test_tuples_that_cross_a_process_boundary_cost_both_ends():
    problem = build(topology("a>b"), cluster(M1=2), profile(a=1.0, b=2.0, e_remote=0.5))
    together = place(problem, "a M1-1", "b M1-1")
    assert capacity(problem, together).scale == pytest.approx(100 / 3)
    # Apart, b's machine pays 2 + 0.5 per tuple/s and a's 1 + 0.5; two slots of one machine pay all.
    apart = capacity(problem, place(problem, "a M1-1", "b M1-2"))
    assert apart.instance_slope.tolist() == [1.5, 2.5]
    assert apart.scale == pytest.approx(100 / 2.5)
    assert capacity(problem, place(problem, "a M1-1/0", "b M1-1/1")).scale == pytest.approx(25.0)


def test_a_network_card_limits_each_direction_on_its_own():
    # 8 Mb/s is 1e6 bytes/s. a on M1-1 sends 1000 bytes to b on M1-2, b sends 500 back to c.
    streams = {"a>b": {"tuple_bytes": 1000.0}, "b>c": {"tuple_bytes": 500.0}}
    problem = build(
        topology("a>b>c", streams=streams),
        cluster(M1=2, every={"nic_mbps": 8.0}),
        profile(a=1e-6, b=1e-6, c=1e-6),
    )
    found = capacity(problem, place(problem, "a M1-1", "b M1-2", "c M1-1"))
    assert found.scale == pytest.approx(1000.0)  # not 1e6 / 1500: full duplex
    assert (found.limit.resource, found.limit.index) == (Resource.NIC_OUT, 0)


def test_what_is_received_can_be_the_limit():
    # Two senders with fast cards, one receiver with a slow one.
    problem = build(
        topology("a>b", streams={"a>b": {"tuple_bytes": 1000.0}}),
        cluster(M1=2, M2=1, types={"M1": {"nic_mbps": 1000.0}, "M2": {"nic_mbps": 8.0}}),
        profile(a=1e-6, b=1e-6),
    )
    found = capacity(problem, place(problem, "a M1-1", "a M1-2", "b M2-1"))
    assert found.scale == pytest.approx(1000.0)
    assert (found.limit.resource, found.limit.index) == (Resource.NIC_IN, 2)


def test_what_stays_on_the_machine_passes_no_network_card():
    problem = build(
        topology("a>b", streams={"a>b": {"tuple_bytes": 1e9}}),
        cluster(M1=1, every={"nic_mbps": 1.0}),
        profile(a=1.0, b=1.0),
    )
    assert capacity(problem, place(problem, "a M1-1/0", "b M1-1/1")).scale == pytest.approx(50.0)


def test_overheads_that_do_not_fit_leave_nothing():
    problem = build(topology("a>b"), cluster(M1=1), profile(a=1.0, b=1.0, met=51.0))
    assert capacity(problem, all_on(problem)).scale == 0.0


def test_overheads_that_just_fit_leave_nothing_for_tuples():
    problem = build(topology("a>b"), cluster(M1=1), profile(a=1.0, b=1.0, met=50.0))
    assert capacity(problem, all_on(problem)).scale == 0.0


def test_what_costs_nothing_has_no_limit():
    problem = build(topology("a>b"), cluster(M1=1), profile(a=0.0, b=0.0, met=1.0))
    found = capacity(problem, all_on(problem))
    assert found.scale == math.inf
    assert found.limit.resource is Resource.NOTHING


def test_a_machine_nothing_runs_on_cannot_limit():
    # M2 spends more on itself than it has.
    kinds = {"M2": {"base_cpu_points": 150.0}}
    problem = build(topology("a"), cluster(M1=1, M2=1, types=kinds), profile(a=1.0))
    assert capacity(problem, all_on(problem)).scale == pytest.approx(100.0)


@given(placed())
def test_cpu_is_linear_in_the_scale(case: Case):
    problem, placement = case
    once, twice = assess(problem, placement, 7.0), assess(problem, placement, 14.0)
    grown = once.capacity.machine_slope * 7.0
    # A difference of two sums is as exact as the sums, not as the difference.
    worst = 1e-12 * max(1.0, float(twice.machine_cpu.max()))
    np.testing.assert_allclose(twice.machine_cpu - once.machine_cpu, grown, rtol=1e-9, atol=worst)


@given(placed())
def test_at_the_sustainable_scale_nothing_is_over_and_the_limit_is_met_exactly(case: Case):
    problem, placement = case
    judged = assess(problem, placement)
    found = judged.capacity
    assume(0 < found.scale < math.inf)
    kind = problem.cluster.type_of[placement.machine]
    usable = problem.cluster.usable_cpu_per_type[problem.cluster.type_of]
    thread = problem.instance_points[placement.component, kind]
    used = np.isin(np.arange(len(usable)), placement.machine)
    assert (judged.machine_cpu[used] <= usable[used] * (1 + 1e-9)).all()
    assert (judged.instance_cpu <= thread * (1 + 1e-9)).all()
    if found.limit.resource is Resource.MACHINE_CPU:
        assert judged.machine_cpu[found.limit.index] == pytest.approx(usable[found.limit.index])
    if found.limit.resource is Resource.THREAD_CPU:
        assert judged.instance_cpu[found.limit.index] == pytest.approx(thread[found.limit.index])


@given(placed())
def test_one_more_machine_with_nothing_on_it_changes_nothing(case: Case):
    problem, placement = case
    idle = Machine("idle", problem.cluster.types[0].name, "r9", "elsewhere")
    machines = (*problem.cluster.machines, idle)
    larger = replace(problem, cluster=replace(problem.cluster, machines=machines))
    before, after = assess(problem, placement), assess(larger, placement)
    assert after.sustainable_scale == before.sustainable_scale
    assert after.capacity.limit == before.capacity.limit
    # With more regions sums run in another order.
    np.testing.assert_allclose(
        after.unit_traffic.tuples, before.unit_traffic.tuples, rtol=1e-9, atol=1e-9
    )


@given(placed())
def test_machines_in_another_order_give_results_in_that_order(case: Case):
    problem, placement = case
    machines = problem.cluster.machines[::-1]
    turned = replace(problem, cluster=replace(problem.cluster, machines=machines))
    last = len(machines) - 1
    elsewhere = Placement.of(
        placement.component, last - placement.machine, placement.slot, placement.share
    )
    before, after = assess(problem, placement, 2.0), assess(turned, elsewhere, 2.0)
    assert after.sustainable_scale == pytest.approx(before.sustainable_scale, rel=1e-12)
    np.testing.assert_allclose(after.machine_cpu, before.machine_cpu[::-1], rtol=1e-12)
    np.testing.assert_allclose(after.memory_mb, before.memory_mb[::-1], rtol=1e-12)

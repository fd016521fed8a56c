"""The fast evaluator and the plain one of the contract suite agree on random problems."""

import math

import pytest
from hypothesis import given
from tests.model.strategies import placed

from penstock.evaluate.assess import assess
from penstock.evaluate.capacity import capacity
from penstock.evaluate.network import crossings, nic_bytes
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock_bench.contract.reference import Reference

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

Case = tuple[Problem, Placement]
SCALE = 3.0


def same(expected, of: float = 1.0):
    """Equal to 1e-9, measured by the value itself or by the whole it is part of."""
    return pytest.approx(expected, rel=1e-9, abs=1e-9 * of)


@given(placed())
def test_rates_are_those_of_the_reference(case: Case):
    problem, placement = case
    judged = assess(problem, placement, SCALE)
    reference = Reference(problem, placement)
    assert judged.capacity.rates.per_instance.tolist() == same(reference.rates)
    assert judged.component_rate_per_s.tolist() == same(reference.component_rates(SCALE))


@given(placed())
def test_cpu_is_that_of_the_reference(case: Case):
    problem, placement = case
    judged = assess(problem, placement, SCALE)
    reference = Reference(problem, placement)
    each = [reference.instance_cpu(i, SCALE) for i in reference.instances]
    assert judged.machine_cpu.tolist() == same(reference.machine_cpu(SCALE))
    assert judged.instance_cpu.tolist() == same(each)
    crossing = crossings(placement, judged.capacity.rates).tolist()
    total = sum(reference.rates)
    assert crossing == same([i.crossing for i in reference.instances], of=total)


@given(placed())
def test_the_sustainable_scale_is_that_of_the_reference(case: Case):
    problem, placement = case
    found = capacity(problem, placement).scale
    expected = Reference(problem, placement).scale
    assert found == same(expected, of=0.0) or found == expected == math.inf


@given(placed())
def test_traffic_and_latency_are_those_of_the_reference(case: Case):
    problem, placement = case
    traffic = assess(problem, placement, SCALE).unit_traffic
    reference = Reference(problem, placement)
    tuples, size = reference.traffic()
    assert traffic.tuples.tolist() == same(tuples, of=sum(tuples))
    assert traffic.bytes.tolist() == same(size, of=sum(size))
    assert traffic.mean_hop_latency_ms == same(reference.mean_hop_latency_ms())
    distance = sum(hop * count for hop, count in enumerate(tuples))
    assert traffic.mean_distance == same(distance / sum(tuples) if sum(tuples) else 0.0)


@given(placed())
def test_bytes_through_each_network_card_are_those_of_the_reference(case: Case):
    problem, placement = case
    out, into = nic_bytes(problem, placement, capacity(problem, placement).rates)
    reference = Reference(problem, placement)
    expected = [reference.nic_bytes(machine) for machine in problem.cluster.machines]
    total = sum(reference.traffic()[1])
    assert out.tolist() == same([pair[0] for pair in expected], of=total)
    assert into.tolist() == same([pair[1] for pair in expected], of=total)


@given(placed())
def test_memory_power_and_utilisation_are_those_of_the_reference(case: Case):
    problem, placement = case
    judged = assess(problem, placement, SCALE)
    reference = Reference(problem, placement)
    assert judged.memory_mb.tolist() == same(reference.memory_mb())
    expected = reference.watts(SCALE)
    assert judged.watts == (expected if expected is None else same(expected))
    assert judged.weighted_utilisation == same(reference.weighted_utilisation(SCALE))
    over = [v.place for v in judged.violations if v.resource == "MB memory"]
    assert over == reference.machines_over_memory()


@given(placed())
def test_every_throughput_is_that_of_the_reference(case: Case):
    problem, placement = case
    judged = assess(problem, placement, SCALE)
    reference = Reference(problem, placement)
    sinks = reference.sink_rates(SCALE)
    used = {i.machine.name for i in reference.instances}
    throughput = reference.throughput(SCALE)
    assert judged.throughput_per_s == same(throughput)
    assert judged.sink_throughput_per_s == same(sum(sinks))
    assert judged.mean_sink_throughput_per_s == same(sum(sinks) / len(sinks))
    assert judged.throughput_per_machine == same(throughput / len(used))

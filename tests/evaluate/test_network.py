"""Where tuples travel: five hop classes, their latency, and the bytes through network cards."""

import numpy as np
import pytest
from hypothesis import given
from tests.builders import cluster, links, place, profile, topology
from tests.model.strategies import placed

from penstock.evaluate.assess import assess
from penstock.evaluate.network import crossings, nic_bytes
from penstock.evaluate.rates import instance_rates
from penstock.model.cluster import Link, Network
from penstock.model.placement import Placement
from penstock.model.problem import Problem, build

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

#: M1-1 and M1-2 stand in one rack, M1-3 in the next, M1-4 in another region's rack of that name.
PLACES = {
    "racks": {"M1-3": "rack-2"},
    "regions": {"M1-4": "far"},
}
#: One b at each distance from a.
AT_EACH_DISTANCE = ("a M1-1", "b M1-1", "b M1-1/1", "b M1-2", "b M1-3", "b M1-4")


def spread(network: Network, tuple_bytes: float = 0.0, grouping: str = "shuffle") -> Problem:
    stream = {"tuple_bytes": tuple_bytes, "grouping": grouping}
    return build(
        topology("a>b", streams={"a>b": stream}),
        cluster(M1=4, network=network, **PLACES),
        profile(a=1.0, b=1.0),
    )


def test_each_hop_class_gets_what_goes_there():
    problem = spread(Network(), tuple_bytes=100.0)
    judged = assess(problem, place(problem, *AT_EACH_DISTANCE), scale=10.0)
    assert judged.unit_traffic.tuples.tolist() == pytest.approx([0.2] * 5)
    assert judged.unit_traffic.bytes.tolist() == pytest.approx([20.0] * 5)
    assert judged.traffic_per_s.tolist() == pytest.approx([2.0] * 5)
    assert judged.unit_traffic.mean_distance == pytest.approx(2.0)  # (0 + 1 + 2 + 3 + 4) / 5


def test_copies_to_every_instance_are_all_traffic():
    problem = spread(Network(), grouping="all")
    judged = assess(problem, place(problem, *AT_EACH_DISTANCE), scale=1.0)
    assert judged.unit_traffic.tuples.tolist() == pytest.approx([1.0] * 5)


def test_a_hop_takes_its_latency():
    problem = spread(links((0.1, 0.2, 0.5, 2.0, 30.0)))
    judged = assess(problem, place(problem, *AT_EACH_DISTANCE))
    assert judged.mean_hop_latency_ms == pytest.approx((0.1 + 0.2 + 0.5 + 2.0 + 30.0) / 5)


def test_a_hop_takes_the_time_to_send_the_tuple():
    # 1250 bytes are 10,000 bits; at 10 Mb/s that is 1 ms.
    problem = spread(links((0.0, 0.0, 0.0, 0.0, 0.0), bandwidth_mbps=10.0), tuple_bytes=1250.0)
    judged = assess(problem, place(problem, "a M1-1", "b M1-2"))
    assert judged.mean_hop_latency_ms == pytest.approx(1.0)


def test_a_pair_of_regions_has_its_own_link_both_ways():
    network = Network(
        links((0.0, 0.0, 0.0, 0.0, 30.0)).links, (("far", "region-1", Link(80.0, 10.0)),)
    )
    problem = spread(network, tuple_bytes=1250.0)
    there = assess(problem, place(problem, "a M1-1", "b M1-4"))
    back = assess(problem, place(problem, "a M1-4", "b M1-1"))
    assert there.mean_hop_latency_ms == back.mean_hop_latency_ms == pytest.approx(81.0)


def test_without_streams_there_is_no_latency():
    problem = build(topology("a"), cluster(M1=1), profile(a=1.0))
    judged = assess(problem, place(problem, "a M1-1"))
    assert judged.mean_hop_latency_ms == 0.0
    assert judged.unit_traffic.mean_distance == 0.0


def test_what_local_or_shuffle_keeps_is_traffic_inside_the_process():
    problem = spread(links((1.0, 0.0, 7.0, 0.0, 0.0)), grouping="local-or-shuffle")
    # Half of a has a b beside it. The other half, on M1-2, has none: shuffled over the one b.
    placement = place(problem, "a M1-1", "a M1-2", "b M1-1")
    judged = assess(problem, placement, scale=1.0)
    assert judged.unit_traffic.tuples.tolist() == pytest.approx([0.5, 0, 0.5, 0, 0])
    assert judged.mean_hop_latency_ms == pytest.approx(4.0)
    assert crossings(placement, judged.capacity.rates).tolist() == pytest.approx([0, 0.5, 0.5])


def test_bytes_leave_one_card_and_enter_another():
    problem = spread(Network(), tuple_bytes=100.0)
    placement = place(problem, "a M1-1", "b M1-1", "b M1-2", "b M1-3", "b M1-3")
    out, into = nic_bytes(problem, placement, instance_rates(problem, placement))
    # A quarter stays; M1-2 takes a quarter, M1-3 half of the 100 bytes/s.
    assert out.tolist() == pytest.approx([75, 0, 0, 0])
    assert into.tolist() == pytest.approx([0, 25, 50, 0])


@given(placed())
def test_hop_classes_add_up_to_all_tuples_sent(case: tuple[Problem, Placement]):
    problem, placement = case
    judged = assess(problem, placement, scale=1.0)
    rates = judged.capacity.rates
    sent = sum(float(f.sent.sum() * f.division.sum()) for f in rates.flows)
    sent += sum(flow.tuples_per_s for flow in rates.local_flows)
    assert judged.unit_traffic.tuples.sum() == pytest.approx(sent, rel=1e-9)
    assert (judged.unit_traffic.tuples >= 0).all()
    # All that is received, apart from the spouts' own input, was sent.
    received = rates.per_instance.sum() - problem.spout_rate.sum()
    assert received == pytest.approx(sent, rel=1e-9, abs=1e-9 * float(rates.per_instance.sum()))


@given(placed())
def test_bytes_out_of_all_machines_are_bytes_into_all(case: tuple[Problem, Placement]):
    problem, placement = case
    out, into = nic_bytes(problem, placement, instance_rates(problem, placement))
    far = assess(problem, placement, scale=1.0).unit_traffic.bytes[2:].sum()
    np.testing.assert_allclose([out.sum(), into.sum()], far, rtol=1e-9, atol=1e-6)

"""A cluster in arrays: types, racks, regions and the links between them."""

import numpy as np
import pytest
from tests.builders import cluster

from penstock.model.cluster import Cluster, Hop, Link, Machine, MachineType, Network


def test_machines_know_their_type_by_index():
    made = cluster(M1=2, M2=0, M3=1)
    assert made.type_of.tolist() == [0, 0, 2]
    assert made.machines_per_type.tolist() == [2, 0, 1]


def test_racks_of_two_regions_are_never_the_same():
    # M1-1 and M1-3 are both in a "rack-1", but not of the same region.
    made = cluster(M1=3, racks={"M1-2": "rack-2"}, regions={"M1-3": "far"})
    assert made.racks == (("region-1", "rack-1"), ("region-1", "rack-2"), ("far", "rack-1"))
    assert made.rack_of.tolist() == [0, 1, 2]
    assert made.region_of.tolist() == [0, 0, 1]


def test_a_link_between_regions_holds_both_ways_and_the_rest_have_the_usual_one():
    usual = Link(40.0)
    network = Network((Link(), Link(), Link(), Link(), usual), (("x", "y", Link(9.0, 10.0)),))
    assert network.region_link("x", "y") == network.region_link("y", "x") == Link(9.0, 10.0)
    assert network.region_link("x", "z") == usual


def test_a_direction_of_its_own_goes_before_the_other_ones():
    there, back = Link(1.0), Link(2.0)
    network = Network(between_regions=(("x", "y", there), ("y", "x", back)))
    assert network.region_link("x", "y") == there
    assert network.region_link("y", "x") == back


def test_latency_between_regions_as_a_table():
    network = Network(between_regions=(("region-1", "far", Link(7.0)),))
    made = cluster(M1=2, regions={"M1-2": "far"}, network=network)
    assert made.region_latency_ms[0, 1] == made.region_latency_ms[1, 0] == 7.0


def test_headroom_is_taken_off_every_type():
    made = cluster(M1=1, M2=1, headroom=0.25, types={"M2": {"cpu_points": 800.0}})
    assert made.usable_cpu_per_type.tolist() == [75.0, 600.0]


def test_what_a_type_does_not_say_is_missing_not_zero():
    made = cluster(M1=1, M2=1, types={"M2": {"nic_mbps": 100.0}})
    assert np.isnan(made.per_type("nic_mbps")[0])
    assert made.per_type("nic_mbps", 5.0).tolist() == [5.0, 100.0]
    assert made.has_nic
    assert not cluster(M1=1).has_nic


def test_gflops_as_the_thesis_counts_them():
    # Table 3.1, node D: 3.4 GHz * 16 FLOPs per cycle * 4 cores = 217.6.
    kind = MachineType("D", cores=4, ghz=3.4, flops_per_cycle=16)
    assert kind.gflops == pytest.approx(217.6)
    assert MachineType("two", sockets=2, cores=4, ghz=3.4, flops_per_cycle=16).gflops == (
        pytest.approx(435.2)
    )
    assert MachineType("?", cores=4, ghz=3.4).gflops is None


def test_hops_are_ordered_by_distance():
    assert [hop.label for hop in Hop] == [
        "same process",
        "same machine",
        "same rack",
        "other rack",
        "other region",
    ]


def test_arrays_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        cluster(M1=1).type_of[0] = 5


@pytest.mark.parametrize(
    ("types", "machines", "message"),
    [
        (("M1",), (), "no machines"),
        (("M1", "M1"), (("m", "M1"),), "type is named twice"),
        (("M1",), (("m", "M9"),), "unknown types.*M9"),
        (("M1",), (("m", "M1"), ("m", "M1")), "machine is named twice"),
    ],
)
def test_a_cluster_that_makes_no_sense_is_refused(types, machines, message):
    kinds = tuple(MachineType(name) for name in types)
    with pytest.raises(ValueError, match=message):
        Cluster("c", kinds, tuple(Machine(name, kind) for name, kind in machines))


def test_network_classes_carry_their_distance():
    assert [hop.distance for hop in Hop] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert [hop.name for hop in Hop if hop.leaves_machine] == [
        "SAME_RACK",
        "OTHER_RACK",
        "OTHER_REGION",
    ]
    assert Hop(2) is Hop.SAME_RACK

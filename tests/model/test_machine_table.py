"""What agents tell, in a cluster."""

import pytest
from tests.builders import cluster

from penstock.model.cluster import Hop, Link, Network
from penstock.model.machine_record import MachineRecord, RoundTrip
from penstock.model.machine_table import MachineTable, cluster_of, completed

HARDWARE = {"sockets": 1, "cores": 4, "ghz": 3.0, "flops_per_cycle": 16.0, "ram_mb": 8192.0}


def record(machine, time_ms=0, trips=(), host=None, **facts):
    return MachineRecord(machine, host or machine, time_ms, 60_000, facts, tuple(trips))


def trip(machine, least_ms):
    return RoundTrip(machine, 6, 0, least_ms, least_ms + 1)


def test_the_newest_record_says_what_a_machine_is_and_the_mean_what_others_use():
    table = MachineTable.of(
        [
            record("m1", 2, ghz=3.1, other_points=30.0),
            record("m1", 1, ghz=2.9, other_points=10.0),
            record("m1", 0, ghz=2.9),
        ]
    )
    facts = table.machines["m1"]
    assert (facts.facts["ghz"], facts.other_points) == (3.1, 20.0)


def test_a_round_trip_is_the_median_of_the_shortest_of_both_ends():
    table = MachineTable.of(
        [
            record("m1", 0, [trip("m2", 40.0)]),
            record("m1", 1, [trip("m2", 44.0)]),
            record("m2", 0, [trip("m1", 41.0), RoundTrip("m3", 2, 2)]),
        ]
    )
    assert table.round_trip_ms == {("m1", "m2"): 41.0}


def test_hardware_that_the_cluster_does_not_state_is_filled_in():
    told = MachineTable.of([record("M1-1", **HARDWARE, nic_mbps=1000.0)])
    done = completed(cluster(M1=1), told)
    (kind,) = done.cluster.types
    assert (kind.gflops, kind.ram_mb, kind.nic_mbps) == (192.0, 8192.0, 1000.0)
    assert done.remarks == ()


def test_what_is_stated_holds_and_a_difference_is_said():
    told = MachineTable.of([record("M1-1", ghz=2.0)])
    done = completed(cluster(types={"M1": {"ghz": 3.0}}, M1=1), told)
    assert done.cluster.types[0].ghz == 3.0
    (remark,) = done.remarks
    assert remark == "ghz of type M1: 3 is stated, 2 measured; what is stated holds"


def test_machines_of_one_type_that_differ_are_said():
    told = MachineTable.of([record("M1-1", cores=4), record("M1-2", cores=8)])
    done = completed(cluster(M1=2), told)
    assert done.remarks == (
        "machines of type M1 differ in cores: 4 to 8; give them types of their own",
    )


def test_machines_without_an_agent_are_named():
    done = completed(cluster(M1=5), MachineTable.of([record("M1-2", cores=4)]))
    assert done.remarks == ("no agent has told of M1-1, M1-3, M1-4 and 1 more",)


def test_regions_are_apart_by_half_their_measured_round_trip():
    """eu-us 80 and 84 ms: the median is 82, one way 41. Within eu 0.4 ms: one way 0.2."""
    places = {"m1": "eu", "m2": "eu", "m3": "us"}
    trips = {"m1": [trip("m2", 0.4), trip("m3", 80.0)], "m2": [trip("m3", 84.0)], "m3": []}
    told = MachineTable.of([record(m, 0, trips[m], region=places[m]) for m in places])
    done = completed(cluster_of(told), told).cluster
    assert [m.region for m in done.machines] == ["eu", "eu", "us"]
    assert done.network.links[Hop.SAME_RACK].latency_ms == 0.2
    assert done.network.region_link("us", "eu").latency_ms == 41.0


def test_stated_latencies_hold():
    network = Network(between_regions=(("eu", "us", Link(10.0)),))
    regions = {"M1-1": "us", "M1-2": "eu"}
    machines = cluster(M1=2, regions=regions, network=network)
    told = MachineTable.of([record("M1-1", 0, [trip("M1-2", 80.0)])])
    assert completed(machines, told).cluster.network.region_link("eu", "us").latency_ms == 10.0


def test_an_agent_is_known_by_the_host_where_it_goes_by_another_name():
    machines = cluster(M1=1)
    told = MachineTable.of([record("node-7.example", host="M1-1", cores=4)])
    assert completed(machines, told).cluster.types[0].cores == 4


def test_machines_that_are_alike_are_one_type_in_a_cluster_of_agents_alone():
    told = MachineTable.of(
        [
            record("a", **HARDWARE, threads=4),
            record("b", **{**HARDWARE, "ghz": 3.01, "ram_mb": 8190.0}, threads=4),
            record("c", **{**HARDWARE, "ghz": 2.0}, threads=4),
        ]
    )
    made = cluster_of(told)
    assert [(m.name, m.type) for m in made.machines] == [
        ("a", "cpu400"),
        ("b", "cpu400"),
        ("c", "cpu400-2"),
    ]
    assert made.types[0].cpu_points == 400.0
    assert made.types[0].core_points == 100.0
    assert made.types[1].gflops == pytest.approx(128.0)

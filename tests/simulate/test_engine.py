"""The engine on problems small enough to work out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from tests.builders import build, cluster, links, place, profile, topology
from tests.simulate.runs import calm, ran, simulated

from penstock.errors import InputError
from penstock.model.cluster import Hop
from penstock.simulate.scenario import (
    Offered,
    Selectivity,
    ServiceTime,
    Shape,
    Shuffle,
    WhenFull,
)


def chain(shape="a>b", *, streams=None, every=None, e_remote=0.0, met=0.0, machines=2, **rows):
    costs = dict.fromkeys(dict.fromkeys(shape.replace(">", " ").split()), 0.0) | rows
    network = links((0.0, 0.0, 0.0, 0.0, 0.0))
    return build(
        topology(shape, streams=streams),
        cluster(M1=machines, every=every, network=network),
        profile(met=met, e_remote=e_remote, on=("M1",), **costs),
    )


def test_a_lone_tuple_takes_its_work_over_the_points_of_its_machine():
    """e = 2 points per tuple/s on 100 points: 2/100 s = 20 ms."""
    problem = chain(b=2.0)
    result = simulated(problem, place(problem, "a M1-1", "b M1-2"), calm(10))
    assert result.measured.topologies[0].latency_ms == pytest.approx(20.0)
    assert result.measured.components[1].wait_ms == pytest.approx(0.0, abs=1e-9)


def test_fixed_costs_slow_a_tuple_down():
    """met = 20 for each of two instances on one machine leaves 60 points: 2/60 s."""
    problem = chain(b=2.0, met=20.0)
    result = simulated(problem, place(problem, "a M1-1", "b M1-1"), calm(10))
    assert result.measured.topologies[0].latency_ms == pytest.approx(1e3 * 2 / 60)
    # 40 points always, and 10 tuples/s of 2 points.
    assert result.measured.machines[0].utilisation == pytest.approx(0.60, rel=0.02)


def test_two_busy_instances_share_a_machine_evenly():
    """Each tuple goes to b and c at once; both need 1 s of the machine and get half: 2 s."""
    problem = chain("a>b a>c", b=100.0, c=100.0)
    result = simulated(problem, place(problem, "a M1-2", "b M1-1", "c M1-1"), calm(0.1, 100))
    for component in result.measured.components[1:]:
        assert component.stay_ms == pytest.approx(2000.0)


def test_what_one_leaves_goes_to_the_other():
    """b needs 0.5 s alone, c 1 s. Sharing, b is done after 1 s, c has 0.5 s left: 1.5 s."""
    problem = chain("a>b a>c", b=50.0, c=100.0)
    result = simulated(problem, place(problem, "a M1-2", "b M1-1", "c M1-1"), calm(0.1, 100))
    assert [c.stay_ms for c in result.measured.components[1:]] == pytest.approx([1000.0, 1500.0])


def test_a_thread_gets_no_more_than_its_core():
    """400 points, but a thread may use 100: e = 100 takes 1 s, and four of them do not disturb."""
    problem = chain("a>b", b=100.0, every={"cpu_points": 400.0, "core_points": 100.0})
    four = place(problem, "a M1-2", *["b M1-1"] * 4)
    result = simulated(problem, four, calm(3.9, 50))
    assert result.measured.components[1].stay_ms == pytest.approx(1000.0)


def test_crossing_a_process_costs_both_ends():
    """e_remote = 1: the sender pays 10 ms, the receiver 10 ms and its own 20 ms."""
    problem = chain(b=2.0, e_remote=1.0)
    apart = simulated(problem, place(problem, "a M1-1", "b M1-2"), calm(5))
    assert apart.measured.topologies[0].latency_ms == pytest.approx(40.0)
    together = simulated(problem, place(problem, "a M1-1", "b M1-1"), calm(5))
    assert together.measured.topologies[0].latency_ms == pytest.approx(20.0)
    other_process = simulated(problem, place(problem, "a M1-1", "b M1-1/1"), calm(5))
    assert other_process.measured.topologies[0].latency_ms == pytest.approx(40.0)


def test_hops_take_their_latency_and_network_cards_their_time():
    """2 ms to another machine; 1000 bytes at 1 Mb/s are 8 ms out and 8 ms in."""
    problem = build(
        topology("a>b", streams={"a>b": {"tuple_bytes": 1000.0}}),
        cluster(M1=2, every={"nic_mbps": 1.0}, network=links((0.0, 1.0, 2.0, 3.0, 4.0))),
        profile(a=0.0, b=1.0, on=("M1",)),
    )
    result = simulated(problem, place(problem, "a M1-1", "b M1-2"), calm(5))
    assert result.measured.topologies[0].latency_ms == pytest.approx(10 + 2 + 16)
    assert result.measured.network[Hop.SAME_RACK].bytes_per_s == pytest.approx(5000, rel=0.03)
    near = simulated(problem, place(problem, "a M1-1", "b M1-1/1"), calm(5))
    assert near.measured.topologies[0].latency_ms == pytest.approx(10 + 1)


def test_a_full_network_card_is_the_limit():
    """1 Mb/s carries 125 tuples/s of 1000 bytes, however many are offered."""
    problem = build(
        topology("a>b", streams={"a>b": {"tuple_bytes": 1000.0}}),
        cluster(M1=2, every={"nic_mbps": 1.0}),
        profile(a=0.0, b=0.1, on=("M1",)),
    )
    result = simulated(problem, place(problem, "a M1-1", "b M1-2"), calm(300, 40, queue_limit=100))
    assert result.measured.completed_per_s == pytest.approx(125, rel=0.01)


@pytest.mark.parametrize(
    ("grouping", "expected"),
    [
        ("shuffle", [250, 250, 250, 250]),
        ("global", [1000, 0, 0, 0]),
        ("all", [1000, 1000, 1000, 1000]),
        ("direct", [250, 250, 250, 250]),
    ],
)
def test_groupings_divide_as_they_say(grouping, expected):
    problem = chain("a>b", streams={"a>b": {"grouping": grouping}}, b=0.001)
    placement = place(problem, "a M1-1", *["b M1-2"] * 4)
    engine = ran(problem, placement, calm(100, 10.0))
    done = engine.world.instances["came"][1:]
    assert np.abs(done - np.array(expected)).max() <= 3


def test_keys_come_at_random_in_the_parts_of_the_cost_model():
    from penstock.evaluate.division import key_division

    problem = chain("a>b", streams={"a>b": {"grouping": "fields", "keys": 50, "key_skew": 1.0}})
    placement = place(problem, "a M1-1", *["b M1-2"] * 4)
    engine = ran(problem, placement, calm(2000, 20))
    came = engine.world.instances["came"][1:]
    assert came / came.sum() == pytest.approx(key_division(50, 1.0, 4), abs=0.01)


def test_shares_of_a_plan_are_kept_closely():
    problem = chain("a>b", b=0.001)
    shares = [np.nan, 0.5, 0.3, 0.2]
    placement = place(problem, "a M1-1", *["b M1-2"] * 3, shares=shares)
    engine = ran(problem, placement, calm(100, 10.0))
    assert np.abs(engine.world.instances["came"][1:] - [500, 300, 200]).max() <= 6


def test_local_or_shuffle_stays_in_the_process_where_it_can():
    problem = chain("a>b", streams={"a>b": {"grouping": "local-or-shuffle"}}, b=0.001)
    placement = place(problem, "a M1-1", "b M1-1", "b M1-2")
    engine = ran(problem, placement, calm(100, 10))
    assert engine.world.instances["came"][2] == 0


def test_load_aware_shuffle_spares_the_slow_machine():
    """b on M2 is ten times as slow; in turn both would get half and M2 would hold all up."""
    problem = build(
        topology("a>b"),
        cluster(M1=2, M2=1),
        profile(a=0.0, b={"M1": 0.5, "M2": 5.0}, on=("M1", "M2")),
    )
    placement = place(problem, "a M1-2", "b M1-1", "b M2-1")
    scenario = calm(150, 120, queue_limit=100, warmup_s=60.0)
    in_turn = simulated(problem, placement, scenario)
    aware = simulated(
        problem, placement, calm(150, 120, queue_limit=100, warmup_s=60.0,
                                 shuffle=Shuffle.LOAD_AWARE)
    )  # fmt: skip
    # In turn: twice what M2 carries, 2 × 100/5.
    assert in_turn.measured.completed_per_s == pytest.approx(40, rel=0.02)
    assert aware.measured.completed_per_s > 120


@pytest.mark.parametrize("way", list(Selectivity))
def test_a_selectivity_of_a_part_gives_that_many_tuples(way):
    problem = chain("a>b", streams={"a>b": {"selectivity": 2.25}}, b=0.001)
    engine = ran(problem, place(problem, "a M1-1", "b M1-2"), calm(1000, 20.0, selectivity=way))
    came = engine.world.instances["came"]
    tolerance = 1 if way is Selectivity.BATCH else 250
    assert came[1] == pytest.approx(2.25 * came[0], abs=tolerance)


def test_a_full_queue_holds_up_the_spout_and_loses_nothing():
    """b carries 50 tuples/s of 100 offered; the rest waits at the source, due since then."""
    problem = chain(b=2.0)
    result = simulated(problem, place(problem, "a M1-1", "b M1-2"), calm(100, 20, queue_limit=10))
    measured, balance = result.measured, result.balance
    assert measured.completed_per_s == pytest.approx(50, rel=0.02)
    assert (balance.lost, balance.missing) == (0, 0)
    assert balance.at_source == pytest.approx(1000, abs=30)
    # 20 s of backlog at twice the rate: the last done was due 10 s ago.
    last = result.over_time[-1].topologies[0].latency_ms
    assert last == pytest.approx(9_800, rel=0.05)


def test_a_full_queue_drops_where_asked_to():
    problem = chain(b=2.0)
    scenario = calm(100, 20, queue_limit=10, when_full=WhenFull.DROP, acking=False)
    balance = simulated(problem, place(problem, "a M1-1", "b M1-2"), scenario).balance
    assert (balance.at_source, balance.missing) == (0, 0)
    assert balance.lost == pytest.approx(1000, abs=30)


def test_max_spout_pending_bounds_what_is_in_flight():
    problem = chain(b=2.0)
    scenario = calm(100, 20, max_spout_pending=7)
    engine = ran(problem, place(problem, "a M1-1", "b M1-2"), scenario)
    assert engine.world.instances["pending"][0] == 7
    # One of them is served, six wait.
    assert engine.world.instances["queue"][1] == 6


def test_what_times_out_is_sent_again_and_counted():
    """A queue of 2 s behind a time-out of 1 s: everything times out at least once."""
    problem = chain(b=2.0)
    scenario = calm(100, 20, timeout_s=1.0, queue_limit=None)
    result = simulated(problem, place(problem, "a M1-1", "b M1-2"), scenario)
    total = result.runs[0].looks[-1].topologies
    assert total["timed_out"][0] > 0
    assert total["replayed"][0] == total["timed_out"][0]
    assert result.balance.missing == 0
    never = calm(100, 20, timeout_s=1.0, queue_limit=None, replay=False)
    gave_up = simulated(problem, place(problem, "a M1-1", "b M1-2"), never).balance
    assert gave_up.given_up > 0
    assert gave_up.missing == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("service", "variation"),
    [
        (ServiceTime(Shape.DETERMINISTIC), 0.0),
        (ServiceTime(Shape.EXPONENTIAL), 1.0),
        (ServiceTime(Shape.LOGNORMAL, variation=0.5), 0.5),
        # 1 and 3 equally often: mean 2, deviation 1.
        (ServiceTime(Shape.EMPIRICAL, samples=(1.0, 3.0)), 0.5),
    ],
)
def test_service_times_have_their_mean_and_variation(service, variation):
    """One tuple at a time: what it stays is its service time, 10 ms on average."""
    problem = chain(b=1.0)
    scenario = calm(1, 6_000, service=service, sample_s=1.0)
    result = simulated(problem, place(problem, "a M1-1", "b M1-2"), scenario)
    stays = np.array([one.components[1].stay_ms for one in result.over_time])
    stays = stays[np.isfinite(stays)]
    assert stays.mean() == pytest.approx(10.0, rel=0.03)
    assert stays.std() / stays.mean() == pytest.approx(variation, abs=0.05)


def test_several_topologies_share_machines_and_keep_their_own_books():
    one = topology("a>b", name="one", demand_per_s=30.0)
    two = topology("c>d", name="two", demand_per_s=10.0)
    problem = build([one, two], cluster(M1=1), profile(a=0.1, b=0.5, c=0.1, d=1.0, on=("M1",)))
    placement = place(problem, "one/a M1-1", "one/b M1-1", "two/c M1-1/1", "two/d M1-1/1")
    measured = simulated(problem, placement, calm(40, 50)).measured
    rates = [t.completed_per_s for t in measured.topologies]
    assert rates == pytest.approx([30, 10], rel=0.02)


def test_the_same_seed_gives_the_same_result_and_another_another():
    problem = chain(b=2.0)
    placement = place(problem, "a M1-1", "b M1-2")
    scenario = calm(30, 400, service=ServiceTime())  # long enough for every percentile
    one, same, other = (
        simulated(problem, placement, scenario, seed=seed).measured for seed in (1, 1, 2)
    )
    assert one == same
    assert one != other


def test_work_that_costs_nothing_cannot_be_saturated():
    problem = chain("a>b")
    placement = place(problem, "a M1-1", "b M1-2")
    with pytest.raises(InputError, match="nothing limits this plan"):
        simulated(problem, placement, calm(1, offered=Offered(None, None, 10)))
    with pytest.raises(InputError, match="nothing limits this plan"):
        simulated(problem, placement, calm(1, offered=Offered(0.8)))
    assert simulated(problem, placement, calm(10)).measured.topologies[0].latency_ms == 0


def test_stopping_keeps_what_there_is():
    problem = chain(b=2.0)
    asked = []

    def stop() -> bool:
        asked.append(1)
        return len(asked) > 5

    result = simulated(problem, place(problem, "a M1-1", "b M1-2"), calm(10, 100), stop=stop)
    assert result.stopped
    assert 1 < len(result.runs[0].looks) < 20

"""Machines slow down, die and come back, racks are cut off, plans are replaced."""

from __future__ import annotations

import pytest
from tests.builders import build, cluster, place, profile, topology
from tests.simulate.runs import calm, simulated

from penstock import app
from penstock.errors import InputError
from penstock.model.plan import Plan
from penstock.simulate.patterns import Steps
from penstock.simulate.scenario import Arrivals, CutOff, Down, Offered, Replace, Slow


@pytest.fixture
def pair():
    problem = build(
        topology("a>b"),
        cluster(M1=3, racks={"M1-2": "far", "M1-3": "far"}),
        profile(a=0.0, b=1.0, on=("M1",)),
    )
    return problem, place(problem, "a M1-1", "b M1-2")


def completed(result, first, last):
    moments = [m for m in result.over_time if first <= m.from_s and m.until_s <= last]
    return sum(m.completed_per_s for m in moments) / len(moments)


def test_a_slow_machine_carries_its_part(pair):
    """b carries 100/s, at half its speed 50/s; 80/s are offered."""
    result = simulated(*pair, calm(80, 60, changes=(Slow(20.0, "M1-2", 0.5, 40.0),)))
    assert completed(result, 10, 20) == pytest.approx(80, rel=0.02)
    assert completed(result, 25, 40) == pytest.approx(50, rel=0.02)
    # 20 s × 30/s are to be caught up with at 20/s more.
    assert completed(result, 40, 60) == pytest.approx(100, rel=0.02)


def test_a_dead_machine_loses_what_it_had_and_acking_brings_it_back(pair):
    scenario = calm(
        50, 60, timeout_s=2.0, max_spout_pending=50, changes=(Down(20.0, "M1-2", 30.0),)
    )
    result = simulated(*pair, scenario)
    assert completed(result, 22, 29) == 0
    assert result.balance.completed == pytest.approx(3000, abs=5)
    assert result.balance.missing == 0
    # 50 pending at a time, lost and timed out every two seconds of the ten.
    assert result.runs[0].looks[-1].topologies["timed_out"][0] == pytest.approx(250, abs=50)


def test_replays_without_a_limit_on_pending_tuples_never_end(pair):
    """A queue longer than the time-out, made of replays, makes more replays: it stays that way.

    500 tuples come back within 2 s of the machine's return, beside 50/s, for 100/s: what is
    handled has timed out already.
    """
    scenario = calm(50, 120, timeout_s=2.0, changes=(Down(20.0, "M1-2", 30.0),))
    result = simulated(*pair, scenario)
    assert completed(result, 90, 120) < 25
    assert result.runs[0].looks[-1].topologies["late"][0] > 1000
    assert result.balance.missing == 0


def test_without_acking_what_a_dead_machine_had_is_lost(pair):
    result = simulated(*pair, calm(50, 60, acking=False, changes=(Down(20.0, "M1-2", 30.0),)))
    assert result.balance.lost == pytest.approx(500, abs=5)
    assert result.balance.missing == 0


def test_a_dead_spout_finds_its_tuples_at_the_source(pair):
    """They were due all the time: the k-th is done at 30 + k/100 s and was due at 20 + k/50 s."""
    result = simulated(*pair, calm(50, 60, changes=(Down(20.0, "M1-1", 30.0),)))
    assert result.balance.completed == pytest.approx(3000, abs=5)
    assert result.over_time[30].topologies[0].latency_p50_ms == pytest.approx(9_500, rel=0.01)


def test_a_rack_cut_off_gets_nothing_from_outside(pair):
    result = simulated(*pair, calm(50, 30, acking=False, changes=(CutOff(10.0, "far", 20.0),)))
    assert result.balance.lost == pytest.approx(500, abs=5)
    assert completed(result, 21, 30) == pytest.approx(50, rel=0.05)


def test_a_plan_replaced_in_the_middle_carries_what_it_promises(pair):
    """One instance carries 100/s, two on two machines 200/s; 150/s are offered."""
    problem, placement = pair
    wider = Plan(problem, place(problem, "a M1-1", "b M1-2", "b M1-3"), "by hand")
    scenario = calm(150, 60, max_spout_pending=20, changes=(Replace(20.0, wider, 2.0),))
    result = simulated(problem, placement, scenario)
    assert completed(result, 10, 20) == pytest.approx(100, rel=0.02)
    assert completed(result, 20.5, 22) == pytest.approx(0, abs=25)
    assert completed(result, 25, 40) == pytest.approx(200, rel=0.02)
    assert result.balance.lost == 0
    assert result.balance.missing == 0


def test_a_new_plan_may_have_many_more_spouts(pair):
    """3000 spout instances start at once, more than the table of roots had room for."""
    problem, placement = pair
    many = Plan(problem, place(problem, *["a M1-1"] * 3000, "b M1-2"), "by hand")
    scenario = calm(300, 40, max_spout_pending=1, changes=(Replace(20.0, many),))
    result = simulated(problem, placement, scenario)
    assert completed(result, 25, 40) == pytest.approx(100, rel=0.02)
    assert result.balance.missing == 0


def test_a_new_plan_is_offered_what_the_old_one_would_have_been(pair):
    """100/s until 10 s, then 20/s; the plan is replaced at 20 s. 1000 + 50 × 20 in all."""
    problem, placement = pair
    offered = Offered(None, 100.0, None, Steps(((0.0, 1.0), (10.0, 0.2))), Arrivals.EVEN)
    same = Plan(problem, placement, "by hand")
    result = simulated(
        problem, placement, calm(1, 60, offered=offered, changes=(Replace(20.0, same),))
    )
    assert result.balance.offered == pytest.approx(2000, abs=5)
    rates = [one.topologies[0].offered_per_s for one in result.over_time[15:]]
    assert max(rates) <= 22


def test_without_a_pause_what_is_in_flight_is_sent_again(pair):
    problem, placement = pair
    moved = Plan(problem, place(problem, "a M1-1", "b M1-3"), "by hand")
    scenario = calm(150, 60, max_spout_pending=20, timeout_s=3.0,
                    changes=(Replace(20.0, moved),))  # fmt: skip
    result = simulated(problem, placement, scenario)
    assert result.runs[0].looks[-1].topologies["timed_out"][0] == 20
    assert result.balance.missing == 0


def test_everything_that_does_not_exist_is_named_at_once(pair):
    other = app.plan(app.problem("linear", "nasiri-testbed"), "hetero").plan
    changes = (Down(1.0, "M1-9"), CutOff(1.0, "near"), Replace(2.0, other))
    with pytest.raises(InputError) as caught:
        simulated(*pair, calm(10, 10, changes=changes))
    text = str(caught.value)
    assert 'changes[0].down: no machine "M1-9"; did you mean' in text
    assert 'changes[1].cut_off: no rack "near"' in text
    assert "changes[2].replace: is of other components" in text

"""Our own scheduler under terms: fewest machines, prices, watts, places, moves, priorities."""

from dataclasses import replace

import numpy as np
import pytest
from tests.builders import cluster, machine_names, nasiri, profile, solve, topology

from penstock import app
from penstock.evaluate.capacity import capacity
from penstock.evaluate.limits import violations
from penstock.evaluate.network import traffic
from penstock.evaluate.terms import changes_between, held_as_table, held_table
from penstock.model.problem import Problem, build
from penstock.model.terms import Held, Least, Terms, held_by
from penstock.schedulers.penstock.terms.fewest import choose_machines, prices_of


def planned(problem: Problem, terms: Terms):
    outcome = solve(problem.with_terms(terms), "penstock")
    if outcome.placement is not None:
        assert not violations(problem.with_terms(terms), outcome.placement)
    return outcome


# -- a rate with as little as possible -------------------------------------------------------------


@pytest.mark.slow
def test_a_rate_takes_no_more_machines_than_it_needs():
    # a costs 1 point per tuple/s: 250 tuples/s fill two machines and half a third.
    problem = build(topology("a"), cluster(M1=10), profile(a=1.0))
    outcome = planned(problem, Terms(carry_per_s=250.0, least=(Least.MACHINES,)))
    assert len(outcome.placement.machines_used) == 3
    assert capacity(problem, outcome.placement).scale >= 250.0
    assert outcome.notes == ("3 machines carry 250 tuples/s; no plan can with less than 3",)


@pytest.mark.slow
def test_the_cheaper_type_is_taken_when_it_costs_less_per_tuple():
    # Per tuple/s M1 costs 1 point of 10/h, M2 2 points of 3/h: M2 is cheaper for 100 tuples/s
    # (2 machines, 6/h, against one M1, 10/h), though it takes more machines.
    problem = build(
        topology("a"),
        cluster(M1=4, M2=4, types={"M1": {"price_per_hour": 10.0}, "M2": {"price_per_hour": 3.0}}),
        profile(a={"M1": 1.0, "M2": 2.0}),
    )
    cheap = planned(problem, Terms(carry_per_s=100.0, least=(Least.PRICE,)))
    assert {name[:2] for name in machine_names(problem, cheap.placement, "a")} == {"M2"}
    assert len(cheap.placement.machines_used) == 2
    few = planned(problem, Terms(carry_per_s=100.0, least=(Least.MACHINES,)))
    assert [name[:2] for name in machine_names(problem, few.placement, "a")] == ["M1"]


@pytest.mark.slow
def test_watts_count_idle_power_and_work():
    # M1: 100 W idle, 200 W full; M2: 10 W idle, 250 W full. 50 tuples/s: M1 150 W, M2 130 W.
    problem = build(
        topology("a"),
        cluster(
            M1=1,
            M2=1,
            types={
                "M1": {"idle_watts": 100.0, "full_watts": 200.0},
                "M2": {"idle_watts": 10.0, "full_watts": 250.0},
            },
        ),
        profile(a={"M1": 1.0, "M2": 1.0}),
    )
    outcome = planned(problem, Terms(carry_per_s=50.0, least=(Least.ENERGY,)))
    assert machine_names(problem, outcome.placement, "a") == ["M2-1"]
    assert outcome.notes[0].startswith("130 watts carry 50 tuples/s")


def test_the_proof_of_how_few_it_takes_counts_whole_machines():
    problem = build(topology("a"), cluster(M1=10), profile(a=1.0))
    prices = prices_of(problem, Least.MACHINES)
    least, number = choose_machines(problem, 250.0, prices)
    assert least == pytest.approx(3.0)
    assert number.tolist() == [3]
    assert choose_machines(problem, 1001.0, prices) == (np.inf, None)


def test_a_saving_the_cluster_has_no_prices_for_is_left_with_a_note():
    problem = build(topology("a"), cluster(M1=2), profile(a=1.0))
    outcome = planned(problem, Terms(least=(Least.PRICE,)))
    assert outcome.notes == ("price cannot be saved: the cluster does not say what it costs",)


@pytest.mark.slow
def test_savings_after_the_highest_rate_cost_no_more_than_may_be_given_up():
    problem = nasiri("linear", (3, 3, 3))
    most = capacity(problem, solve(problem, "penstock").placement).scale
    outcome = planned(problem, Terms(least=(Least.MACHINES,), give_up=0.2))
    assert len(outcome.placement.machines_used) < 9
    assert capacity(problem, outcome.placement).scale >= 0.8 * most * (1 - 1e-9)


def test_a_rate_that_is_not_reached_comes_with_the_best_plan():
    problem = build(topology("a"), cluster(M1=2), profile(a=1.0))
    outcome = planned(problem, Terms(carry_per_s=201.0))
    assert not outcome.feasible
    assert str(outcome.missed[0]) == "needs 201 tuples/s, 200 available"
    assert outcome.placement is not None
    assert capacity(problem, outcome.placement).scale == pytest.approx(200.0)


# -- traffic ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_instances_come_nearer_for_as_much_of_the_rate_as_may_be_given_up():
    # Four a and four b in two racks of two machines, 200 tuples/s. One of each on every machine:
    # a quarter of the tuples stays, a quarter goes next door (2), half to the other rack (3).
    racks = {"M1-1": "r1", "M1-2": "r1", "M1-3": "r2", "M1-4": "r2"}
    problem = build(topology("a>b"), cluster(M1=4, racks=racks), profile(a=1.0, b=1.0))

    def planned_nearer(give_up):
        placement = planned(problem, Terms(least=(Least.TRAFFIC,), give_up=give_up)).placement
        found = capacity(problem, placement)
        return traffic(problem, placement, found.rates).mean_distance, found.scale

    assert planned_nearer(0.0) == pytest.approx((2.0, 200.0))
    # Half the rate fits one rack: half of the tuples stay; a quarter of it one machine.
    assert planned_nearer(0.5) == pytest.approx((1.0, 100.0))
    assert planned_nearer(0.9) == pytest.approx((0.0, 50.0))


# -- places and moves ------------------------------------------------------------------------------


@pytest.mark.slow
def test_terms_on_places_are_kept_and_the_rest_planned_around_them():
    problem = nasiri("linear", (2, 2, 2))
    terms = Terms(
        avoid=("M1-1",), apart=(("low", "mid"),), fixed=(Held("high", "M3-2"), Held("low", "M2-1"))
    )
    placement = planned(problem, terms).placement
    assert "M1-1" not in {problem.cluster.machines[m].name for m in placement.machines_used}
    assert "M3-2" in machine_names(problem, placement, "high")
    assert "M2-1" in machine_names(problem, placement, "low")
    assert not set(machine_names(problem, placement, "low")) & set(
        machine_names(problem, placement, "mid")
    )


@pytest.mark.slow
def test_apart_is_kept_with_too_many_components_to_list_patterns():
    graph = topology(">".join(chr(97 + i) for i in range(12)))
    costs = {chr(97 + i): 0.1 + 0.01 * i for i in range(12)}
    problem = build(graph, cluster(M1=8), profile(met=0.5, **costs))
    placement = planned(problem, Terms(apart=(("a", "b"), ("c", "c")))).placement
    assert placement is not None
    assert capacity(problem, placement).scale > 0


@pytest.mark.slow
def test_moves_are_counted_and_their_limit_costs_what_the_note_says():
    problem = nasiri("linear", (2, 2, 2))
    now = solve(problem, "hetero").placement
    current = held_by(problem, now.component.tolist(), now.machine.tolist())
    rates = []
    for most in (0, 2, 4, 100):
        outcome = planned(problem, Terms(current=current, most_moves=most))
        changed = changes_between(
            held_as_table(problem, current), held_table(problem, outcome.placement)
        )
        assert changed <= most
        rates.append(capacity(problem, outcome.placement).scale)
    assert rates[0] == pytest.approx(capacity(problem, now).scale)
    assert rates == sorted(rates)
    free = capacity(problem, solve(problem, "penstock").placement).scale
    assert rates[-1] == pytest.approx(free)


def test_a_plan_that_may_change_freely_still_leaves_what_it_can_where_it_is():
    # Two a's fill two of four like machines: those that have them now keep them.
    problem = build(
        topology("a", a={"instances": 2, "max_instances": 2}), cluster(M1=4), profile(a=1.0)
    )
    current = (Held("a", "M1-3"), Held("a", "M1-4"))
    placement = planned(problem, Terms(current=current)).placement
    assert machine_names(problem, placement, "a") == ["M1-3", "M1-4"]


# -- priorities ------------------------------------------------------------------------------------


def two(first: float, second: float) -> Problem:
    """Two topologies of one component on 200 points; the first comes first."""
    return build(
        (
            topology("a", name="first", demand_per_s=first),
            topology("b", name="second", demand_per_s=second, priority=1),
        ),
        cluster(M1=2),
        profile(a=1.0, b=1.0),
    )


@pytest.mark.slow
def test_when_all_demands_are_carried_priorities_change_nothing():
    made = app.plan(two(90.0, 60.0), "penstock")
    assert made.problem.terms.weights == ()
    assert made.facts.scale >= 1.0


@pytest.mark.slow
def test_the_demand_of_the_first_is_carried_before_the_second_gets_more():
    made = app.plan(two(100.0, 300.0), "penstock")
    rates = dict(made.plan.predicted.rate_per_s)
    assert rates["first"] >= 100.0 * (1 - 1e-9)
    # A machine is left for the second.
    assert 80.0 <= rates["second"] <= 101.0
    assert made.facts.scale < 1.1


def test_without_priorities_all_are_cut_alike():
    problem = two(100.0, 300.0)
    alike = tuple(replace(t, priority=0) for t in problem.topologies)
    made = app.plan(replace(problem, topologies=alike), "penstock")
    rates = dict(made.plan.predicted.rate_per_s)
    assert rates["second"] == pytest.approx(3 * rates["first"])


# -- found in review -------------------------------------------------------------------------------


@pytest.mark.slow
def test_fixed_instances_that_break_memory_at_first_find_their_room():
    # Two b's must be on M1-1, which has memory for two instances: a has to go elsewhere.
    problem = build(
        topology("a>b", a={"memory_mb": 50.0}, b={"memory_mb": 50.0}),
        cluster(M1=2, every={"memory_mb": 100.0}),
        profile(a=1.0, b=1.0),
    )
    placement = planned(problem, Terms(fixed=(Held("b", "M1-1", 2),))).placement
    assert machine_names(problem, placement, "b")[:2] == ["M1-1", "M1-1"]
    assert set(machine_names(problem, placement, "a")) == {"M1-2"}


@pytest.mark.slow
def test_more_fixed_instances_than_fit_are_a_shortfall():
    problem = nasiri("linear", (1, 1, 1))
    outcome = planned(problem, Terms(fixed=(Held("high", "M1-1", 99),)))
    assert outcome.placement is None
    (missing,) = outcome.shortfalls
    assert (missing.resource, missing.machine, missing.available) == ("cpu_points", "M1-1", 100.0)
    assert missing.needed >= 148.5  # 99 at 1.5 points each


@pytest.mark.slow
def test_what_was_saved_stays_saved_when_instances_are_fixed():
    problem = build(topology("a>b"), cluster(M1=6), profile(a=1.0, b=0.5))
    terms = Terms(carry_per_s=90.0, least=(Least.MACHINES,), fixed=(Held("b", "M1-5"),))
    outcome = planned(problem, terms)
    # 135 points: two machines, and M1-5 has to be one of them or a third.
    used = len(outcome.placement.machines_used)
    assert used <= 3
    assert outcome.notes[-1].startswith(f"{used} machines carry 90 tuples/s")


@pytest.mark.slow
def test_a_saving_without_prices_does_not_keep_later_ones_from_being_made():
    problem = build(topology("a"), cluster(M1=6), profile(a=1.0))
    outcome = planned(problem, Terms(carry_per_s=150.0, least=(Least.PRICE, Least.MACHINES)))
    assert len(outcome.placement.machines_used) == 2


def test_a_rate_asked_for_leaves_priorities_alone():
    problem = two(100.0, 300.0).with_terms(Terms(carry_per_s=40.0))
    rates = dict(app.plan(problem, "penstock").plan.predicted.rate_per_s)
    assert rates == {"first": pytest.approx(10.0), "second": pytest.approx(30.0)}


@pytest.mark.slow
def test_a_cut_demand_is_said():
    made = app.plan(two(100.0, 300.0), "penstock")
    assert made.plan.notes[-1].startswith("not all demands can be carried; by priority")


@pytest.mark.slow
def test_a_latency_no_rate_can_keep_is_a_shortfall():
    problem = build(topology("a>b"), cluster(M1=2), profile(a=1.0, b=1.0))
    outcome = planned(problem, Terms(latency_ms=(("t", 5.0),)))
    # 10 ms of CPU at a and at b, alone on an idle machine.
    assert outcome.placement is None
    assert str(outcome.shortfalls[0]) == "needs 20 ms from spout to sink, 5 available"


@pytest.mark.slow
def test_instances_of_an_avoided_machine_move_for_nothing():
    problem = build(topology("a>b"), cluster(M1=3), profile(a=1.0, b=1.0))
    current = (Held("a", "M1-1"), Held("b", "M1-2"))
    terms = Terms(current=current, most_moves=0, avoid=("M1-1",))
    placement = planned(problem, terms).placement
    assert machine_names(problem, placement, "b") == ["M1-2"]
    assert machine_names(problem, placement, "a") == ["M1-3"]


def test_a_lost_machine_is_judged_without_a_limit_on_moves():
    problem = build(topology("a"), cluster(M1=2), profile(a=1.0))
    current = (Held("a", "M1-1"), Held("a", "M1-2"))
    terms = Terms(current=current, most_moves=0, fixed=(Held("a", "M1-1"),))
    made = app.plan(problem.with_terms(terms), "penstock", if_lost=10)
    assert [lost.rate_left_per_s for lost in made.plan.if_lost] == pytest.approx([100.0, 100.0])


@pytest.mark.slow
def test_keys_that_are_not_alike_are_planned_by_the_cost_model_itself():
    """The search over patterns takes keys for alike; ahead of all others nonetheless."""
    problem = app.problem("topn")
    ours = app.plan(problem, "penstock").facts.scale
    assert ours >= max(app.plan(problem, name).facts.scale for name in ("hetero", "lcstream"))

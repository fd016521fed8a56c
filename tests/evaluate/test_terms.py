"""Terms, each broken once; the rate a plan is run at when a rate or a latency is asked for."""

import pytest
from tests.builders import cluster, links, place, profile, topology

from penstock.errors import InputError
from penstock.evaluate.agreed import agreed_scale, held_back_by
from penstock.evaluate.assess import assess
from penstock.evaluate.limits import violations
from penstock.evaluate.predict import predict
from penstock.evaluate.violation import Violation
from penstock.model.problem import Problem, build
from penstock.model.terms import Held, Least, Terms


def chain(terms: Terms, **options: object) -> Problem:
    """a and b cost a point per tuple/s each."""
    made = build(topology("a>b"), cluster(M1=3, **options), profile(a=1.0, b=1.0))
    return made.with_terms(terms)


def test_an_avoided_machine_in_use_is_a_broken_limit():
    problem = chain(Terms(avoid=("M1-2",)))
    assert violations(problem, place(problem, "a M1-1", "b M1-3")) == ()
    found = violations(problem, place(problem, "a M1-1", "b M1-2"))
    assert found == (Violation("instances where none are allowed", "M1-2", 1.0, 0.0),)


def test_components_apart_share_no_machine():
    problem = chain(Terms(apart=(("a", "b"),)))
    assert violations(problem, place(problem, "a M1-1", "b M1-2")) == ()
    found = violations(problem, place(problem, "a M1-1", "b M1-1"))
    assert [v.place for v in found] == ["M1-1"]


def test_a_component_apart_from_itself_is_once_on_each_machine():
    problem = chain(Terms(apart=(("b", "b"),)))
    assert violations(problem, place(problem, "a M1-1", "b M1-1", "b M1-2")) == ()
    assert len(violations(problem, place(problem, "a M1-1", "b M1-1", "b M1-1"))) == 1


def test_fixed_instances_are_at_least_so_many():
    problem = chain(Terms(fixed=(Held("b", "M1-3", 2),)))
    assert violations(problem, place(problem, "a M1-1", "b M1-3", "b M1-3", "b M1-1")) == ()
    found = violations(problem, place(problem, "a M1-1", "b M1-3"))
    assert found == (Violation("instances of b fixed", "M1-3", 2.0, 1.0),)


def test_moved_added_and_dropped_instances_count_alike():
    current = (Held("a", "M1-1", 2), Held("b", "M1-2"))
    problem = chain(Terms(current=current, most_moves=1))
    # One a dropped: one change. One a dropped and b moved: two.
    assert violations(problem, place(problem, "a M1-1", "b M1-2")) == ()
    found = violations(problem, place(problem, "a M1-1", "b M1-3"))
    assert found == (Violation("instances changed", "plan in force", 2, 1),)


def test_instances_in_force_on_machines_that_are_gone_are_no_changes_to_count():
    problem = chain(Terms(current=(Held("a", "gone-1"), Held("b", "M1-2")), most_moves=1))
    assert violations(problem, place(problem, "a M1-1", "b M1-2")) == ()


def test_a_plan_is_run_at_the_rate_asked_for_if_it_carries_that():
    problem = chain(Terms(carry_per_s=40.0))
    placement = place(problem, "a M1-1", "b M1-2")
    judged = assess(problem, placement)
    assert judged.sustainable_scale == pytest.approx(100.0)
    assert agreed_scale(judged) == 40.0
    assert held_back_by(judged) == "the rate asked for; it could carry 100 tuples/s"
    predicted, _ = predict(problem, placement, 40.0, "the rate asked for")
    assert predicted.rate_per_s == (("t", 40.0),)
    assert [load.cpu_points for load in predicted.machines] == [40.0, 40.0]


def test_a_latency_limit_holds_the_rate_back():
    # Alone a tuple takes 1 point / 100 points = 10 ms at a and at b, 20 ms in all, and at
    # utilisation u twice 10 / (1 - u). 50 ms: u = 0.6.
    problem = chain(Terms(latency_ms=(("t", 50.0),)))
    judged = assess(problem, place(problem, "a M1-1", "b M1-2"))
    assert agreed_scale(judged) == pytest.approx(60.0, rel=1e-5)
    assert held_back_by(judged).startswith("the latency limit of t;")


def test_a_latency_below_what_the_network_takes_leaves_nothing():
    problem = chain(Terms(latency_ms=(("t", 15.0),)), network=links((0, 0, 30, 0, 0)))
    assert agreed_scale(assess(problem, place(problem, "a M1-1", "b M1-2"))) == 0.0


def test_wrong_names_and_numbers_are_told_all_at_once():
    terms = Terms(
        carry_per_s=-1.0,
        avoid=("M9",),
        apart=(("a", "c"),),
        fixed=(Held("b", "M1-1", 0),),
        latency_ms=(("x", 5.0),),
        most_moves=3,
        weights=(("t", float("nan")),),
    )
    with pytest.raises(InputError) as error:
        chain(terms)
    fields = sorted(finding.field for finding in error.value.findings)
    assert fields == sorted(
        ["apart", "avoid", "carry_per_s", "instances", "latency_ms", "most_moves", "weights"]
    )


def test_a_machine_cannot_be_avoided_and_have_instances_fixed_on_it():
    with pytest.raises(InputError, match="avoided as well"):
        chain(Terms(avoid=("M1-1",), fixed=(Held("a", "M1-1"),)))


def test_avoiding_every_machine_is_refused():
    with pytest.raises(InputError, match="leaves no machine"):
        chain(Terms(avoid=("M1-1", "M1-2", "M1-3")))


def test_savings_need_rates():
    graph = topology("a>b", a={"cpu_points": 1.0}, b={"cpu_points": 1.0})
    with pytest.raises(InputError, match="without a profile"):
        build(graph, cluster(M1=1)).with_terms(Terms(least=(Least.MACHINES,)))


def test_weights_multiply_demands():
    two = (
        topology("a>b", name="x", demand_per_s=10.0),
        topology("a>b", name="y", demand_per_s=4.0),
    )
    problem = build(two, cluster(M1=1), profile(a=1.0, b=1.0))
    assert problem.with_terms(Terms(weights=(("y", 0.5),))).demand.tolist() == [10.0, 2.0]

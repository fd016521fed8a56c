"""Costs measured on one machine type, estimated for others by their speed."""

from __future__ import annotations

from dataclasses import replace
from math import expm1, hypot, log, sqrt

import pytest
from tests.builders import cluster, topology

from penstock.errors import InputError, MissingCostsError, UnknownNameError
from penstock.model.problem import build
from penstock.model.profile import Cost, Origin, Profile, SpeedBasis, WorkerCost
from penstock.model.speed import DOUBT, estimate_by_speed, relative_speeds

LOCAL = Profile("local", (Cost("a", "any", e=0.5, met=2.0, e_remote=0.1, e_error=0.05),))
STATED = cluster(M1=1, M2=1, types={"M1": {"speed": 2.0}, "M2": {"speed": 0.5}})


def factors(machines, measured_on="any"):
    return {name: s.factor for name, s in relative_speeds(machines, measured_on).items()}


def test_twice_the_speed_is_half_the_cost():
    found = estimate_by_speed(LOCAL, STATED, "any").by_place
    fast, slow = found["a", "M1"], found["a", "M2"]
    assert (fast.e, fast.met, fast.e_remote) == (0.25, 1.0, 0.05)
    assert (slow.e, slow.met, slow.e_remote) == (1.0, 4.0, 0.2)


def test_an_estimate_is_marked_and_less_sure_than_its_source():
    made = estimate_by_speed(LOCAL, STATED, "any")
    cost = made.by_place["a", "M1"]
    assert made.origin is Origin.DERIVED
    assert cost.extrapolated
    assert (cost.estimate.measured_on, cost.estimate.speed) == ("any", 2.0)
    # 10 % of its own and a factor of e^0.2 for the speed: together e^0.2236, 25 %.
    assert cost.e_error == pytest.approx(0.25 * expm1(hypot(0.1, 0.2)))
    assert cost.met_error == pytest.approx(1.0 * expm1(0.2))


def test_what_was_measured_stays():
    both = replace(LOCAL, costs=(*LOCAL.costs, Cost("a", "M1", e=9.0, met=9.0)))
    found = estimate_by_speed(both, STATED, "any").by_place
    assert found["a", "M1"] == both.by_place["a", "M1"]
    assert estimate_by_speed(both, cluster(M1=1), "any") is both


def test_worker_costs_follow():
    worker = WorkerCost("any", 4.0, error=0.4, e=0.2, e_remote=0.1)
    made = estimate_by_speed(replace(LOCAL, workers=(worker,)), STATED, "any")
    fast = made.workers[1]
    assert (fast.machine_type, fast.cpu_points, fast.e, fast.e_remote) == ("M1", 2.0, 0.1, 0.05)
    assert fast.error == pytest.approx(2.0 * expm1(hypot(0.1, 0.2)))


KINDS = ("integer", "floating_point", "memory", "hashing", "serialising")


def fingerprinted(*speeds):
    """M1 does 100 of each kind of work; M2 does so many times as much."""
    types = {
        "M1": {"fingerprint": tuple((kind, 100.0) for kind in sorted(KINDS))},
        "M2": {
            "fingerprint": tuple((k, 100.0 * s) for k, s in zip(sorted(KINDS), speeds, strict=True))
        },
    }
    return cluster(M1=1, M2=1, types=types)


def test_fingerprints_say_the_speed_and_how_far_it_may_be_off():
    """Logarithms 0, 0, ln 2, ln 4, ln 4: mean ln 2, standard deviation ln 2 (4 of 4 squares).

    One more kind of work than five: 1.4128 for Student's quantile, sqrt(1 + 1/5) for the mean.
    """
    speed = relative_speeds(fingerprinted(1, 1, 2, 4, 4), "M1")["M2"]
    assert (speed.factor, speed.basis) == (2.0, SpeedBasis.FINGERPRINT)
    assert speed.doubt == pytest.approx(log(2) * 1.4128 * sqrt(1.2), rel=1e-3)


def test_kinds_of_work_that_agree_still_leave_a_doubt():
    speed = relative_speeds(fingerprinted(2, 2, 2, 2, 2), "M1")["M2"]
    assert (speed.factor, speed.doubt) == (2.0, 0.1)


def test_costs_follow_fingerprints_and_say_so():
    measured = Profile("m", (Cost("a", "M1", e=0.5, met=2.0, e_error=0.05),))
    cost = estimate_by_speed(measured, fingerprinted(2, 2, 2, 2, 2), "M1").by_place["a", "M2"]
    assert (cost.e, cost.estimate.basis) == (0.25, SpeedBasis.FINGERPRINT)
    assert cost.e_error == pytest.approx(0.25 * expm1(hypot(0.1, 0.1)))


def test_what_is_stated_goes_before_fingerprints_and_these_before_clocks():
    made = fingerprinted(2, 2, 2, 2, 2)
    slow, fast = made.types
    clocks = replace(made, types=(replace(slow, ghz=2.0), replace(fast, ghz=6.0)))
    assert relative_speeds(clocks, "M1")["M2"].basis is SpeedBasis.FINGERPRINT
    stated = replace(made, types=(slow, replace(fast, speed=3.0)))
    assert factors(stated, "M1")["M2"] == 3.0


def test_a_type_that_was_not_fingerprinted_goes_by_its_clock():
    made = fingerprinted(2, 2, 2, 2, 2)
    slow, fast = made.types
    types = (replace(slow, fingerprint=(), ghz=2.0), replace(fast, ghz=3.0))
    speed = relative_speeds(replace(made, types=types), "M1")["M2"]
    assert (speed.factor, speed.basis) == (1.5, SpeedBasis.CLOCK)


def test_speeds_are_relative_to_the_type_measured_where_the_cluster_has_it():
    machines = cluster(M1=1, M2=1, types={"M1": {"speed": 2.0}, "M2": {"speed": 3.0}})
    assert factors(machines, "M1") == {"M1": 1.0, "M2": 1.5}
    # Measured on a type that states none: that is speed 1.
    assert factors(cluster(M1=1, M2=1, types={"M2": {"speed": 3.0}}), "M1") == {
        "M1": 1.0,
        "M2": 3.0,
    }


def test_clocks_stand_in_for_speeds_that_are_not_stated():
    kinds = {"M1": {"speed": 1.5, "ghz": 3.0}, "M2": {"ghz": 2.0}, "M3": {}}
    found = relative_speeds(cluster(M1=1, M2=1, M3=1, types=kinds), "any")
    assert found["M1"].basis is SpeedBasis.STATED
    # 0.5 per GHz on M1.
    assert (found["M2"].factor, found["M2"].basis) == (1.0, SpeedBasis.CLOCK)
    assert "M3" not in found
    # Measured on M2 itself: its clock is the measure.
    kinds = {"M1": {"ghz": 3.0}, "M2": {"ghz": 2.0}}
    assert factors(cluster(M1=1, M2=1, types=kinds), "M2") == {"M1": 1.5, "M2": 1.0}


def test_clocks_alone_count_from_their_mean():
    kinds = {"M1": {"ghz": 4.0}, "M2": {"ghz": 1.0}}  # geometric mean: 2
    found = relative_speeds(cluster(M1=1, M2=1, types=kinds), "any")
    assert {name: s.factor for name, s in found.items()} == pytest.approx({"M1": 2.0, "M2": 0.5})
    assert {s.basis for s in found.values()} == {SpeedBasis.CLOCK_ALONE}


def test_a_clock_says_nothing_beside_speeds_without_one():
    kinds = {"M1": {"speed": 1.5}, "M2": {"ghz": 2.0}}
    assert factors(cluster(M1=1, M2=1, types=kinds)) == {"M1": 1.5}


def test_the_less_is_known_of_a_speed_the_less_sure_is_the_estimate():
    assert DOUBT[SpeedBasis.STATED] < DOUBT[SpeedBasis.CLOCK] < DOUBT[SpeedBasis.CLOCK_ALONE]


def test_a_type_nobody_measured_is_named():
    with pytest.raises(UnknownNameError, match='no machine type in profile local "M9"'):
        estimate_by_speed(LOCAL, STATED, "M9")


def test_missing_costs_say_which_option_helps_and_whose_speed_is_unknown():
    machines = cluster(M1=1, M2=1, types={"M1": {"speed": 2.0}})
    with pytest.raises(MissingCostsError, match='cost of "a" on machine type M1, M2 of') as e:
        build(topology("a"), machines, LOCAL)
    assert str(e.value).endswith('only on "any"')
    assert e.value.options == {"--estimate-from": "any"}
    assert e.value.without_speed == ("M2",)


def test_options_do_not_help_where_work_was_never_measured():
    with pytest.raises(InputError, match='no row "b"') as e:
        build(topology("a>b"), cluster(M1=1), LOCAL)
    assert not isinstance(e.value, MissingCostsError)


def test_a_problem_with_estimates_is_a_problem():
    made = build(topology("a"), STATED, estimate_by_speed(LOCAL, STATED, "any"))
    assert made.e.tolist() == [[0.25, 1.0]]

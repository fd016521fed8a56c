"""Instances change places so that tuples travel less, at no loss of rate."""

import numpy as np
import pytest
from tests.builders import cluster, machine_names, place, profile, topology

from penstock.evaluate.capacity import capacity
from penstock.model.problem import build
from penstock.model.terms import Held, Terms
from penstock.schedulers import Budget
from penstock.schedulers.penstock.terms.nearer import bring_nearer, distance_per_tuple

RACKS = {"M1-1": "r1", "M1-2": "r2"}


def nearer(problem, placement, scale):
    return bring_nearer(problem, placement, scale, Budget(), np.random.default_rng(0))


def test_partners_that_crossed_racks_change_places():
    # a sends to b, c to d: a and d in r1, c and b in r2. b and d change places: nothing crosses.
    problem = build(
        topology("a>b c>d"), cluster(M1=2, racks=RACKS), profile(a=0.1, b=0.1, c=0.1, d=0.1)
    )
    before = place(problem, "a M1-1", "d M1-1", "c M1-2", "b M1-2")
    assert distance_per_tuple(problem, before) == pytest.approx(3.0)
    after = nearer(problem, before, 1.0)
    assert distance_per_tuple(problem, after) == pytest.approx(0.0)
    assert machine_names(problem, after, "a") == machine_names(problem, after, "b")


def test_what_the_rate_does_not_allow_is_left():
    # a and b fill a machine each at 100 tuples/s: together they would carry 50.
    problem = build(topology("a>b"), cluster(M1=2, racks=RACKS), profile(a=1.0, b=1.0))
    before = place(problem, "a M1-1", "b M1-2")
    assert nearer(problem, before, 100.0) == before
    assert capacity(problem, before).scale == pytest.approx(100.0)


def test_fixed_instances_do_not_move():
    problem = build(
        topology("a>b c>d"), cluster(M1=2, racks=RACKS), profile(a=0.1, b=0.1, c=0.1, d=0.1)
    ).with_terms(Terms(fixed=(Held("b", "M1-2"), Held("a", "M1-1"), Held("c", "M1-2"))))
    before = place(problem, "a M1-1", "d M1-1", "c M1-2", "b M1-2")
    after = nearer(problem, before, 1.0)
    assert machine_names(problem, after, "b") == ["M1-2"]
    assert machine_names(problem, after, "a") == ["M1-1"]

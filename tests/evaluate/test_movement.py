"""What must move between machines lowers the bound, and never below what a plan carries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import cluster, place, profile, topology

from penstock.evaluate.bound import hottest_keys, upper_bound
from penstock.evaluate.capacity import capacity
from penstock.evaluate.movement import _multipliers
from penstock.model.problem import build
from penstock.model.topology import Grouping


def test_two_components_that_fill_two_machines_must_exchange():
    """a and b cost 1 point each, and 0.5 more for a tuple that crosses.

    Spread evenly, each machine has half of both: half of the tuples cross, at both ends. A machine
    spends R/2 (1 + 1) + 2 * 0.5 * R/4 = 1.25 R points, so R = 80. Apart, 1.5 R: R = 66.7. Without
    crossings the bound was 100.
    """
    costs = profile(a=1.0, b=1.0, e_remote=0.5)
    problem = build(topology("a>b"), cluster(M1=2), costs)
    even = place(problem, "a M1-1", "a M1-2", "b M1-1", "b M1-2")
    assert capacity(problem, even).scale == pytest.approx(80.0)
    bound = upper_bound(problem).scale
    assert 80.0 <= bound < 84.0


def test_a_topology_that_fits_one_machine_need_not_move_anything():
    costs = profile(a=1.0, b=1.0, e_remote=5.0)
    problem = build(topology("a>b"), cluster(M1=1), costs)
    assert upper_bound(problem).scale == pytest.approx(50.0)


def test_a_card_limits_what_must_leave_a_machine():
    """1,000 bytes a tuple, 0.8 Mb/s = 100 tuples/s through a card; CPU alone would carry 1,000."""
    streams = {"a>b": {"tuple_bytes": 1000.0}}
    machines = cluster(M1=2, every={"nic_mbps": 0.8})
    problem = build(topology("a>b", streams=streams), machines, profile(a=0.1, b=0.1))
    even = place(problem, "a M1-1", "a M1-2", "b M1-1", "b M1-2")
    # Each machine sends half of its half: R/4 <= 100.
    assert capacity(problem, even).scale == pytest.approx(400.0)
    assert 400.0 <= upper_bound(problem).scale < 1000.0


@given(st.integers(0, 2**32 - 1))
def test_streams_of_one_machine_share_its_points(seed):
    """sum K z_a z_b <= sum mu^2 z on the simplex, for random trees and random points of it."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 7))
    ends = [(int(rng.integers(0, child)), child) for child in range(1, size)]
    worth = rng.uniform(0.0, 4.0, len(ends))
    mu = _multipliers(ends, np.sqrt(worth), rng.uniform(0.0, 1.0, size))
    for _ in range(20):
        z = rng.dirichlet(np.ones(size) * rng.uniform(0.1, 2.0)) * rng.uniform(0.0, 1.0)
        kept = sum(k * z[a] * z[b] for k, (a, b) in zip(worth, ends, strict=True))
        assert kept <= float(mu**2 @ z) + 1e-9


def test_the_hottest_key_needs_one_thread():
    """Two keys alike: one brings half of b's input, whose thread takes 50 / 0.5 = 100 tuples/s."""
    keyed = {"grouping": Grouping.FIELDS, "keys": 2}
    machines = cluster(M1=8, every={"cpu_points": 100.0, "core_points": 50.0})
    problem = build(topology("a>b", streams={"a>b": keyed}), machines, profile(a=0.01, b=0.5))
    (key,) = hottest_keys(problem)
    assert (key.part, key.scale) == (pytest.approx(0.5), pytest.approx(200.0))
    bound = upper_bound(problem)
    assert bound.scale == pytest.approx(200.0)
    assert bound.hottest_key is not None
    assert not bound.added_by_one_machine.any()


def test_a_key_that_does_not_bind_is_not_named():
    keyed = {"grouping": Grouping.FIELDS, "keys": 1000}
    problem = build(topology("a>b", streams={"a>b": keyed}), cluster(M1=2), profile(a=1.0, b=1.0))
    assert upper_bound(problem).hottest_key is None

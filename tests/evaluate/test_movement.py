"""What must move between machines lowers the bound, and never below what a plan carries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import cluster, place, profile, topology

from penstock.evaluate.bound import upper_bound
from penstock.evaluate.capacity import capacity
from penstock.evaluate.hot_keys import hottest_key_in_words, hottest_keys
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


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_no_placement_carries_more_than_the_bound(seed):
    """Diamonds with keyed and shuffled inputs, few keys, crossings and cards; random placements."""
    rng = np.random.default_rng(seed)
    keyed = {"grouping": Grouping.FIELDS, "keys": int(rng.integers(1, 6)), "key_skew": 1.0}
    sizes = rng.integers(1, 2000, 4).astype(float)
    streams = {
        "a>b": {"tuple_bytes": sizes[0]},
        "a>c": {"tuple_bytes": sizes[1], "grouping": Grouping.LOCAL_OR_SHUFFLE},
        "b>d": {"tuple_bytes": sizes[2], "selectivity": float(rng.uniform(0.1, 2.0)), **keyed},
        "c>d": {"tuple_bytes": sizes[3]},
    }
    every = {"cpu_points": 100.0, "core_points": 50.0, "nic_mbps": float(10 ** rng.uniform(-1, 1))}
    cost = dict(zip("abcd", (10.0 ** rng.uniform(-2, 0, 4)).tolist(), strict=True))
    costs = profile(**cost, e_remote=float(rng.uniform(0.0, 0.5)))
    problem = build(topology("a>b>d a>c>d", streams=streams), cluster(M1=3, every=every), costs)
    bound = upper_bound(problem).scale
    for machines in (1, 2, 3):
        on = [
            f"{c} M1-{m + 1}" for c in "abcd" for m in rng.integers(0, machines, rng.integers(1, 5))
        ]
        assert capacity(problem, place(problem, *on)).scale <= bound * (1.0 + 1e-9)


def test_streams_divided_in_two_ways_cost_their_target_what_crosses_too():
    """c takes half by keys and half by shuffle; it fills ten machines, so most tuples cross.

    Evenly spread nine tenths do, at 1 point for either end: 1,000 / (1 + 2 * 0.9) = 357, less for
    uneven keys. The bound was 599.6 when what c pays was left out.
    """
    streams = {"a>c": {"grouping": Grouping.FIELDS, "keys": 100_000}}
    costs = profile(a=0.001, b=0.001, c=1.0, e_remote=1.0)
    problem = build(topology("a>c b>c", streams=streams), cluster(M1=10), costs)
    everywhere = [f"{c} M1-{m + 1}" for c in "abc" for m in range(10)]
    even = capacity(problem, place(problem, *everywhere)).scale
    assert even == pytest.approx(350, rel=0.05)
    assert even <= upper_bound(problem).scale < 480


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


def test_what_crosses_to_the_hottest_key_counts_against_its_thread():
    """One key, so one b, which spends 0.1 point a tuple, and 0.4 more where it crosses.

    Its machine has 100 - 0.1 R points left for a, at 1 point each. The rest of R crosses:
    0.1 R + 0.4 (R - (100 - 0.1 R)) = 50 points of its thread at R = 90 / 0.54. A thread that only
    ran b would carry 500.
    """
    keyed = {"grouping": Grouping.FIELDS, "keys": 1}
    machines = cluster(M1=8, every={"cpu_points": 100.0, "core_points": 50.0})
    costs = profile(a=1.0, b=0.1, e_remote=0.4)
    problem = build(topology("a>b", streams={"a>b": keyed}), machines, costs)
    (key,) = hottest_keys(problem)
    assert (key.scale, key.fills) == (pytest.approx(90.0 / 0.54), "thread")
    with_b = [f"{c} M1-1" for c in "baa"]
    plan = place(problem, *with_b, *(f"a M1-{m}" for m in (2, 3, 4, 5)))
    assert 100.0 < capacity(problem, plan).scale <= key.scale


def test_what_crosses_to_the_hottest_key_goes_through_a_card():
    """A card takes 100 tuples/s, and b's machine has (100 - 0.1 R) / 0.5 of a's: R = 250."""
    keyed = {"grouping": Grouping.FIELDS, "keys": 1, "tuple_bytes": 1000.0}
    every = {"cpu_points": 100.0, "core_points": 50.0, "nic_mbps": 0.8}
    streams = {"a>b": keyed}
    problem = build(
        topology("a>b", streams=streams), cluster(M1=8, every=every), profile(a=0.5, b=0.1)
    )
    (key,) = hottest_keys(problem)
    assert (key.scale, key.fills) == (pytest.approx(250.0), "network card")
    assert "fills the widest network card at 250 tuples/s" in hottest_key_in_words(problem, key)


def test_a_key_that_does_not_bind_is_not_named():
    keyed = {"grouping": Grouping.FIELDS, "keys": 1000}
    problem = build(topology("a>b", streams={"a>b": keyed}), cluster(M1=2), profile(a=1.0, b=1.0))
    assert upper_bound(problem).hottest_key is None

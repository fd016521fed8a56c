"""Shares where tuples that cross processes cost more: worked out, searched by brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.builders import cluster, place, profile, solve, topology

from penstock.evaluate.capacity import capacity
from penstock.evaluate.limits import violations
from penstock.model.problem import Problem, build
from penstock.schedulers.penstock.crossing_shares import shares_for_crossings
from penstock_bench.generate import Size, generate


def two_machines(a: tuple[float, float], b: tuple[float, float], e_remote: float) -> Problem:
    costs = profile(
        a={"M1": a[0], "M2": a[1]}, b={"M1": b[0], "M2": b[1]}, e_remote=e_remote, met=0.0
    )
    return build(topology("a>b"), cluster(M1=1, M2=1), costs, weighted=True)


def test_shares_are_as_worked_out():
    # a on M1 alone. With x of b beside it, M1 has 1 + x, and 0.5 (1 - x) for what it sends away; M2
    # has 2.5 (1 - x). Both are full at x = 1/3: 5/3 points per tuple/s of 100.
    problem = two_machines(a=(1.0, 1.0), b=(1.0, 2.0), e_remote=0.5)
    even = place(problem, "a M1-1", "b M1-1", "b M2-1")
    assert capacity(problem, even).scale == pytest.approx(100.0 / 1.75)
    made = shares_for_crossings(problem, even)
    assert made.share.tolist() == pytest.approx([1.0, 1 / 3, 2 / 3])
    assert capacity(problem, made).scale == pytest.approx(60.0)


def test_an_instance_that_is_not_worth_its_way_ends():
    # To send a tuple away costs M1 1.5 points, to handle it there 1.
    problem = two_machines(a=(1.0, 1.0), b=(1.0, 1.0), e_remote=1.5)
    made = shares_for_crossings(problem, place(problem, "a M1-1", "b M1-1", "b M2-1"))
    assert len(made) == 2
    assert capacity(problem, made).scale == pytest.approx(50.0)
    as_given = problem.with_counts((1, 2))
    assert len(shares_for_crossings(as_given, place(problem, "a M1-1", "b M1-1", "b M2-1"))) == 3


@pytest.mark.parametrize("seed", range(12))
def test_shares_are_as_good_as_any_on_a_grid(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(0.5, 2.0, 2), rng.uniform(0.5, 2.0, 2)
    remote = float(rng.uniform(0.05, 0.4))
    problem = two_machines(tuple(a), tuple(b), remote)
    placement = place(problem, "a M1-1", "a M2-1", "b M1-1", "b M2-1")
    found = capacity(problem, shares_for_crossings(problem, placement)).scale
    # Independent of the cost model: x of a and y of b on the first machine.
    x, y = np.meshgrid(np.linspace(0, 1, 801), np.linspace(0, 1, 801))
    away, here = x * (1 - y), (1 - x) * y
    first = a[0] * x + b[0] * y + remote * (away + here)
    second = a[1] * (1 - x) + b[1] * (1 - y) + remote * (away + here)
    best = 100.0 / np.maximum(first, second).min()
    # What crosses is not convex, so nothing promises the highest of several peaks; here it is.
    assert best * 0.9999 <= found <= best * 1.002  # the grid has steps of 1/800


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_unequal_shares_never_carry_less_than_even_ones(seed):
    made = generate(Size(components=4, machines=4, types=2), seed)
    costs = replace(
        made.profile, costs=tuple(replace(c, e_remote=0.15 * c.e) for c in made.profile.costs)
    )
    even = build(made.topologies, made.cluster, costs)
    weighted = build(made.topologies, made.cluster, costs, weighted=True)
    plain, weighed = solve(even, "penstock"), solve(weighted, "penstock")
    least = capacity(even, plain.placement).scale
    assert violations(weighted, weighed.placement) == ()
    assert capacity(weighted, weighed.placement).scale >= least * (1 - 1e-9)
    # A bound proved for even shares would be too low.
    assert weighed.bound_scale >= capacity(weighted, weighed.placement).scale


def test_what_no_tuple_reaches_has_no_share():
    costs = profile(a=1.0, b=1.0, c=1.0, e_remote=0.2)
    graph = topology("a>b>c", streams={"a>b": {"selectivity": 0.0}})
    problem = build(graph, cluster(M1=2), costs, weighted=True)
    placement = place(problem, "a M1-1", "a M1-2", "b M1-1", "c M1-2")
    made = shares_for_crossings(problem, placement)
    assert capacity(problem, made).scale >= capacity(problem, placement).scale
    assert np.isnan(made.share[2:]).all()

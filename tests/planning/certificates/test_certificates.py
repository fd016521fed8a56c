"""Certificates: what was proven is found proven, and nothing else is."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.builders import cluster, nasiri, profile, solve, topology
from tests.model.strategies import placed

from penstock.errors import InputError
from penstock.evaluate.limits import violations
from penstock.model.certificate import Certificate, ProofStep, Refutation
from penstock.model.placement import Placement
from penstock.model.plan import Plan
from penstock.model.problem import Problem, build
from penstock.planning.certificates.check import Checker, CountRanges, check
from penstock.planning.certificates.make import Certification, certify
from penstock.schedulers.base import Budget
from penstock_bench.contract.reference import Reference


def certified(problem: Problem, effort: float = 300.0) -> Certification:
    plan = Plan(problem, solve(problem, "hetero").placement, "hetero")
    return certify(plan, effort, Budget())


@pytest.fixture(scope="module")
def linear() -> Certification:
    return certified(nasiri("linear", (1, 1, 1)))


def test_what_was_proven_is_found_proven(linear: Certification):
    certificate = linear.certificate
    refuted = sum(step.by is not None for step in certificate.steps)
    assert check(certificate) == refuted > 1
    assert certificate.bound_scale >= linear.best_scale >= linear.scale


def test_one_machine_that_is_filled_is_proven_optimal():
    # 100 points, of which an instance costs 20 whatever it does: one instance, 80 tuples/s.
    found = certified(build(topology("a"), cluster(M1=1), profile(met=20.0, a=1.0)))
    assert found.scale == pytest.approx(80.0)
    assert found.certificate.bound_scale == pytest.approx(80.0, rel=1e-8)
    check(found.certificate)


@pytest.mark.parametrize(
    ("least", "most", "holds"),
    [
        # low1, high, low2, mid1, mid2; both spouts cost the same: 3 to 5 and 1 to 2 of them
        # are 1 to 2 and 3 to 5 by other names.
        ([3, 1, 1, 1, 1], [5, 9, 2, 9, 9], True),
        # The other order is the one that is looked at, and counts may be equal in this one.
        ([1, 1, 3, 1, 1], [2, 9, 5, 9, 9], False),
        ([3, 1, 1, 1, 1], [5, 9, 3, 9, 9], False),
        # The hub is like nobody.
        ([1, 3, 1, 1, 1], [9, 5, 2, 2, 9], False),
    ],
)
def test_alike_components_need_one_order_of_their_counts(least, most, holds: bool):
    problem = nasiri("star", (1, 1, 1))
    step = ProofStep(by=Refutation.ALIKE)
    plan = Plan(problem, solve(problem, "hetero").placement, "hetero")
    checker = Checker(Certificate(plan, 1.0, (step,)))
    assert checker.is_refuted(step, CountRanges(least, most)) == holds


def test_a_bound_that_plans_exceed_is_refused(linear: Certification):
    lower = replace(linear.certificate, bound_scale=linear.scale * 0.99)
    with pytest.raises(InputError, match="proves nothing about plans with"):
        check(lower)


def without_prices(steps: tuple[ProofStep, ...]) -> tuple[ProofStep, ...]:
    return tuple(replace(step, prices=tuple(0.0 for _ in step.prices)) for step in steps)


def with_gap(steps: tuple[ProofStep, ...]) -> tuple[ProofStep, ...]:
    """The counts above the first split are said to be the last box: those between are left out."""
    return (replace(steps[0], above=len(steps) - 1), *steps[1:])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without_prices, "proves nothing"),
        (lambda steps: steps[:-1], "is missing"),
        (with_gap, "proves nothing|belong to no box"),
        (lambda steps: (*steps, steps[-1]), "belong to no box"),
        (lambda steps: (replace(steps[0], component=99), *steps[1:]), "cannot be split"),
        (lambda steps: (replace(steps[0], above=0), *steps[1:]), "does not come after"),
    ],
)
def test_a_proof_with_a_hole_is_refused(linear: Certification, change, message: str):
    certificate = linear.certificate
    with pytest.raises(InputError, match=message):
        check(replace(certificate, steps=change(certificate.steps)))


@given(placed(), st.integers(0, 2**32 - 1), st.sampled_from(list(Refutation)))
def test_no_single_step_proves_less_than_a_plan_carries(
    case: tuple[Problem, Placement], seed: int, by: Refutation
):
    # Groupings, limits, counts and prices are random; the scale is the reference's.
    problem, placement = case
    if placement.has_shares:
        problem = replace(problem, weighted=True)
    problem = replace(problem, given_counts=tuple(placement.counts(len(problem.components))))
    scale = Reference(problem, placement).scale
    assume(0 < scale < 1e12)
    assume(placement.counts(len(problem.components)).all())
    assume(not violations(problem, placement))
    number = len(problem.components) * (2 if by is Refutation.POINTS else 1)
    prices = tuple(np.random.default_rng(seed).random(number).tolist())
    plan = Plan(problem, placement, "by hand")
    step = ProofStep(by=by, prices=prices)
    with pytest.raises(InputError, match="proves nothing"):
        check(Certificate(plan, scale * (1.0 - 1e-9), (step,)))


def test_requests_have_no_certificate():
    problem = build(topology("a", a={"cpu_points": 10.0, "instances": 1}), cluster(M1=1))
    plan = Plan(problem, Placement.of([0], [0], [0]), "by hand")
    with pytest.raises(InputError, match="about rates"):
        certify(plan, 10.0, Budget())

"""The bound for even division: true for every placement, and tight where all ways can be tried."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.builders import cluster, profile, topology
from tests.model.strategies import placed

from penstock.evaluate.bound import upper_bound
from penstock.evaluate.limits import violations
from penstock.evaluate.pattern_bound.boxes import BoxSearch
from penstock.evaluate.pattern_bound.fillings import BoxFillings, list_fillings
from penstock.evaluate.pattern_bound.fluid import FluidBox
from penstock.evaluate.pattern_bound.relaxed import CountBox, RelaxedProblem
from penstock.model.placement import Placement
from penstock.model.problem import Problem, build
from penstock_bench.benchmarks.exhaustive import best_scale
from penstock_bench.contract.reference import Reference

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

Case = tuple[Problem, Placement]


def carried(case: Case) -> tuple[RelaxedProblem, Placement, float]:
    """A problem as the bound sees it, with a placement and the scale that it carries."""
    problem, placement = case
    if placement.has_shares:
        problem = replace(problem, weighted=True)
    scale = Reference(problem, placement).scale
    assume(0 < scale < 1e12)
    assume(placement.counts(len(problem.components)).all())
    assume(not violations(problem, placement))
    return RelaxedProblem.of(problem), placement, scale * (1.0 - 1e-9)


def around(relaxed: RelaxedProblem, placement: Placement, below: int, above: int) -> CountBox:
    counts = placement.counts(len(relaxed.visits)).astype(np.float64)
    return CountBox(np.maximum(counts - below, 1.0), counts + above)


@given(placed(), st.integers(0, 2**32 - 1), st.integers(0, 3), st.integers(0, 3))
def test_no_prices_refute_a_box_that_a_plan_is_in(case: Case, seed: int, below: int, above: int):
    # Weak duality, with the reference's scale: counts, places, groupings, limits are random.
    relaxed, placement, scale = carried(case)
    box = around(relaxed, placement, below, above)
    prices = np.random.default_rng(seed).random(2 * len(relaxed.visits))
    assert FluidBox(relaxed, box, scale).value(prices) >= 1.0 - 1e-9
    fillings = list_fillings(relaxed, box, scale, 20_000)
    assume(fillings is not None)
    input_prices = prices[: len(relaxed.visits)]
    worth = BoxFillings(relaxed, fillings, box, scale).best(input_prices).worth
    assert relaxed.machines @ worth >= (input_prices @ relaxed.visits) * (1.0 - 1e-9)


@pytest.mark.slow
@given(placed())
def test_no_placement_carries_more_than_the_bound(case: Case):
    relaxed, _, scale = carried(case)
    general = upper_bound(relaxed.problem).scale
    assume(general < np.inf)
    # Targets just below: any box that the placement is in must stay open.
    search = BoxSearch(relaxed, general, scale)
    search.run(60)
    assert search.bound >= scale
    search.target = 0.9 * scale
    search.run(60)
    assert search.bound >= scale


def two_by_two(seed: int) -> Problem:
    """Two components on two machines of two types; an instance costs more than 100 / 6 points."""
    rng = np.random.default_rng(seed)
    rows = {c: dict(zip(("M1", "M2"), rng.uniform(0.1, 1.0, 2), strict=True)) for c in "ab"}
    return build(
        topology("a>b"), cluster(M1=1, M2=1), profile(met=float(rng.uniform(17, 24)), **rows)
    )


@pytest.mark.parametrize("seed", range(8))
def test_it_comes_down_to_the_best_of_all_plans(seed: int):
    # Other code tries every placement; no machine holds more than five instances.
    problem = two_by_two(seed)
    best = best_scale(problem, 5)
    search = BoxSearch(RelaxedProblem.of(problem), upper_bound(problem).scale, best * (1 + 1e-9))
    search.run(1000)
    assert best <= search.bound <= best * (1 + 2e-9)

"""What every registered scheduler keeps to, on fixed problems and on random ones.

Limits are checked by tests/reference.py, not by the code the schedulers themselves use.
"""

from copy import deepcopy
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from tests.contract.cases import WITH_RATES, WITHOUT_RATES, made_for
from tests.model.strategies import problems
from tests.reference import Reference

from penstock.errors import PenstockError
from penstock.evaluate.assess import assess
from penstock.evaluate.bound import upper_bound
from penstock.model.outcome import Outcome
from penstock.model.problem import Problem
from penstock.schedulers import Budget, Scheduler, registered

SCHEDULERS = {
    name: entry.scheduler for name, entry in registered().items() if entry.scheduler is not None
}
ARRAYS = ("e", "met", "e_remote", "demand", "spout_rate", "instance_points", "most_instances")
#: Enough for all but the exact ones, which then return the best so far.
ROUNDS = 500
ROUNDS_ON_RANDOM_PROBLEMS = 100
#: An exact search keeps the same contract on few instances, and is not tried where it takes long.
SMALLER = {"optimal": {"per_machine": 2}}
LARGE = [case for case in WITH_RATES if case.endswith(("(10, 10, 10)", "(20, 70, 90)"))]
#: Each scheduler has a turn on each, so a third of the usual number will do.
few_examples = settings(max_examples=max(1, settings.default.max_examples // 3))

every_scheduler = pytest.mark.parametrize("name", SCHEDULERS)
every_problem = pytest.mark.parametrize(
    ("name", "case"),
    [(n, c) for n in SCHEDULERS for c in WITH_RATES if n not in SMALLER or c not in LARGE],
)


def solved(
    name: str, problem: Problem, seed: int = 0, iterations: int = ROUNDS
) -> tuple[Problem, Outcome]:
    """The problem as the scheduler was given it, and its answer."""
    scheduler: type[Scheduler] = SCHEDULERS[name]
    given_problem = made_for(scheduler, problem)
    made = scheduler(**SMALLER.get(name, {}))
    rng = np.random.default_rng(seed)
    return given_problem, made.solve(given_problem, Budget(iterations=iterations), rng)


@cache
def answer(name: str, case: str) -> tuple[Problem, Problem, Outcome]:
    """A fixed problem before and after it was solved, and the answer."""
    problem = made_for(SCHEDULERS[name], WITH_RATES[case]())
    before = deepcopy(problem)
    for array in ARRAYS:  # so that the scheduler gets at those the test compares
        getattr(problem, array)
    return before, *solved(name, problem)


def check(name: str, problem: Problem, outcome: Outcome) -> None:
    """Everything an answer must keep, whatever the problem."""
    if outcome.placement is None:
        assert outcome.shortfalls or outcome.interrupted
    for shortfall in outcome.shortfalls:
        assert shortfall.needed > shortfall.available
        assert shortfall.topology in {"", *(t.name for t in problem.topologies)}
    if outcome.placement is not None:
        check_shape(problem, outcome)
        check_counts(name, problem, outcome)
        check_limits(name, problem, outcome)
        check_bound(problem, outcome)


def check_shape(problem: Problem, outcome: Outcome) -> None:
    placement = outcome.placement
    size = (len(placement.component),)
    assert size > (0,)
    for column in (placement.component, placement.machine, placement.slot, placement.share):
        assert column.shape == size
        assert not column.flags.writeable
    assert (np.diff(placement.component) >= 0).all()
    assert 0 <= placement.component.min() <= placement.component.max() < len(problem.components)
    assert 0 <= placement.machine.min() <= placement.machine.max() < len(problem.cluster.machines)
    for c in np.unique(placement.component):
        shares = placement.share[placement.component == c]
        # Shares for all instances of a component or for none, and only where they are allowed.
        assert np.isnan(shares).all() or shares.sum() == pytest.approx(1.0)
        assert np.isnan(shares).all() or problem.weighted


def check_counts(name: str, problem: Problem, outcome: Outcome) -> None:
    counts = outcome.placement.counts(len(problem.components)).tolist()
    for t, graph in enumerate(problem.topologies):
        mine = [c for c in range(len(counts)) if problem.topology_of[c] == t]
        missing = [problem.labels[c] for c in mine if counts[c] == 0]
        # A topology is placed whole, or not at all and then it is said what was missing.
        assert not missing or len(missing) == len(mine)
        named = {shortfall.topology for shortfall in outcome.shortfalls}
        assert not missing or graph.name in named
        for c in mine:
            most = problem.components[c].most_instances
            assert most is None or counts[c] <= most
            if counts[c] and not SCHEDULERS[name].looks.counts:
                assert counts[c] == problem.counts_asked[c]


def check_limits(name: str, problem: Problem, outcome: Outcome) -> None:
    reference = Reference(problem, outcome.placement)
    assert reference.slot_errors() == []
    if SCHEDULERS[name].looks.memory:
        assert reference.machines_over_memory() == []


def check_bound(problem: Problem, outcome: Outcome) -> None:
    # The bound is for plans that carry all topologies and keep to the memory there is.
    whole = outcome.placement.counts(len(problem.components)).all()
    if not (problem.has_rates and whole):
        return
    if Reference(problem, outcome.placement).machines_over_memory():
        return
    scale = assess(problem, outcome.placement).sustainable_scale
    assert scale <= upper_bound(problem).scale * (1 + 1e-9)
    if outcome.bound_scale is not None:
        assert scale <= outcome.bound_scale * (1 + 1e-9)


@every_problem
def test_an_answer_keeps_the_contract(name, case):
    _, problem, outcome = answer(name, case)
    check(name, problem, outcome)


@every_scheduler
@pytest.mark.parametrize("case", [*WITHOUT_RATES])
def test_without_rates_it_answers_or_says_that_it_needs_them(name, case):
    try:
        problem, outcome = solved(name, WITHOUT_RATES[case]())
    except PenstockError:
        return
    check(name, problem, outcome)


@every_scheduler
@pytest.mark.parametrize("case", ["diamond on (2, 2, 2)", "two demands", "few instances"])
def test_the_same_seed_gives_the_same_answer(name, case):
    _, _, first = answer(name, case)
    _, second = solved(name, WITH_RATES[case]())
    assert first == second


@every_problem
def test_the_problem_is_left_as_it_was(name, case):
    before, problem, _ = answer(name, case)
    assert problem == before
    for array in ARRAYS:
        np.testing.assert_array_equal(getattr(problem, array), getattr(before, array))


@every_problem
def test_a_budget_of_one_round_still_gets_an_answer(name, case):
    problem, outcome = solved(name, WITH_RATES[case](), iterations=1)
    check(name, problem, outcome)


@every_scheduler
@few_examples
@given(problem=problems())
def test_random_problems_are_answered_within_the_contract(name, problem):
    check(name, *solved(name, problem, iterations=ROUNDS_ON_RANDOM_PROBLEMS))

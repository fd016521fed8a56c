"""The contract of schedulers as a class of tests, on fixed problems and on random ones."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from penstock.errors import PenstockError
from penstock.model.outcome import Outcome
from penstock.model.problem import Problem
from penstock.schedulers import Budget, Scheduler
from penstock_bench.contract.checks import check
from penstock_bench.contract.problems import WITH_RATES, WITHOUT_RATES, made_for
from penstock_bench.contract.random_problems import problems

#: What a scheduler may have changed in place, if it changed anything.
_ARRAYS = ("e", "met", "e_remote", "demand", "spout_rate", "instance_points", "most_instances")
#: Enough for all but exact searches, which then return the best so far.
_ROUNDS = 500
_ROUNDS_ON_RANDOM_PROBLEMS = 100


class SchedulerContract:
    """What every scheduler keeps to; a subclass named ``Test...`` says which one is tried."""

    scheduler: ClassVar[type[Scheduler]]
    #: Settings to try it with, where its defaults take too long.
    parameters: ClassVar[Mapping[str, Any]] = {}
    #: Fixed problems that it is not tried on, for the same reason.
    without: ClassVar[frozenset[str]] = frozenset()

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "case" in metafunc.fixturenames:
            metafunc.parametrize("case", [name for name in WITH_RATES if name not in self.without])

    def test_an_answer_keeps_the_contract(self, case: str) -> None:
        _, problem, outcome = self.answer(case)
        check(self.scheduler, problem, outcome)

    @pytest.mark.parametrize("problem", WITHOUT_RATES)
    def test_without_rates_it_answers_or_says_that_it_needs_them(self, problem: str) -> None:
        try:
            given_problem, outcome = self.solved(WITHOUT_RATES[problem]())
        except PenstockError:
            return
        check(self.scheduler, given_problem, outcome)

    @pytest.mark.parametrize("problem", ["diamond on (2, 2, 2)", "two demands", "few instances"])
    def test_the_same_seed_gives_the_same_answer(self, problem: str) -> None:
        _, _, first = self.answer(problem)
        _, second = self.solved(WITH_RATES[problem]())
        assert first == second

    def test_the_problem_is_left_as_it_was(self, case: str) -> None:
        before, problem, _ = self.answer(case)
        assert problem == before
        for array in _ARRAYS:
            np.testing.assert_array_equal(getattr(problem, array), getattr(before, array))

    def test_a_budget_of_one_round_still_gets_an_answer(self, case: str) -> None:
        check(self.scheduler, *self.solved(WITH_RATES[case](), iterations=1))

    @settings(
        # Each scheduler has a turn on each, so a third of the usual number will do.
        max_examples=max(1, settings().max_examples // 3),
        deadline=None,
        # Several schedulers share this test, and some take their time.
        suppress_health_check=[*HealthCheck],
    )
    @given(problem=problems())
    def test_random_problems_are_answered_within_the_contract(self, problem: Problem) -> None:
        check(self.scheduler, *self.solved(problem, iterations=_ROUNDS_ON_RANDOM_PROBLEMS))

    @classmethod
    def solved(cls, problem: Problem, iterations: int = _ROUNDS) -> tuple[Problem, Outcome]:
        """The problem as the scheduler was given it, and its answer."""
        given_problem = made_for(cls.scheduler, problem)
        scheduler = cls.scheduler(**cls.parameters)
        rng = np.random.default_rng(0)
        return given_problem, scheduler.solve(given_problem, Budget(iterations=iterations), rng)

    @classmethod
    @cache
    def answer(cls, case: str) -> tuple[Problem, Problem, Outcome]:
        """A fixed problem before and after it was solved, and the answer."""
        problem = made_for(cls.scheduler, WITH_RATES[case]())
        before = deepcopy(problem)
        for array in _ARRAYS:  # so that the scheduler gets at those the test compares
            getattr(problem, array)
        return before, *cls.solved(problem)

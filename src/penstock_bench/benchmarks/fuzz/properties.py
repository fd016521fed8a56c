"""Random problems, and what must be true of every answer to them, whoever gives it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from random import Random

from penstock import app
from penstock.errors import PenstockError
from penstock.model.problem import Problem
from penstock.schedulers import SCHEDULERS
from penstock.schedulers.base import Budget
from penstock_bench.benchmarks.fuzz.ledger import LedgerSlice
from penstock_bench.benchmarks.fuzz.slices import ledger_of, look_at_all, slices_by_commit
from penstock_bench.benchmarks.long_runs import say
from penstock_bench.benchmarks.suite import FigureTable
from penstock_bench.contract.plan_check import plan_faults
from penstock_bench.contract.random_losses import contingency_faults
from penstock_bench.contract.random_problems import FEATURES, Dice, random_problem

_ROUNDS = 100
#: Problems after which it is written down how far it is.
_AT_ONCE = 500


def a_problem(seed: int, number: int) -> Problem:
    """The random problem of this number."""
    rng = Random(f"{seed} property {number}")
    features = frozenset(f for f in FEATURES if rng.random() < 0.4)
    return random_problem(Dice(rng.randrange(2**32), features, 2, 5, 3, 6))


def wrong_plans(problems: int, seed: int) -> Iterator[str]:
    """What the independent evaluator finds wrong with plans of all schedulers in turn."""
    names = sorted(SCHEDULERS.usable())
    for number in range(problems):
        name = names[number % len(names)]
        where = f"seed {seed}, problem {number}, {name}"
        try:
            planned = app.plan(
                a_problem(seed, number), name, budget=lambda: Budget(iterations=_ROUNDS)
            )
        except PenstockError:
            continue  # no plan is an answer, too
        except Exception as error:
            yield f"{where}: {error!r}"
            continue
        if planned.plan is not None:
            yield from (f"{where}: {fault}" for fault in plan_faults(planned.plan))


def plan_faults_found(problems: int, seed: int, repeats: int = 1) -> Iterator[float]:
    """Wrong plans of random problems; each is told as it is found."""
    yield from (_told(wrong_plans(problems, seed)) for _ in range(repeats))


@lru_cache(maxsize=2)
def _contingencies(
    problems: int, seed: int, hours: float | None, is_kept: bool
) -> list[LedgerSlice]:
    def look(begin: int, number: int) -> int:
        return int(_told(iter(contingency_faults(number, seed=begin))))

    ledger = ledger_of(seed, is_kept=is_kept)
    numbers = range(seed * problems, (seed + 1) * problems)  # no problem under two seeds
    return look_at_all(ledger, "contingencies", numbers, _AT_ONCE, look, hours)


def contingencies_by_commit(
    problems: int, seed: int, hours: float | None = None, is_kept: bool = False
) -> FigureTable:
    """Of how many random problems the contingencies were looked at, and at which commits."""
    found = _contingencies(problems, seed, hours, is_kept)
    return slices_by_commit(f"Problems whose contingencies were looked at, seed {seed}", found)


def contingencies_done(
    problems: int, seed: int, hours: float | None = None, is_kept: bool = False, repeats: int = 1
) -> Iterator[float]:
    """Of how many random problems the contingencies were looked at."""
    for _ in range(repeats):
        yield float(sum(one.size for one in _contingencies(problems, seed, hours, is_kept)))


def contingency_faults_found(
    problems: int, seed: int, hours: float | None = None, is_kept: bool = False, repeats: int = 1
) -> Iterator[float]:
    """What contingencies promise and their moves, carried out one by one, do not give."""
    for _ in range(repeats):
        yield float(sum(one.faults for one in _contingencies(problems, seed, hours, is_kept)))


def _told(faults: Iterator[str]) -> float:
    number = 0
    for fault in faults:
        say(fault)
        number += 1
    return float(number)

"""Random problems, and what must be true of every answer to them, whoever gives it."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from penstock import app
from penstock.errors import PenstockError
from penstock.model.problem import Problem
from penstock.schedulers import SCHEDULERS
from penstock.schedulers.base import Budget
from penstock_bench.benchmarks.long_runs import say
from penstock_bench.contract.plan_check import plan_faults
from penstock_bench.contract.random_losses import contingency_faults
from penstock_bench.contract.random_problems import FEATURES, Dice, random_problem

_ROUNDS = 100
#: Problems between two words on how far it is.
_AT_ONCE = 1000


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


def wrong_contingencies(problems: int, seed: int) -> Iterator[str]:
    """What contingencies promise and their moves, carried out one by one, do not give."""
    first = seed * problems  # no problem under two seeds
    for begin in range(first, first + problems, _AT_ONCE):
        number = min(_AT_ONCE, first + problems - begin)
        yield from contingency_faults(number, seed=begin)
        say(f"contingencies of {begin + number - first:,} of {problems:,} problems looked at")


def plan_faults_found(problems: int, seed: int, repeats: int = 1) -> Iterator[float]:
    """Wrong plans of random problems; each is told as it is found."""
    yield from (_told(wrong_plans(problems, seed)) for _ in range(repeats))


def contingency_faults_found(problems: int, seed: int, repeats: int = 1) -> Iterator[float]:
    """Wrong contingencies of random plans; each is told as it is found."""
    yield from (_told(wrong_contingencies(problems, seed)) for _ in range(repeats))


def _told(faults: Iterator[str]) -> float:
    number = 0
    for fault in faults:
        say(fault)
        number += 1
    return float(number)

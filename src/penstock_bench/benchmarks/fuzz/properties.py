"""Random problems, and what must be true of every answer to them, whoever gives it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from penstock import app
from penstock.errors import PenstockError
from penstock.model.problem import Problem
from penstock.schedulers import registered
from penstock.schedulers.base import Budget
from penstock_bench.benchmarks.long_runs import say
from penstock_bench.contract.plan_check import plan_faults
from penstock_bench.contract.random_problems import FEATURES, Dice, random_problem

_ROUNDS = 100


def a_problem(seed: int, number: int) -> Problem:
    """The random problem of this number."""
    rng = Random(f"{seed} property {number}")
    features = frozenset(f for f in FEATURES if rng.random() < 0.4)
    return random_problem(Dice(rng.randrange(2**32), features, 2, 5, 3, 6))


def wrong_plans(problems: int, seed: int) -> Iterator[str]:
    """What the independent evaluator finds wrong with plans of all schedulers in turn."""
    names = sorted(name for name, found in registered().items() if found.scheduler is not None)
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


#: Each yields a sentence per fault, given how many problems to try and a seed.
PROPERTIES: tuple[Callable[[int, int], Iterator[str]], ...] = (
    wrong_plans,
)  # fmt: skip


def faults(problems: int, seed: int, repeats: int = 1) -> Iterator[float]:
    """Faults of all properties together; each is told as it is found."""
    for _ in range(repeats):
        found = 0
        for each in PROPERTIES:
            for fault in each(problems, seed):
                say(fault)
                found += 1
        yield float(found)

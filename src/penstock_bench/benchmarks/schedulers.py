"""What ``penstock bench schedulers`` measures: the exact scheduler, and the others beside it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import lru_cache

import penstock
from penstock.model.problem import Problem, build
from penstock.schedulers import SCHEDULERS
from penstock_bench.benchmarks.exhaustive import best_scale
from penstock_bench.generate import Size, generate

#: Four components on three unlike machines, as in the paper's 18 hours.
_PAPERS_SIZE = Size(components=4, machines=3, types=3)
#: Effort that lets the exact search end by itself at these sizes.
_ENOUGH = 1e9
_EXAMPLES = [
    (topology, cluster)
    for topology in ("linear", "diamond", "star")
    for cluster in ("nasiri-testbed", "nasiri-small")
]


def _problem(seed: int, size: Size = _PAPERS_SIZE) -> Problem:
    generated = generate(size, seed)
    return build(generated.topologies, generated.cluster, generated.profile)


@lru_cache(maxsize=256)
def _optimal(seed: int, per_machine: int) -> penstock.PlanAnswer:
    settings = {"per_machine": per_machine, "effort": _ENOUGH}
    return penstock.plan(_problem(seed), "optimal", parameters=settings)


def optimal_seconds(repeats: int, per_machine: int) -> Iterator[float]:
    """Time to the proven optimum of random problems of the paper's size."""
    for seed in range(repeats):
        yield _optimal(seed, per_machine).seconds


def optimal_proven(repeats: int, per_machine: int) -> Iterator[float]:
    """1 where the optimum was proven."""
    for seed in range(repeats):
        plan = _optimal(seed, per_machine).plan
        yield float(plan is not None and plan.predicted.proven_optimal)


def difference_to_exhaustive(repeats: int, per_machine: int) -> Iterator[float]:
    """Relative difference of optimal to the exhaustive search over all count vectors."""
    for seed in range(repeats):
        scale = _optimal(seed, per_machine).facts.scale or 0.0
        expected = best_scale(_problem(seed), per_machine)
        yield abs(scale - expected) / expected


def exhaustive_over_optimal_time(repeats: int, per_machine: int) -> Iterator[float]:
    """How many times as long the exhaustive search takes."""
    for seed in range(repeats):
        started = time.perf_counter()
        best_scale(_problem(seed), per_machine)
        yield (time.perf_counter() - started) / _optimal(seed, per_machine).seconds


def hetero_below_optimal(repeats: int) -> Iterator[float]:
    """How far below the optimum hetero's plan is, in percent, on random problems."""
    for seed in range(repeats):
        best = _optimal(seed, 10).facts.scale
        scale = penstock.plan(_problem(seed), "hetero").facts.scale
        if best and scale:
            yield 100.0 * (1.0 - scale / best)


def hetero_below_optimal_on_examples(repeats: int) -> Iterator[float]:
    """The same on Linear, Diamond and Star on the testbed and the small cluster."""
    del repeats
    for topology, cluster in _EXAMPLES:
        problem = penstock.problem(topology, cluster)
        best = penstock.plan(problem, "optimal", parameters={"effort": _ENOUGH}).facts.scale
        scale = penstock.plan(problem, "hetero").facts.scale
        if best and scale:
            yield 100.0 * (1.0 - scale / best)


def others_over_optimal(repeats: int) -> Iterator[float]:
    """The best of all other schedulers over optimal, among plans with its limit per machine."""
    for seed in range(repeats):
        problem = _problem(seed)
        best = _optimal(seed, 10).facts.scale
        others = [name for name in SCHEDULERS.names() if name != "optimal"]
        rows = penstock.compare(problem, others).rows
        rates = [
            row.facts.scale
            for row in rows
            if row.plan is not None
            and row.facts.scale is not None
            and not row.facts.violations
            and max(load.instances for load in row.plan.predicted.machines) <= 10
        ]
        if best and rates:
            yield max(rates) / best

"""What ``penstock bench core`` measures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from penstock import app
from penstock.evaluate.bound import solve_bound
from penstock.evaluate.capacity import capacity
from penstock.model.placement import Placement
from penstock.model.problem import Problem, build
from penstock_bench.benchmarks.loops import sustainable_scale_by_loops
from penstock_bench.generate import Size, generate

_TOPOLOGIES = ("linear", "diamond", "star")
_CLUSTERS = ("nasiri-testbed", "nasiri-small", "nasiri-medium", "nasiri-large")


def evaluation_ms(
    repeats: int, machines: int, instances: int, components: int = 10, types: int = 3
) -> Iterator[float]:
    """Time of one evaluation of a random placement."""
    problem, placement = _random_placement(machines, instances, components, types)
    yield from _milliseconds(lambda: capacity(problem, placement), repeats)


def speed_up_over_loops(repeats: int, machines: int, instances: int) -> Iterator[float]:
    """How many evaluations fit into the time plain Python loops take for one."""
    problem, placement = _random_placement(machines, instances, 10, 3)
    for _ in range(repeats):
        slow = _seconds(lambda: sustainable_scale_by_loops(problem, placement))
        fast = min(_milliseconds(lambda: capacity(problem, placement), 20)) / 1e3
        yield slow / fast


def difference_to_loops(repeats: int, machines: int, instances: int) -> Iterator[float]:
    """Relative difference of the sustainable scale, on a new random problem each time."""
    for seed in range(repeats):
        problem, placement = _random_placement(machines, instances, 10, 3, seed)
        fast = capacity(problem, placement).scale
        yield abs(fast - sustainable_scale_by_loops(problem, placement)) / fast


def bound_ms(repeats: int, example: str, cluster: str) -> Iterator[float]:
    problem = app.problem(example, cluster)
    yield from _milliseconds(lambda: solve_bound(problem), repeats)


def bound_generated_ms(repeats: int, machines: int, components: int, types: int) -> Iterator[float]:
    problem, _ = _random_placement(machines, machines, components, types)
    yield from _milliseconds(lambda: solve_bound(problem), repeats)


def plan_ms(repeats: int, scheduler: str, example: str, cluster: str) -> Iterator[float]:
    """Time to plan, the bound and the counts not included."""
    problem = app.problem(example, cluster)
    for _ in range(repeats):
        yield 1e3 * app.plan(problem, scheduler).seconds


def hetero_over_bound(repeats: int, statistic: str) -> Iterator[float]:
    """Sustainable rate of hetero as a fraction of the bound, met 1.5, copy fan-out."""
    del repeats  # nothing is random
    ratios = [1.0 - (planned.facts.gap or 0.0) for planned in _hetero_plans()]
    yield min(ratios) if statistic == "least" else max(ratios)


def hetero_highest_load(repeats: int) -> Iterator[float]:
    del repeats
    judged = [planned.assessment for planned in _hetero_plans()]
    yield float(max(j.utilisation.max() for j in judged if j is not None))


def _hetero_plans() -> list[app.PlanAnswer]:
    return [
        app.plan(app.problem(topology, cluster, met=1.5), "hetero")
        for topology in _TOPOLOGIES
        for cluster in _CLUSTERS
    ]


def _random_placement(
    machines: int, instances: int, components: int, types: int, seed: int = 0
) -> tuple[Problem, Placement]:
    generated = generate(Size(components=components, machines=machines, types=types), seed)
    problem = build(generated.topologies, generated.cluster, generated.profile)
    rng = np.random.default_rng(seed)
    # Every component at least once; the rest at random.
    component = np.concatenate(
        [np.arange(components), rng.integers(0, components, instances - components)]
    )
    return problem, Placement.of(component, rng.integers(0, machines, instances))


def _milliseconds(work: Callable[[], object], repeats: int) -> list[float]:
    work()  # caches filled: a planner evaluates the same problem over and over
    return [1e3 * _seconds(work) for _ in range(repeats)]


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started

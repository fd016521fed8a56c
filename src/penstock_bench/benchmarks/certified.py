"""What ``penstock bench certified`` measures: our own scheduler, the bound and the others."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

import numpy as np

from penstock import app
from penstock.evaluate.capacity import capacity
from penstock.evaluate.terms import held_table
from penstock.model.problem import Problem, build
from penstock.planning.contingencies.with_rates import without_machine
from penstock.schedulers import SCHEDULERS
from penstock.schedulers.restricted import Restricted
from penstock_bench.benchmarks.small_problems import small_problem
from penstock_bench.generate import Size, generate

_TOPOLOGIES = ("linear", "diamond", "star")
_PAPERS_MET = 1.5
#: Effort that lets the exact scheduler end by itself on the small problems.
_ENOUGH = 3e8
#: Boxes of instance counts looked at where a proof is wanted.
_PROOF = 20_000.0


@lru_cache(maxsize=512)
def _planned(topology: str, cluster: str, met: float, weighted: bool, seed: int) -> app.PlanAnswer:
    problem = app.problem(topology, cluster, met=met, weighted=weighted)
    return app.plan(problem, "penstock", seed=seed)


def gap_percent(repeats: int, cluster: str, met: float, weighted: bool = False) -> Iterator[float]:
    """Gap to the linear-programming bound of each topology and seed, in percent."""
    for seed in range(repeats):
        for topology in _TOPOLOGIES:
            facts = _planned(topology, cluster, met, weighted, seed).facts
            yield 100.0 * (facts.gap if facts.gap is not None else 1.0)


def proven_gap_percent(repeats: int, cluster: str, met: float) -> Iterator[float]:
    """Shuffle grouping: gap to the bound that the search proves with time for it, in percent."""
    for seed in range(repeats):
        for topology in _TOPOLOGIES:
            yield _gap_percent(_proven(topology, cluster, met, seed))


def proof_seconds(repeats: int, cluster: str, met: float) -> Iterator[float]:
    """Time for plan and proof together."""
    for seed in range(repeats):
        for topology in _TOPOLOGIES:
            yield _proven(topology, cluster, met, seed).seconds


def storm_benchmark_gap_percent(repeats: int, topology: str) -> Iterator[float]:
    """The pairs of storm-benchmark on one machine each of types A, B and C."""
    for seed in range(repeats):
        yield _gap_percent(app.plan(app.problem(topology, "storm-benchmark"), seed=seed))


@lru_cache(maxsize=64)
def _proven(topology: str, cluster: str, met: float, seed: int) -> app.PlanAnswer:
    problem = app.problem(topology, cluster, met=met)
    return app.plan(problem, "penstock", seed=seed, parameters={"effort": _PROOF})


def _gap_percent(planned: app.PlanAnswer) -> float:
    gap = planned.plan.predicted.gap if planned.plan is not None else None
    return 100.0 * (gap if gap is not None else 1.0)


def own_gap_percent(repeats: int, cluster: str, met: float) -> Iterator[float]:
    """Weighted grouping: gap to the tightest bound proved, in percent."""
    for seed in range(repeats):
        for topology in _TOPOLOGIES:
            plan = _planned(topology, cluster, met, True, seed).plan
            gap = plan.predicted.gap if plan is not None else None
            yield 100.0 * (gap if gap is not None else 1.0)


def seconds(repeats: int, cluster: str, met: float, weighted: bool = False) -> Iterator[float]:
    """Time to plan, the general bound included once more."""
    for seed in range(repeats):
        for topology in _TOPOLOGIES:
            yield _planned(topology, cluster, met, weighted, seed).seconds


def others_over_ours_percent(repeats: int, cluster: str, met: float) -> Iterator[float]:
    """How far the best other scheduler but ``optimal`` is ahead of ours, shuffle grouping."""
    for seed in range(repeats):
        for topology in _TOPOLOGIES:
            ours = _planned(topology, cluster, met, False, seed)
            names = [n for n in _others() if n != "optimal"]
            yield _ahead(ours, names)


def optimal_over_ours_percent(repeats: int, cluster: str, met: float) -> Iterator[float]:
    for seed in range(repeats):
        for topology in _TOPOLOGIES:
            yield _ahead(_planned(topology, cluster, met, False, seed), ["optimal"])


def below_optimum_percent(repeats: int) -> Iterator[float]:
    """How far ours is below the proven optimum of random small problems; those without a plan
    count as 0 if ours finds none either."""
    for seed in range(repeats):
        best, ours = _small(seed)
        yield 100.0 * (1.0 - (ours.facts.scale or 0.0) / best) if best else 0.0


def bound_over_optimum_percent(repeats: int) -> Iterator[float]:
    """How far the bound of random small problems is above the optimum, which other code found."""
    for seed in range(repeats):
        best, ours = _small(seed)
        bound = ours.plan.predicted.bound_scale if ours.plan is not None else None
        yield 100.0 * (bound / best - 1.0) if best and bound else 0.0


def small_proven_gap_percent(repeats: int) -> Iterator[float]:
    """Gap to the proven bound of random small problems that have a plan."""
    for seed in range(repeats):
        _, ours = _small(seed)
        if ours.plan is not None:
            yield _gap_percent(ours)


@lru_cache(maxsize=256)
def _small(seed: int) -> tuple[float, app.PlanAnswer]:
    """The optimum of a random small problem, 0 if it has no plan, and our plan."""
    problem = small_problem(seed)
    best = app.plan(problem, "optimal", parameters={"effort": _ENOUGH}).facts.scale
    return best or 0.0, app.plan(problem, "penstock")


def crossing_gain_percent(repeats: int, cluster: str, more: float) -> Iterator[float]:
    """Unequal shares over even ones where a tuple that crosses costs a part of ``e`` more."""
    for seed in range(repeats):
        for topology in _TOPOLOGIES:
            problem = app.problem(topology, cluster)
            assert problem.profile is not None
            costs = tuple(replace(c, e_remote=more * c.e) for c in problem.profile.costs)
            profile = replace(problem.profile, costs=costs)
            even, unequal = (
                app.plan(build(problem.topologies, problem.cluster, profile, weighted=w), seed=seed)
                for w in (False, True)
            )
            if even.facts.scale and unequal.facts.scale:
                yield 100.0 * (unequal.facts.scale / even.facts.scale - 1.0)
            else:
                yield -100.0


def many_machines(repeats: int, figure: str) -> Iterator[float]:
    """60 components on 10,000 multi-core machines of 30 types: gap %, s, instances or MB."""
    for seed in range(repeats):
        planned, wall = _large(seed)
        instances = len(planned.plan.placement) if planned.plan is not None else 0
        gap = planned.facts.gap
        yield {
            "gap": 100.0 * (gap if gap is not None else 1.0),
            "seconds": wall,
            "instances": float(instances),
            # Of the whole process so far, so never too low.
            "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }[figure]


@lru_cache(maxsize=16)
def _large(seed: int) -> tuple[app.PlanAnswer, float]:
    problem = large_problem(seed)
    started = time.perf_counter()
    planned = app.plan(problem, "penstock")
    return planned, time.perf_counter() - started


@lru_cache(maxsize=64)
def _lost(topology: str, seed: int) -> tuple[float, float, int]:
    """One machine of 180 dies: milliseconds to a new plan, what it carries over a free one's, and
    instances changed beyond those that ran there."""
    problem = app.problem(topology, "nasiri-large")
    plan = _planned(topology, "nasiri-large", _PAPERS_MET, False, 0).plan
    assert plan is not None
    used = plan.placement.machines_used
    machine = int(used[np.random.default_rng([seed, len(topology)]).integers(len(used))])
    without_machine(problem, plan.placement, machine)  # loads what it needs
    started = time.perf_counter()
    contingency = without_machine(problem, plan.placement, machine)
    ms = 1e3 * (time.perf_counter() - started)
    left = Restricted.to(problem, [m for m in range(180) if m != machine])
    free = app.plan(left.problem, "penstock", seed=seed).facts.scale
    if contingency is None or not free:
        return ms, 0.0, 0
    before, after = held_table(problem, plan.placement), held_table(problem, contingency)
    ran_there = before[machine].copy()
    before[machine] = 0
    come = np.maximum(after - before, 0).sum(axis=0) - ran_there
    gone = np.maximum(before - after, 0).sum(axis=0)
    extra = int(np.maximum(np.maximum(come, 0), gone).sum())
    return ms, capacity(problem, contingency).scale / free, extra


def machine_lost(repeats: int, figure: str) -> Iterator[float]:
    """Milliseconds, percent below a free plan, or instances changed beyond what must be."""
    for seed in range(repeats):
        for topology in _TOPOLOGIES:
            ms, part, extra = _lost(topology, seed)
            below = 100.0 * (1.0 - part)
            yield {"milliseconds": ms, "below_free": below, "extra": float(extra)}[figure]


def large_problem(seed: int) -> Problem:
    """A generated problem on machines of one, 4, 8 and 16 cores; an instance is one thread."""
    generated = generate(Size(components=60, machines=10_000, types=30), seed)
    types = tuple(
        replace(
            kind,
            cpu_points=100.0 if number % 3 == 0 else 4 * kind.cpu_points,
            core_points=100.0,
        )
        for number, kind in enumerate(generated.cluster.types)
    )
    return build(generated.topologies, replace(generated.cluster, types=types), generated.profile)


def _others() -> list[str]:
    return [name for name in SCHEDULERS.usable() if name != "penstock"]


def _ahead(ours: app.PlanAnswer, names: list[str]) -> float:
    rows = app.compare(ours.problem, names).rows
    rates = [r.facts.scale for r in rows if r.facts.scale is not None and not r.facts.violations]
    best = max(rates, default=0.0)
    return 100.0 * (best / ours.facts.scale - 1.0) if ours.facts.scale else 100.0

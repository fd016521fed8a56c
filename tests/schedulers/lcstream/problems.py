"""Lc-Stream on its own experiment, for the tests of its parts."""

from dataclasses import replace
from typing import Any

import numpy as np
from tests.builders import cluster, profile, topology

from penstock import app
from penstock.model.outcome import Outcome
from penstock.model.problem import Problem, build
from penstock.schedulers import Budget
from penstock.schedulers.lcstream.scheduler import LcStreamScheduler

#: Four threads of 100 points: a machine whose limit is not one executor's.
FOUR_CORES = {"cpu_points": 400.0, "core_points": 100.0}


def lcstream(problem: Problem, iterations: int | None = None, **settings: Any) -> Outcome:
    return LcStreamScheduler(**settings).solve(
        problem, Budget(iterations), np.random.default_rng(0)
    )


def counts(problem: Problem, **settings: Any) -> list[int]:
    placement = lcstream(problem, **settings).placement
    return placement.counts(len(problem.components)).tolist()


def papers_experiment() -> Problem:
    """Lc-Stream's own experiment: WordCount and Top-N on its 27 machines."""
    return app.problem(["wordcount", "topn"], "lcstream")


def with_demand(problem: Problem, per_s: float) -> Problem:
    graphs = [replace(graph, demand_per_s=per_s) for graph in problem.topologies]
    return build(graphs, problem.cluster, problem.profile)


def pipeline(demand: float | None = None, machines: int = 10, **options: Any) -> Problem:
    """a>b at 1 point per tuple/s: one executor serves 100 tuples/s."""
    graph = topology("a>b", demand_per_s=demand, **options)
    return build(graph, cluster(M1=machines, every=FOUR_CORES), profile(a=1.0, b=1.0))

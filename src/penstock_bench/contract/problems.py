"""The fixed problems every scheduler is tried on, each with what makes it worth trying."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from penstock.model.problem import Problem, build
from penstock.schedulers import Budget, Scheduler, get
from penstock.schedulers.counts import missing_counts
from penstock_bench.contract.builders import (
    SHAPES,
    Options,
    cluster,
    nasiri,
    nasiri_profile,
    profile,
    topology,
)


def two_demands() -> Problem:
    """Two topologies that must grow together, the second more urgent."""
    graphs = (
        topology(SHAPES["linear"], name="slow", demand_per_s=40.0, priority=3),
        topology(SHAPES["star"], name="fast", demand_per_s=10.0, priority=0),
    )
    return build(graphs, cluster(M1=2, M2=3, M3=1), nasiri_profile())


def no_demands() -> Problem:
    graphs = tuple(topology(SHAPES["linear"], name=name) for name in ("x", "y", "z"))
    return build(graphs, cluster(M1=3, every={"slots": 3}), nasiri_profile())


def racks_and_workers() -> Problem:
    """R-Storm's two racks, with what a worker process and a crossing cost on a real engine."""
    kind = {"worker_cpu_points": 5.0, "worker_memory_mb": 300.0, "memory_mb": 4000.0}
    racks = {f"M1-{i}": "rack-2" for i in (4, 5, 6)}
    graph = topology(
        SHAPES["diamond"],
        streams={"low1>mid": {"tuple_bytes": 200.0}, "high>low3": {"tuple_bytes": 50.0}},
        high={"memory_mb": 512.0},
        mid={"memory_mb": 256.0},
    )
    machines = cluster(M1=6, every={**kind, "nic_mbps": 100.0}, racks=racks)
    return build(graph, machines, profile(low=0.1, mid=0.2, high=0.4, met=1.5, e_remote=0.02))


def few_instances() -> Problem:
    """Limits on every count: by max_instances, by tasks, and a spout that must be alone."""
    graph = topology(
        SHAPES["linear"], low={"max_instances": 1}, mid={"tasks": 3}, high={"max_instances": 4}
    )
    return build(graph, cluster(M1=4, M2=4, M3=4), nasiri_profile())


def cores() -> Problem:
    kind = {"cpu_points": 400.0, "core_points": 100.0}
    return build(topology(SHAPES["star"]), cluster(M1=1, M2=2, M3=1, every=kind), nasiri_profile())


def groupings() -> Problem:
    """One stream of each grouping."""
    kinds = ("shuffle", "all", "global", "local-or-shuffle", "direct", "custom", "weighted")
    streams: dict[str, Options] = {f"a>b{i}": {"grouping": kind} for i, kind in enumerate(kinds)}
    streams["a>c"] = {"grouping": "fields", "keys": 20, "key_skew": 1.0}
    graph = topology(" ".join(streams), streams=streams)
    return build(graph, cluster(M1=3), profile(a=0.05, b=0.1, c=0.1, met=0.5))


def counts_given() -> Problem:
    counts: dict[str, Any] = {
        "low": {"instances": 3},
        "mid": {"instances": 1},
        "high": {"instances": 5},
    }
    return build(
        topology(SHAPES["linear"], **counts, workers=4), cluster(M1=2, M2=2, M3=2), nasiri_profile()
    )


def weights_allowed() -> Problem:
    """Shares may differ, so a plan may use unlike machines to the full."""
    machines = cluster(M1=1, M2=2, M3=1)
    return build(topology(SHAPES["linear"]), machines, nasiri_profile(), weighted=True)


def free_work() -> Problem:
    return build(topology("a>b"), cluster(M1=2), profile(a=0.0, b=0.0, met=1.0))


def too_much() -> Problem:
    """No plan exists: the overheads of two instances fit on no machine together."""
    return build(topology("a>b"), cluster(M1=1), profile(a=1.0, b=1.0, met=60.0))


def few_slots() -> Problem:
    """Three topologies, two slots."""
    graphs = tuple(topology("low>mid", name=name) for name in ("x", "y", "z"))
    return build(graphs, cluster(M1=1, every={"slots": 2}), nasiri_profile())


def gpus(machines: int = 2) -> Problem:
    """One component asks for a GPU per instance; only one type of machine has any, two each."""
    graph = topology(
        "a>b>c",
        a={"instances": 2},
        b={"instances": 2 * machines - 1, "resources": (("gpu", 1.0),)},
        c={"instances": 4},
    )
    types: dict[str, Options] = {"M1": {"resources": (("gpu", 2.0),)}, "M2": {}}
    costs = profile(a=0.1, b=0.4, c=0.2, met=1.0)
    return build(graph, cluster(types=types, M1=machines, M2=machines), costs)


def gpus_on_many_cores() -> Problem:
    """The same where an instance is full long before its machine is."""
    problem = gpus()
    kinds = tuple(
        replace(kind, cpu_points=400.0, core_points=100.0) for kind in problem.cluster.types
    )
    return replace(problem, cluster=replace(problem.cluster, types=kinds))


WITH_RATES: dict[str, Callable[[], Problem]] = {
    **{
        f"{shape} on {machines}": partial(nasiri, shape, machines)
        for shape in SHAPES
        for machines in ((1, 1, 1), (2, 2, 2), (10, 10, 10))
    },
    "linear on (20, 70, 90)": lambda: nasiri("linear", (20, 70, 90)),
    "two demands": two_demands,
    "no demands": no_demands,
    "racks and workers": racks_and_workers,
    "few instances": few_instances,
    "cores": cores,
    "groupings": groupings,
    "counts given": counts_given,
    "weights allowed": weights_allowed,
    "free work": free_work,
    "too much": too_much,
    "few slots": few_slots,
    "gpus": gpus,
    "gpus on many cores": gpus_on_many_cores,
    "gpus and weights": lambda: replace(gpus(), weighted=True),
}


def requests_only() -> Problem:
    """As production topologies are declared: CPU and memory asked for, nothing measured."""
    asks = {"cpu_points": 20.0, "memory_mb": 200.0}
    graph = topology("a>b>c a>c", a={**asks, "instances": 2}, b={**asks, "instances": 4}, c=asks)
    machines = cluster(M1=4, every={"memory_mb": 2000.0}, worker_min_cpu_points=10.0)
    return build(graph, machines).with_counts([2, 4, 3])


def gpu_requests() -> Problem:
    """Nothing measured, and the GPUs just suffice: each must go to the one who asks for it."""
    asks = {"cpu_points": 10.0, "memory_mb": 100.0, "instances": 4}
    graph = topology("a>b>c", a=asks, b={**asks, "resources": (("gpu", 1.0),)}, c=asks)
    types: dict[str, Options] = {"M1": {"resources": (("gpu", 2.0),)}, "M2": {}}
    machines = cluster(types=types, M2=4, M1=2, every={"memory_mb": 2000.0})
    return build(graph, machines).with_counts([4, 4, 4])


def cycle() -> Problem:
    costs = profile(a=1.0, b=1.0, c=1.0)
    return build(topology("a>b>c>b"), cluster(M1=2), costs).with_counts([1, 2, 2])


LARGE = frozenset(name for name in WITH_RATES if name.endswith(("(10, 10, 10)", "(20, 70, 90)")))

WITHOUT_RATES: dict[str, Callable[[], Problem]] = {
    "requests only": requests_only,
    "gpu requests": gpu_requests,
    "cycle": cycle,
}


def made_for(scheduler: type[Scheduler], problem: Problem) -> Problem:
    """The problem as the scheduler needs it: counts of ``hetero`` where it only places."""
    if scheduler.looks.counts or not missing_counts(problem):
        return problem
    counting = get("hetero")()
    placement = counting.solve(problem, Budget(5000), np.random.default_rng(0)).placement
    most = [1] * len(problem.components)
    if placement is not None:
        # Where hetero refused a topology, one instance of each is asked for.
        most = [max(1, count) for count in placement.counts(len(problem.components)).tolist()]
    return problem.with_counts(most)

"""Random problems small enough for the exact scheduler, as unlike as the model allows."""

from __future__ import annotations

import numpy as np

from penstock.model.cluster import Cluster, Machine, MachineType
from penstock.model.problem import Problem, build
from penstock.model.profile import Cost, Profile
from penstock.model.topology import Component, Kind, Stream, Topology


def small_problem(seed: int) -> Problem:
    """Two to four components on two to four machines of up to three types.

    Every e is drawn by itself, so that no type is the fast one for all components; one or two
    spouts with unequal shares; selectivities from 0.1 to 10; memory limits on half of the problems.
    """
    rng = np.random.default_rng(seed)
    graph = _topology(rng)
    machines = _cluster(rng, memory=bool(rng.random() < 0.5))
    costs = tuple(
        Cost(c.name, t.name, e=_drawn(rng, 0.05, 1.0), met=_drawn(rng, 0.3, 6.0))
        for c in graph.components
        for t in machines.types
    )
    memory = tuple((c.name, float(rng.choice([100, 200, 300, 500]))) for c in graph.components)
    return build(graph, machines, Profile("random", costs, memory))


def _topology(rng: np.random.Generator) -> Topology:
    size = int(rng.integers(2, 5))
    spouts = int(rng.integers(1, min(size, 3)))
    components = tuple(
        Component(
            f"c{i}",
            Kind.SPOUT if i < spouts else Kind.BOLT,
            share=_drawn(rng, 0.5, 2.0) if i < spouts else 1.0,
        )
        for i in range(size)
    )
    streams = []
    for target in range(spouts, size):
        sources = [s for s in range(target) if rng.random() < 0.6] or [int(rng.integers(target))]
        streams += [
            Stream(f"c{source}", f"c{target}", selectivity=_drawn(rng, 0.1, 10.0))
            for source in sources
        ]
    return Topology("random", components, tuple(streams))


def _cluster(rng: np.random.Generator, *, memory: bool) -> Cluster:
    number = int(rng.integers(2, 5))
    types = tuple(
        MachineType(
            f"t{i}",
            cpu_points=float(rng.choice([100, 200])),
            memory_mb=float(rng.choice([600, 1000, 1600])) if memory else None,
        )
        for i in range(int(rng.integers(1, min(number, 3) + 1)))
    )
    machines = tuple(
        Machine(f"m{i}", types[min(i, int(rng.integers(len(types))))].name) for i in range(number)
    )
    return Cluster("random", types, machines)


def _drawn(rng: np.random.Generator, low: float, high: float) -> float:
    """Log-uniform, to four figures."""
    return float(f"{np.exp(rng.uniform(np.log(low), np.log(high))):.4g}")

"""Random but realistic problems by size and seed, for benchmarks and for other researchers.

Topologies are layered graphs like those of the papers: a few spouts, bolts that subscribe to one
or two components not far upstream, selectivities around 1, visit ratios kept between 0.05 and 20.
Machine types differ in speed by a factor of up to four, and each kind of work suits some types
better than others, so that no order of the types is right for all components. Overheads, memory
and tuple sizes are in the ranges seen on real Storm. Machines stand in racks of twenty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.errors import Finding, InputError
from penstock.files.cluster_file import MOST_MACHINES
from penstock.model.cluster import Cluster, Link, Machine, MachineType, Network
from penstock.model.profile import Cost, Origin, Profile
from penstock.model.topology import Component, Grouping, Kind, Stream, Topology

#: Of all topologies together; ten times what has ever been planned.
MOST_COMPONENTS = 100_000
_MACHINES_PER_RACK = 20
_LEAST_VISITS, _MOST_VISITS = 0.05, 20.0


@dataclass(frozen=True)
class Size:
    """How large a problem to make."""

    components: int = 10
    machines: int = 20
    types: int = 3
    topologies: int = 1
    #: Use other groupings than shuffle.
    mixed_groupings: bool = False
    #: Give machines and instances memory.
    memory: bool = False

    def __post_init__(self) -> None:
        findings = [
            Finding(f"{name} must be at least 1, not {value}")
            for name, value in (
                ("components", self.components),
                ("machines", self.machines),
                ("types", self.types),
                ("topologies", self.topologies),
            )
            if value < 1
        ]
        if self.machines > MOST_MACHINES:
            findings.append(Finding(f"at most {MOST_MACHINES:,} machines, not {self.machines:,}"))
        if (total := self.components * self.topologies) > MOST_COMPONENTS:
            findings.append(
                Finding(f"at most {MOST_COMPONENTS:,} components in all, not {total:,}")
            )
        if self.types > self.machines >= 1:
            findings.append(Finding(f"{self.types} types need at least as many machines"))
        if findings:
            raise InputError(*findings)


@dataclass(frozen=True)
class Generated:
    topologies: tuple[Topology, ...]
    cluster: Cluster
    profile: Profile


def generate(size: Size, seed: int) -> Generated:
    """A problem of that size; the same size and seed give the same problem."""
    rng = np.random.default_rng(seed)
    names = [f"t{i + 1}" for i in range(size.topologies)]
    topologies = tuple(_topology(name, size, rng) for name in names)
    cluster = _cluster(size, seed, rng)
    rows = [c.cost_row for topology in topologies for c in topology.components]
    return Generated(topologies, cluster, _profile(rows, cluster, size, seed, rng))


def _topology(name: str, size: Size, rng: np.random.Generator) -> Topology:
    spouts = max(1, round(size.components * rng.uniform(0.05, 0.2)))
    spouts = min(spouts, size.components)
    width = len(str(size.components))
    names = [f"{name}-c{i + 1:0{width}d}" for i in range(size.components)]
    visits = np.zeros(size.components)
    visits[:spouts] = 1.0 / spouts
    streams = []
    for target in range(spouts, size.components):
        # Two components upstream at most, most likely near ones: long pipelines with joins.
        parents = min(target, 1 + int(rng.random() < 0.3))
        distance = rng.geometric(0.4, size=parents * 4)
        sources = list(dict.fromkeys(max(0, target - int(d)) for d in distance))[:parents]
        selectivity = rng.lognormal(0.0, 0.7, size=len(sources))
        total = float(visits[sources] @ selectivity)
        selectivity *= np.clip(total, _LEAST_VISITS, _MOST_VISITS) / total
        visits[target] = float(visits[sources] @ selectivity)
        grouping = _grouping(size, rng)
        keys = int(rng.integers(100, 100_000)) if grouping is Grouping.FIELDS else 0
        streams += [
            Stream(
                names[source],
                names[target],
                grouping=grouping,
                selectivity=_rounded(alpha),
                tuple_bytes=_rounded(rng.lognormal(5.3, 0.8)),
                keys=keys,
                key_skew=_rounded(rng.uniform(0.0, 1.2)) if keys else 0.0,
            )
            for source, alpha in zip(sources, selectivity, strict=True)
        ]
    components = tuple(
        Component(component, Kind.SPOUT if i < spouts else Kind.BOLT)
        for i, component in enumerate(names)
    )
    demand = _rounded(rng.uniform(500, 5000)) if size.topologies > 1 else None
    return Topology(name, components, tuple(streams), demand_per_s=demand)


def _grouping(size: Size, rng: np.random.Generator) -> Grouping:
    if not size.mixed_groupings:
        return Grouping.SHUFFLE
    kinds = [Grouping.SHUFFLE, Grouping.FIELDS, Grouping.LOCAL_OR_SHUFFLE, Grouping.GLOBAL]
    return kinds[int(rng.choice(len(kinds), p=[0.6, 0.25, 0.1, 0.05]))]


def _cluster(size: Size, seed: int, rng: np.random.Generator) -> Cluster:
    types = tuple(
        MachineType(
            f"type-{i + 1}",
            cpu_points=float(rng.choice([100, 200, 400])),
            memory_mb=float(rng.choice([4096, 8192, 16384])) if size.memory else None,
        )
        for i in range(size.types)
    )
    # Every type once, the rest at random: a cluster that grew in generations.
    weight = rng.dirichlet(np.full(size.types, 2.0))
    extra = rng.choice(size.types, size=size.machines - size.types, p=weight)
    kinds = np.sort(np.concatenate([np.arange(size.types), extra]))
    width = len(str(size.machines))
    machines = tuple(
        Machine(f"m{i + 1:0{width}d}", types[kind].name, rack=f"rack-{i // _MACHINES_PER_RACK + 1}")
        for i, kind in enumerate(kinds.tolist())
    )
    links = (Link(0.0), Link(0.05), Link(0.2), Link(0.5), Link(20.0))
    return Cluster(f"generated-{seed}", types, machines, Network(links))


def _profile(
    rows: list[str], cluster: Cluster, size: Size, seed: int, rng: np.random.Generator
) -> Profile:
    speed = rng.uniform(0.5, 2.0, size=len(cluster.types))
    work = rng.lognormal(np.log(0.05), 0.8, size=len(rows))
    affinity = rng.lognormal(0.0, 0.2, size=(len(rows), len(cluster.types)))
    met = rng.uniform(0.5, 3.0, size=len(rows))
    costs = tuple(
        Cost(
            row,
            kind.name,
            e=_rounded(work[i] * affinity[i, j] / speed[j]),
            met=_rounded(met[i] / speed[j]),
        )
        for i, row in enumerate(rows)
        for j, kind in enumerate(cluster.types)
    )
    memory = tuple((row, float(rng.choice([64, 128, 256, 512]))) for row in rows)
    return Profile(
        f"generated-{seed}",
        costs,
        memory_mb=memory if size.memory else (),
        origin=Origin.ASSUMED,
        source=f"penstock generate, seed {seed}",
    )


def _rounded(value: float) -> float:
    """Four figures: files that people can read, and the same problem from its file."""
    return float(f"{value:.4g}")

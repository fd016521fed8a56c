"""The problems of an ablation, in families: whoever searches differently pays in some of them.

Everything is drawn from the seed except the examples of the certified and the realistic suite, so
that what was decided on some seeds can be judged on others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from penstock import app
from penstock.model.cluster import Cluster, Machine, MachineType
from penstock.model.problem import Problem, build
from penstock.model.terms import Least, Terms
from penstock.model.topology import Component, Kind, Stream, Topology
from penstock_bench.benchmarks.realistic import CASES, ProblemSetting, real_problem
from penstock_bench.benchmarks.small_problems import small_problem
from penstock_bench.contract.random_problems import FEATURES, Dice, random_problem
from penstock_bench.generate import Size, generate


@dataclass(frozen=True)
class Case:
    """A problem, and the seed with which it is planned."""

    family: str
    name: str
    problem: Problem
    seed: int


#: Problems of a family, by the first seed and how many; fewer where there are no more.
Family = Callable[[int, int], Iterator[tuple[str, Problem]]]

_TOPOLOGIES = ("linear", "diamond", "star")
_CLUSTERS = ("nasiri-small", "nasiri-medium", "nasiri-large")
_METS = (0.5, 1.5, 3.0)


def _certified(seed: int, count: int, *, weighted: bool = False) -> Iterator[tuple[str, Problem]]:
    every = [(t, c, met) for met in _METS for c in _CLUSTERS for t in _TOPOLOGIES]
    # A step that shares no factor with 27 goes through all of them, and through unlike ones first.
    for i in range(min(count, len(every))):
        topology, cluster, met = every[(10 * i + seed) % len(every)]
        problem = app.problem(topology, cluster, met=met, weighted=weighted)
        yield f"{topology} {cluster} met {met:g}", problem


def _certified_shares(seed: int, count: int) -> Iterator[tuple[str, Problem]]:
    return _certified(seed, count, weighted=True)


def _crossings(seed: int, count: int) -> Iterator[tuple[str, Problem]]:
    """A tuple that crosses processes costs a part of its own work more."""
    for i, (name, problem) in enumerate(_certified(seed, count)):
        assert problem.profile is not None
        more = (0.1, 0.3)[i % 2]
        costs = tuple(replace(c, e_remote=more * c.e) for c in problem.profile.costs)
        profile = replace(problem.profile, costs=costs)
        weighted = i % 3 != 0
        yield (
            f"{name} crossing {more:g}{' shares' if weighted else ''}",
            build(problem.topologies, problem.cluster, profile, weighted=weighted),
        )


def _small(seed: int, count: int) -> Iterator[tuple[str, Problem]]:
    for number in range(seed, seed + count):
        yield f"small {number}", small_problem(number)


def _generated(seed: int, count: int, *, weighted: bool = False) -> Iterator[tuple[str, Problem]]:
    """Layered graphs on machines without memory or cards, from few components to many."""
    sizes = [Size(4, 12, 3), Size(8, 30, 3), Size(15, 60, 5), Size(6, 150, 3), Size(30, 90, 6)]
    for number in range(seed, seed + count):
        size = replace(sizes[number % len(sizes)], memory=number % 3 == 2)
        generated = generate(size, number)
        problem = build(
            generated.topologies, generated.cluster, generated.profile, weighted=weighted
        )
        yield f"{size.components} on {size.machines}, {number}", problem


def _generated_shares(seed: int, count: int) -> Iterator[tuple[str, Problem]]:
    return _generated(seed, count, weighted=True)


def _wide(seed: int, count: int) -> Iterator[tuple[str, Problem]]:
    """Instances of one thread on machines of many cores, all groupings even."""
    for number in range(seed, seed + count):
        size = Size((5, 12, 25)[number % 3], (20, 60, 150)[number % 3], 4)
        generated = generate(size, number)
        types = tuple(
            replace(t, cpu_points=4 * t.cpu_points, core_points=100.0)
            for t in generated.cluster.types
        )
        cluster = replace(generated.cluster, types=types)
        problem = build(generated.topologies, cluster, generated.profile, weighted=number % 2 == 1)
        yield f"{size.components} on {size.machines} wide, {number}", problem


def _drawn(seed: int, count: int) -> Iterator[tuple[str, Problem]]:
    """As the realistic suite, smaller: keys, memory, slots, cards and crossings in turn."""
    settings = (
        ProblemSetting(machines=12, skew=0.8),
        ProblemSetting(machines=14, types=3, memory=0.85, topologies=2),
        ProblemSetting(machines=16, topologies=3, slots=2),
        ProblemSetting(machines=12, types=3, topologies=2, nic_mbps_per_core=20.0),
        ProblemSetting(machines=10, types=3, remote=0.15),
        ProblemSetting(machines=16, topologies=3, slots=1),
        ProblemSetting(machines=20, types=4, cores=(4, 8), skew=0.4, topologies=2),
    )
    for number in range(seed, seed + count):
        setting = replace(settings[number % len(settings)], weighted=number // 7 % 2 == 1)
        yield (
            f"drawn {number % len(settings)}, {number}{' shares' if setting.weighted else ''}",
            real_problem(setting, number),
        )


def _realistic(seed: int, count: int) -> Iterator[tuple[str, Problem]]:
    every = [(case, weighted) for weighted in (False, True) for case in CASES]
    for i in range(min(count, len(every))):
        case, weighted = every[(5 * i + seed) % len(every)]
        setting, drawn = CASES[case]
        problem = real_problem(replace(setting, weighted=weighted), drawn)
        yield case + (", shares" if weighted else ""), problem


def _anything(seed: int, count: int) -> Iterator[tuple[str, Problem]]:
    """Small problems with any features of the model at once."""
    for number in range(seed, seed + count):
        random = Random(number)
        features = frozenset(name for name in FEATURES if random.random() < 0.5)
        dice = Dice(random.randrange(2**32), features, 2, 5, 3, 8)
        yield (
            f"anything {number}",
            replace(random_problem(dice), weighted=random.random() < 0.4),
        )


def _terms(seed: int, count: int) -> Iterator[tuple[str, Problem]]:
    """A rate, or a little below the highest one, with the least of something."""
    for number in range(seed, seed + count):
        generated = generate(Size((4, 8, 12)[number % 3], (12, 24, 40)[number % 3], 3), number)
        types = tuple(
            replace(t, price_per_hour=0.1 + 0.3 * i, idle_watts=40.0 + 30 * i, full_watts=150.0)
            for i, t in enumerate(generated.cluster.types)
        )
        cluster = replace(generated.cluster, types=types)
        problem = build(generated.topologies, cluster, generated.profile, weighted=number % 5 == 4)
        what = list(Least)[number % len(Least)]
        yield f"least {what.value}, {number}", replace(problem, terms=Terms(least=(what,)))


def _requests(seed: int, count: int) -> Iterator[tuple[str, Problem]]:
    """Nothing measured: CPU and memory asked for, some topologies lean and some not."""
    for number in range(seed, seed + count):
        yield f"requests {number}", _requests_problem(np.random.default_rng([number, 7]))


def _requests_problem(rng: np.random.Generator) -> Problem:
    memory = float(rng.choice([16_000.0, 32_000.0, 64_000.0]))
    kinds = tuple(
        MachineType(f"k{i}", cpu_points=c, memory_mb=memory * m, slots=int(rng.integers(6, 20)))
        for i, (c, m) in enumerate(((800.0, 1.0), (1600.0, 1.5)))
    )
    size = int(rng.integers(24, 90))
    machines = tuple(
        Machine(f"m{i:03d}", kinds[int(rng.random() < 0.3)].name, rack=f"rack-{i // 12}")
        for i in range(size)
    )
    cluster = Cluster("requests", kinds, machines)
    # As much asked for as fills a part of the cluster, by the scarcer of CPU and memory.
    aimed = float(rng.uniform(0.4, 0.9))
    points = float(cluster.usable_cpu.sum()) * aimed
    megabytes = float(cluster.per_type("memory_mb")[cluster.type_of].sum()) * aimed
    topologies: list[Topology] = []
    while points > 0 and megabytes > 0:
        topology = _asking_topology(f"t{len(topologies)}", rng, memory)
        points -= sum((c.instances or 1) * (c.cpu_points or 0.0) for c in topology.components)
        megabytes -= sum((c.instances or 1) * (c.memory_mb or 0.0) for c in topology.components)
        topologies.append(topology)
    return build(topologies[:-1] or topologies, cluster)


def _asking_topology(name: str, rng: np.random.Generator, memory: float) -> Topology:
    lean = float(10 ** rng.uniform(-0.5, 0.5))  # memory for CPU, over what machines have
    components = tuple(
        Component(
            f"c{i}",
            Kind.SPOUT if i == 0 else Kind.BOLT,
            instances=int(rng.integers(1, 24)),
            cpu_points=(cpu := float(rng.choice([10.0, 25.0, 50.0, 100.0, 300.0]))),
            memory_mb=min(cpu / 800.0 * memory * lean, 0.5 * memory),
        )
        for i in range(int(rng.integers(2, 7)))
    )
    streams = tuple(
        Stream(f"c{int(rng.integers(max(0, i - 2), i))}", f"c{i}")
        for i in range(1, len(components))
    )
    return Topology(
        name,
        components,
        streams,
        priority=int(rng.integers(0, 3)),
        worker_max_heap_mb=0.5 * memory,
    )


#: Families and how many problems of each, whole and quick.
FAMILIES: dict[str, tuple[Family, int, int]] = {
    "certified": (_certified, 27, 2),
    "certified, shares": (_certified_shares, 27, 1),
    "crossings": (_crossings, 12, 2),
    "small": (_small, 40, 3),
    "generated": (_generated, 20, 2),
    "generated, shares": (_generated_shares, 10, 1),
    "wide machines": (_wide, 12, 1),
    "drawn": (_drawn, 28, 7),
    "realistic": (_realistic, 24, 0),
    "anything": (_anything, 60, 8),
    "terms": (_terms, 16, 4),
    "requests": (_requests, 12, 3),
}


def cases(seed: int, *, quick: bool = False, family: str = "") -> Iterator[Case]:
    """All problems of the families with this in their name."""
    for name, (drawn, count, few) in FAMILIES.items():
        if family in name:
            for title, problem in drawn(seed, few if quick else count):
                yield Case(name, title, problem, seed)

"""Problems as people have them: many-core machines bought over the years, several topologies with
skewed keys, and memory, slots, network cards or crossings that bind.

A problem is drawn from a seed, so that any number of others like those of the suite can be tried:
``penstock bench realistic --seed 1``, or one of them
``real_problem(ProblemSetting(machines=60, skew=1.0), seed=1234)``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

import numpy as np

from penstock import app
from penstock.model.cluster import Cluster, Machine, MachineType
from penstock.model.problem import Problem, build
from penstock.model.profile import Cost, Origin, Profile
from penstock.model.topology import Component, Grouping, Kind, Stream, Topology
from penstock.schedulers import SCHEDULERS
from penstock.schedulers.base import Budget
from penstock_bench.benchmarks.reference_loop import loop_seconds
from penstock_bench.benchmarks.suite import FigureTable

_CORES = (4, 8, 16, 32, 64)
_MB_PER_CORE = 4096.0
_WORKER_MB = 400.0
#: Seeds of other problems than the suite's own are apart by this much.
_OTHERS_FROM = 1000


@dataclass(frozen=True)
class ProblemSetting:
    """What a problem is like; everything else is drawn."""

    machines: int = 24
    types: int = 4
    #: Cores of a machine, from and to.
    cores: tuple[int, int] = (4, 64)
    topologies: int = 1
    #: Distinct keys of the keyed streams, and their Zipf exponent.
    keys: int = 1_000_000
    skew: float = 0.0
    #: Memory of an instance over that of a core; near 1 memory binds.
    memory: float = 0.2
    #: Slots of a machine; ``None``: enough.
    slots: int | None = None
    #: Mb/s of a machine's card per core; ``None``: no limit.
    nic_mbps_per_core: float | None = None
    #: Cost of a tuple that crosses processes, over its own.
    remote: float = 0.0
    #: Fixed points of an instance.
    met: float = 1.5
    weighted: bool = False


def real_problem(setting: ProblemSetting, seed: int) -> Problem:
    """A problem of that setting; the same seed gives the same problem."""
    rng = np.random.default_rng([seed, setting.machines, setting.topologies])
    cluster, speed = _cluster(setting, rng)
    topologies = tuple(_topology(setting, i, rng) for i in range(setting.topologies))
    profile = _profile(setting, topologies, cluster, speed, rng)
    return build(topologies, cluster, profile, weighted=setting.weighted)


def _cluster(setting: ProblemSetting, rng: np.random.Generator) -> tuple[Cluster, list[float]]:
    low, high = setting.cores
    sizes = [cores for cores in _CORES if low <= cores <= high]
    types, speed = [], []
    for t in range(setting.types):
        cores = int(rng.choice(sizes))
        card = setting.nic_mbps_per_core
        types.append(
            MachineType(
                f"type-{t + 1}",
                cpu_points=100.0 * cores,
                core_points=100.0,
                memory_mb=_MB_PER_CORE * cores,
                slots=max(setting.topologies, 4) if setting.slots is None else setting.slots,
                nic_mbps=None if card is None else card * cores,
                worker_cpu_points=float(np.round(rng.uniform(2.0, 5.0), 1)),
                worker_memory_mb=_WORKER_MB,
            )
        )
        speed.append(float(rng.uniform(0.5, 1.6)))
    counts = 1 + rng.multinomial(
        setting.machines - setting.types, rng.dirichlet(np.ones(setting.types) * 3)
    )
    machines = tuple(
        Machine(f"{kind.name}-m{i + 1}", kind.name, rack=f"rack-{(i % 3) + 1}")
        for kind, number in zip(types, counts, strict=True)
        for i in range(int(number))
    )
    return Cluster("fleet", tuple(types), machines), speed


def _topology(setting: ProblemSetting, index: int, rng: np.random.Generator) -> Topology:
    """Spouts, a few bolts after each other with a branch, keyed aggregation, sinks."""
    names = ["read", *(f"bolt-{i + 1}" for i in range(int(rng.integers(1, 4)))), "count", "sink"]
    streams = [
        Stream(
            a,
            b,
            selectivity=float(rng.uniform(0.6, 1.0)),
            tuple_bytes=float(rng.integers(100, 900)),
        )
        for a, b in pairwise(names[:-2])
    ]
    last = names[-3]
    streams.append(
        Stream(
            last,
            "count",
            selectivity=float(rng.uniform(0.5, 1.0)),
            tuple_bytes=float(rng.integers(100, 500)),
            grouping=Grouping.FIELDS,
            fields=("key",),
            keys=setting.keys,
            key_skew=setting.skew,
        )
    )
    streams.append(
        Stream(
            "count",
            "sink",
            selectivity=float(rng.uniform(0.05, 0.4)),
            tuple_bytes=float(rng.integers(100, 900)),
        )
    )
    if rng.random() < 0.5:
        names.append("audit")
        streams.append(Stream(names[1], "audit", name="side", selectivity=0.1, tuple_bytes=200.0))
    components = tuple(
        Component(name, Kind.SPOUT if name == "read" else Kind.BOLT) for name in names
    )
    demand = float(rng.integers(5, 50)) * 1000.0 if setting.topologies > 1 else None
    return Topology(f"flow-{index + 1}", components, tuple(streams), demand_per_s=demand)


def _profile(
    setting: ProblemSetting,
    topologies: tuple[Topology, ...],
    cluster: Cluster,
    speed: list[float],
    rng: np.random.Generator,
) -> Profile:
    costs, memory = [], []
    for topology in topologies:
        for component in topology.components:
            row = f"{topology.name}.{component.name}"
            work = float(10 ** rng.uniform(-2.3, -1.2))
            memory.append(
                (row, float(np.round(_MB_PER_CORE * setting.memory * rng.uniform(0.6, 1.4))))
            )
            for kind, pace in zip(cluster.types, speed, strict=True):
                # A machine is not equally good at everything.
                e = work / pace * float(rng.uniform(0.8, 1.25))
                costs.append(
                    Cost(
                        row,
                        kind.name,
                        e=e,
                        met=setting.met * float(rng.uniform(0.7, 1.3)),
                        e_remote=setting.remote * e,
                    )
                )
    return Profile("drawn", tuple(costs), tuple(memory), origin=Origin.ASSUMED)


# -- what the suite measures -----------------------------------------------------------------------

#: Twelve problems; the seeds were not chosen by their results.
CASES: dict[str, tuple[ProblemSetting, int]] = {
    "skew 0.8, 24 machines": (ProblemSetting(skew=0.8, keys=2_000_000), 1),
    "5,000 keys, 22 machines": (ProblemSetting(machines=22, keys=5000), 2),
    "5 types, 40 machines": (ProblemSetting(machines=40, types=5), 3),
    "skew 1.0, 40 machines": (ProblemSetting(machines=40, skew=1.0), 4),
    "skew 1.2, 60 machines": (ProblemSetting(machines=60, skew=1.2, types=5), 5),
    "4 topologies, skew 0.6": (ProblemSetting(machines=30, topologies=4, skew=0.6), 6),
    "memory binds, 2 topologies": (ProblemSetting(machines=50, topologies=2, memory=0.85), 7),
    "2 slots, 5 topologies": (ProblemSetting(machines=40, topologies=5, slots=2), 8),
    "cards bind, 2 topologies": (
        ProblemSetting(machines=30, topologies=2, nic_mbps_per_core=20.0),
        9,
    ),
    "crossings cost 15 %": (ProblemSetting(topologies=2, remote=0.15), 10),
    "200 machines, 3 topologies": (
        ProblemSetting(machines=200, types=5, topologies=3, skew=0.4),
        11,
    ),
    "4 and 8 cores, 3 topologies": (ProblemSetting(machines=20, cores=(4, 8), topologies=3), 12),
}


def realistic_problem(name: str, seed: int | None, *, weighted: bool) -> Problem:
    """The suite's own problem, or with a seed another one with the same setting."""
    setting, own = CASES[name]
    drawn = own if seed is None else _OTHERS_FROM * (seed + 1) + own
    return real_problem(replace(setting, weighted=weighted), drawn)


@dataclass(frozen=True)
class Answer:
    """A plan for one of the cases, beside what it is held against."""

    rate: float
    #: Fraction of the bound that the plan leaves.
    gap: float
    #: A key, and not the machines, is what the bound comes from.
    key_binds: bool
    cpu_seconds: float
    wall_seconds: float


@lru_cache(maxsize=64)
def _answer(case: str, seed: int | None, *, weighted: bool) -> Answer:
    problem = realistic_problem(case, seed, weighted=weighted)
    wall, cpu = time.perf_counter(), time.process_time()
    planned = app.plan(problem, "penstock")
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    facts, bound = planned.facts, planned.bound
    gap = 1.0 if facts.gap is None else facts.gap
    key_binds = bound is not None and bound.hottest_key is not None
    return Answer(facts.scale or 0.0, gap, key_binds, cpu, wall)


def gap_percent(
    repeats: int, weighted: bool, key_binds: bool, seed: int | None = None
) -> Iterator[float]:
    """Gap to the bound of every case in which a key binds, or in which none does."""
    del repeats  # plans are the same every time
    for case in CASES:
        answer = _answer(case, seed, weighted=weighted)
        if answer.key_binds == key_binds:
            yield 100.0 * answer.gap


def cpu_seconds(repeats: int, seed: int | None = None) -> Iterator[float]:
    """CPU time to plan, others' plans and the bound included."""
    del repeats
    for case in CASES:
        for weighted in (False, True):
            yield _answer(case, seed, weighted=weighted).cpu_seconds


def others_ahead_percent(repeats: int, weighted: bool, seed: int | None = None) -> Iterator[float]:
    """How far the best other scheduler is ahead of ours, of those that place everything."""
    del repeats
    for case in CASES:
        problem = realistic_problem(case, seed, weighted=weighted)
        names = [name for name in SCHEDULERS.usable() if name != "penstock"]
        rows = app.compare(problem, names, budget=lambda: Budget(seconds=30)).rows
        legal = [r.facts for r in rows if not (r.facts.violations or r.facts.shortfalls)]
        best = max((f.scale for f in legal if f.scale is not None), default=0.0)
        yield 100.0 * (best / max(_answer(case, seed, weighted=weighted).rate, 1e-300) - 1.0)


def case_by_case(seed: int | None = None) -> FigureTable:
    """Gaps and seconds of every case, with plain shuffle and with shares."""
    rows = []
    for case in CASES:
        plain, shared = _answer(case, seed, weighted=False), _answer(case, seed, weighted=True)
        rows.append(
            [
                case,
                "hottest key" if plain.key_binds else "machines",
                f"{100 * plain.gap:.2f} %",
                f"{100 * shared.gap:.2f} %",
                f"{plain.wall_seconds:.1f} s",
                f"{shared.wall_seconds:.1f} s",
            ]
        )
    columns = ["problem", "bound by", "gap, shuffle", "gap, shares", "time", "time, shares"]
    reference = 1e3 * loop_seconds()
    return FigureTable(
        f"Realistic problems (a reference loop took {reference:.1f} ms)", columns, rows
    )

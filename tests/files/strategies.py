"""Random topologies, clusters, profiles and plans with every field of their files in play.

Names and texts are those that break writers: words that YAML takes for something else, quotes,
blanks, letters of other scripts. As in :mod:`tests.model.strategies`, Hypothesis draws a seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from penstock.model.cluster import Cluster, Link, Machine, MachineType, Network
from penstock.model.cpu_form import CpuForm, FormKind
from penstock.model.instance_traffic import InstanceTraffic
from penstock.model.placement import Placement
from penstock.model.plan import Contingency, MachineLoad, Plan, Prediction
from penstock.model.problem import build
from penstock.model.profile import (
    Cost,
    Origin,
    Profile,
    SpeedBasis,
    SpeedEstimate,
    StreamMeasure,
    WorkerCost,
)
from penstock.model.resources import Quantities, ResourceKind
from penstock.model.terms import Held, Least, Terms
from penstock.model.topology import Component, Grouping, Kind, Stream, Topology

_WORDS = (
    *("no", "on", "Yes", "null", "~", "true", "1e3", "0o17", "0x1F", "1_000", ".5", "12:30"),
    *("2020-01-01", "<<", "=", "a: b", "#x", "- x", "é→ß", "語", "😀", "'", '"', "a\\b", "[x]"),
    *("{x}", "*a", "&a", "!x", "%x", "@a", "|", ">", "a b", "name", "a.b", "a[0]", "x" * 200),
)


def some(dice: Random, make: Any) -> Any:
    """A value in half of the cases, else nothing."""
    return make() if dice.random() < 0.5 else None


def names(dice: Random, count: int) -> list[str]:
    return dice.sample(_WORDS, count)


def number(dice: Random) -> float:
    """Figures of all sizes, as long as floats can be."""
    return dice.choice([0.1, 1.0, 7.0, 1e-6, 123456.0, dice.uniform(0.001, 1), 1 / 3, 1e9])


def text(dice: Random) -> str:
    return " ".join(dice.choices([*_WORDS, "\n", "\t", "\u2028", "  "], k=dice.randrange(12)))


def random_topology(dice: Random, name: str, *, demand: float | None = None) -> Topology:
    labels = names(dice, dice.randint(1, 6))
    components = tuple(
        _component(dice, label, Kind.SPOUT if i == 0 else dice.choice([Kind.SPOUT, Kind.BOLT]))
        for i, label in enumerate(labels)
    )
    streams = tuple(
        _stream(dice, *dice.choices(labels, k=2)) for _ in range(dice.randrange(2 * len(labels)))
    )
    return Topology(
        name,
        components,
        streams,
        workers=some(dice, lambda: dice.randint(1, 99)),
        priority=dice.choice([0, 0, 3]),
        demand_per_s=demand,
        worker_max_heap_mb=some(dice, lambda: number(dice)),
        version=some(dice, lambda: dice.choice(_WORDS)),
        bound_by=some(dice, lambda: dice.choice(["cpu", "memory", "network"])),
    )


def _component(dice: Random, name: str, kind: Kind) -> Component:
    memory = some(dice, lambda: number(dice))
    instances = some(dice, lambda: dice.randint(1, 5))
    return Component(
        name,
        kind,
        profile=dice.choice(["", *_WORDS]),
        instances=instances,
        max_instances=some(dice, lambda: dice.randint(5, 9)),
        tasks=some(dice, lambda: dice.randint(5, 9)),
        threads=dice.choice([1.0, 2.5]),
        share=dice.choice([1.0, 0.25]),
        cpu_points=some(dice, lambda: number(dice)),
        memory_mb=memory,
        offheap_mb=memory / 2 if memory and dice.random() < 0.5 else 0.0,
        resources=_amounts(dice),
    )


def _amounts(dice: Random) -> Quantities:
    return tuple((name, number(dice)) for name in sorted(names(dice, dice.choice([0, 0, 2]))))


def _stream(dice: Random, source: str, target: str) -> Stream:
    keys = dice.choice([0, 0, 1000])
    return Stream(
        source,
        target,
        name=dice.choice(["default", *_WORDS]),
        grouping=dice.choice(list(Grouping)),
        selectivity=dice.choice([0.0, 1.0, number(dice)]),
        tuple_bytes=dice.choice([0.0, number(dice)]),
        keys=keys,
        key_skew=dice.choice([0.0, 1.25]) if keys else 0.0,
        fields=tuple(names(dice, dice.randrange(3))),
    )


def random_cluster(dice: Random) -> Cluster:
    kinds = tuple(_machine_type(dice, name) for name in names(dice, dice.randint(1, 4)))
    racks, regions = names(dice, 2), names(dice, 2)
    machines = tuple(
        Machine(
            name,
            dice.choice(kinds).name,
            dice.choice(["rack-1", *racks]),
            dice.choice(["region-1", *regions]),
            host=dice.choice(["", "host.example"]),
        )
        for name in names(dice, dice.randint(1, 9))
    )
    present = sorted({machine.region for machine in machines})
    between = ((present[0], present[-1], _link(dice)),) if len(present) > 1 else ()
    links = (_link(dice), _link(dice), _link(dice), _link(dice), _link(dice))
    headroom, least = dice.choice([0.0, 0.25]), dice.choice([0.0, 10.0])
    network, named = Network(links, between), sorted(names(dice, dice.choice([0, 3])))
    resources = tuple(ResourceKind(n, dice.choice(["", "MB/s"]), n < "b") for n in named)
    name = dice.choice(_WORDS)
    return Cluster(name, kinds, machines, network, headroom, least, resources)


def _link(dice: Random) -> Link:
    return Link(dice.choice([0.0, number(dice)]), some(dice, lambda: number(dice)))


def _machine_type(dice: Random, name: str) -> MachineType:
    cpu = dice.choice([100.0, 400.0])
    watts = dice.random() < 0.5
    return MachineType(
        name,
        cpu_points=cpu,
        core_points=some(dice, lambda: cpu / 4),
        speed=some(dice, lambda: number(dice)),
        memory_mb=some(dice, lambda: number(dice)),
        slots=dice.randint(1, 9),
        nic_mbps=some(dice, lambda: number(dice)),
        base_cpu_points=dice.choice([0.0, 2.0]),
        worker_cpu_points=dice.choice([0.0, 3.0]),
        worker_memory_mb=dice.choice([0.0, 300.0]),
        resources=_amounts(dice),
        idle_watts=40.0 if watts else None,
        full_watts=95.5 if watts else None,
        price_per_hour=some(dice, lambda: 0.0),
        sockets=some(dice, lambda: 2),
        cores=some(dice, lambda: 8),
        ghz=some(dice, lambda: 2.4),
        flops_per_cycle=some(dice, lambda: 16.0),
        ram_mb=some(dice, lambda: 8192.0),
        fingerprint=_amounts(dice),
        variant_of=some(dice, lambda: dice.choice(_WORDS)),
    )


def random_profile(dice: Random, rows: list[str], kinds: list[str]) -> Profile:
    costs = tuple(
        Cost(
            row,
            kind,
            e=number(dice),
            met=dice.choice([0.0, number(dice)]),
            e_remote=dice.choice([0.0, number(dice)]),
            e_error=some(dice, lambda: number(dice)),
            met_error=some(dice, lambda: 0.0),
            samples=some(dice, lambda: dice.randint(1, 99)),
            extrapolated=dice.random() < 0.5,
            estimate=some(dice, lambda: random_estimate(dice)),
            form=some(dice, lambda: random_form(dice)),
            linear_error=some(dice, lambda: number(dice)),
            rate_most=some(dice, lambda: number(dice)),
        )
        for row in rows
        for kind in kinds
    )
    measures = tuple(
        StreamMeasure(
            *names(dice, 3),
            topology=dice.choice(["", "t"]),
            selectivity=some(dice, lambda: number(dice)),
            selectivity_error=some(dice, lambda: number(dice)),
            tuple_bytes=some(dice, lambda: 0.0),
        )
        for _ in range(dice.randrange(3))
    )
    memory = tuple((row, number(dice)) for row in rows if dice.random() < 0.5)
    origin = dice.choice(list(Origin))
    workers = tuple(
        WorkerCost(
            kind,
            number(dice),
            some(dice, lambda: number(dice)),
            e_remote=number(dice),
            e_remote_error=some(dice, lambda: number(dice)),
        )
        for kind in kinds
        if dice.random() < 0.5
    )
    traffic = tuple(random_traffic(dice, topology) for topology in ("", "t")[: dice.randrange(3)])
    return Profile(
        dice.choice(_WORDS), costs, memory, measures, workers, origin, text(dice), traffic
    )


def random_traffic(dice: Random, topology: str) -> InstanceTraffic:
    left_out = dice.randrange(2)
    return InstanceTraffic(
        tasks=tuple((name, (2 * i, 2 * i + 1)) for i, name in enumerate(names(dice, 2))),
        pairs=tuple((dice.randrange(4), 3, number(dice)) for _ in range(dice.randrange(3))),
        topology=topology,
        run=dice.choice(["", "r-1"]),
        estimated=dice.random() < 0.5,
        pairs_left_out=left_out,
        left_out_per_s=number(dice) if left_out else 0.0,
    )


def random_estimate(dice: Random) -> SpeedEstimate:
    return SpeedEstimate(dice.choice(_WORDS), number(dice), dice.choice(list(SpeedBasis)))


def random_form(dice: Random) -> CpuForm:
    figures = [number(dice) for _ in range(5)]
    return CpuForm(dice.choice(list(FormKind)), *figures)


def random_plan(dice: Random) -> Plan:
    """A plan of up to three topologies; figures and places are made up, which a file allows."""
    labels = names(dice, dice.randint(1, 3))
    demand = some(dice, lambda: number(dice))
    graphs = [random_topology(dice, label, demand=demand) for label in labels]
    cluster = random_cluster(dice)
    rows = list(dict.fromkeys(c.cost_row for graph in graphs for c in graph.components))
    profile = random_profile(dice, rows, [kind.name for kind in cluster.types])
    problem = build(graphs, cluster, profile, weighted=dice.random() < 0.5)
    if problem.has_rates and dice.random() < 0.5:
        machines = [machine.name for machine in cluster.machines]
        problem = problem.with_terms(random_terms(dice, problem.labels, machines, labels))
    counts = [dice.randint(1, 4) for _ in problem.components]
    if dice.random() < 0.5:
        problem = problem.with_counts(counts)
    machines = [machine.name for machine in cluster.machines]
    component = [c for c, count in enumerate(counts) for _ in range(count)]
    shares: list[float] = []
    for count in counts:
        weights = [dice.random() for _ in range(count)]
        even = dice.random() < 0.5
        shares += [float("nan") if even else w / sum(weights) for w in weights]
    placement = Placement.of(
        component,
        [dice.randrange(len(machines)) for _ in component],
        [dice.randrange(9) for _ in component],
        shares,
    )
    lost = Contingency(
        dice.choice(machines),
        tuple((dice.choice(problem.labels), i, dice.choice(machines), i) for i in range(2)),
        some(dice, lambda: number(dice)),
        ((dice.choice(problem.labels), dice.choice(machines), 3),),
        ((dice.choice(problem.labels), 2),),
        ((dice.choice(problem.labels), (0.25, 0.75)),) if dice.random() < 0.5 else (),
    )
    return Plan(
        problem,
        placement,
        scheduler=dice.choice(_WORDS),
        parameters={"a": 1, "b": 0.5, "c": True, "d": None, "e": dice.choice(_WORDS)},
        seed=dice.choice([0, 2**60]),
        predicted=_prediction(dice, labels, machines),
        notes=tuple(text(dice) for _ in range(dice.randrange(3))),
        if_lost=(lost,) if dice.random() < 0.5 else (),
    )


def random_terms(
    dice: Random, labels: Sequence[str], machines: Sequence[str], topologies: Sequence[str]
) -> Terms:
    """Terms that name these; one machine at least may be used."""
    avoid = machines[1:2] if dice.random() < 0.5 else []
    usable = [machine for machine in machines if machine not in avoid]

    def held() -> Held:
        return Held(dice.choice(labels), dice.choice(usable), dice.randint(1, 5))

    current = tuple(held() for _ in range(dice.randrange(3)))
    return Terms(
        carry_per_s=some(dice, lambda: number(dice)),
        least=tuple(dice.sample(list(Least), dice.randrange(4))),
        give_up=dice.choice([0.0, 0.01, 0.5]),
        latency_ms=tuple((name, number(dice)) for name in topologies if dice.random() < 0.5),
        avoid=tuple(avoid),
        apart=((dice.choice(labels), dice.choice(labels)),) if dice.random() < 0.5 else (),
        fixed=(held(),) if dice.random() < 0.5 else (),
        current=current,
        most_moves=dice.randrange(9) if current else None,
        weights=tuple((name, number(dice)) for name in topologies if dice.random() < 0.5),
    )


def _prediction(dice: Random, labels: list[str], machines: list[str]) -> Prediction:
    loads = tuple(
        MachineLoad(
            name,
            dice.randint(1, 9),
            number(dice),
            100.0,
            some(dice, lambda: number(dice)),
            _amounts(dice),
        )
        for name in machines
    )
    return Prediction(
        rate_per_s=tuple((label, number(dice)) for label in labels),
        scale=some(dice, lambda: 1.0),
        throughput_per_s=some(dice, lambda: number(dice)),
        limited_by=text(dice),
        bound_scale=some(dice, lambda: 1.0 + 2**-52),
        proven_optimal=dice.random() < 0.5,
        machines=loads,
        violations=(text(dice),),
    )


_DICE: SearchStrategy[Random] = st.integers(0, 2**32).map(Random)
topologies = _DICE.map(lambda dice: random_topology(dice, dice.choice(_WORDS)))
clusters = _DICE.map(random_cluster)
profiles = _DICE.map(lambda dice: random_profile(dice, names(dice, 3), names(dice, 2)))
terms = _DICE.map(lambda dice: random_terms(dice, names(dice, 3), names(dice, 3), names(dice, 2)))
plans = _DICE.map(random_plan)

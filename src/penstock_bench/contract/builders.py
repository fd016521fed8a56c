"""Small topologies, clusters and profiles in a line each, so that a test says what it is about.

A component's cost row is its name without trailing digits: ``low1`` and ``low2`` are both ``low``.
Components that nobody feeds are spouts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from penstock.model.cluster import Cluster, Machine, MachineType, Network
from penstock.model.problem import Problem, build
from penstock.model.profile import Cost, Profile
from penstock.model.topology import Component, Grouping, Kind, Stream, Topology

Options = Mapping[str, Any]

#: Nasiri et al., Table 3: CPU points per tuple/s.
TABLE_3: dict[str, Any] = {
    "low": {"M1": 0.0581, "M2": 0.1070, "M3": 0.0916},
    "mid": {"M1": 0.1030, "M2": 0.1844, "M3": 0.1680},
    "high": {"M1": 0.1915, "M2": 0.3449, "M3": 0.3207},
}
NASIRI_MET = 1.5

#: The layouts of Nasiri's Fig. 5; copy fan-out, the first components are the spouts.
SHAPES = {
    "linear": "low>mid>high",
    "diamond": "low1>mid low1>high low1>low2 mid>low3 high>low3 low2>low3",
    "star": "low1>high low2>high high>mid1 high>mid2",
}
#: Machines of M1, M2, M3 in Nasiri's scenarios.
SCENARIOS = ((1, 1, 1), (2, 2, 2), (10, 10, 10), (20, 70, 90))


def topology(
    shape: str,
    *,
    name: str = "t",
    streams: Mapping[str, Options] | None = None,
    workers: int | None = None,
    priority: int = 0,
    demand_per_s: float | None = None,
    worker_max_heap_mb: float | None = None,
    **components: Options,
) -> Topology:
    """``topology("a>b>c a>c", streams={"a>b": {"selectivity": 2}}, b={"tasks": 4})``."""
    pairs: dict[str, tuple[str, str]] = {}
    names: dict[str, None] = {}
    for chain in shape.split():
        ends = chain.split(">")
        names.update(dict.fromkeys(ends))
        pairs.update({f"{a}>{b}": (a, b) for a, b in pairwise(ends)})
    options = streams or {}
    unknown = {*options} - {*pairs} | {*components} - {*names}
    if unknown:
        raise ValueError(f"no such stream or component in {shape}: {sorted(unknown)}")
    fed = {target for _, target in pairs.values()}
    return Topology(
        name,
        tuple(_component(n, n not in fed, components.get(n, {})) for n in names),
        tuple(_stream(a, b, options.get(label, {})) for label, (a, b) in pairs.items()),
        workers,
        priority,
        demand_per_s,
        worker_max_heap_mb,
    )


def _component(name: str, first: bool, options: Options) -> Component:
    component = Component(name, profile=name.rstrip("0123456789"))
    kind = Kind(options.get("kind", "spout" if first else "bolt"))
    return replace(component, **{**options, "kind": kind})


def _stream(source: str, target: str, options: Options) -> Stream:
    grouping = Grouping(options.get("grouping", "shuffle"))
    return replace(Stream(source, target), **{**options, "grouping": grouping})


def cluster(
    *,
    every: Options | None = None,
    types: Mapping[str, Options] | None = None,
    racks: Mapping[str, str] | None = None,
    regions: Mapping[str, str] | None = None,
    network: Network | None = None,
    headroom: float = 0.0,
    worker_min_cpu_points: float = 0.0,
    **machines: int,
) -> Cluster:
    """``cluster(M1=2, M2=1)`` has M1-1, M1-2 and M2-1; ``every`` and ``types`` set their types."""
    kinds = tuple(
        MachineType(name, **{**(every or {}), **(types or {}).get(name, {})}) for name in machines
    )
    names = [(kind, f"{kind}-{i + 1}") for kind, count in machines.items() for i in range(count)]
    made = tuple(
        Machine(
            name, kind, (racks or {}).get(name, "rack-1"), (regions or {}).get(name, "region-1")
        )
        for kind, name in names
    )
    return Cluster("c", kinds, made, network or Network(), headroom, worker_min_cpu_points)


def profile(
    *,
    met: float = 0.0,
    e_remote: float = 0.0,
    memory_mb: Mapping[str, float] | None = None,
    on: tuple[str, ...] = ("M1", "M2", "M3"),
    **rows: float | Mapping[str, float],
) -> Profile:
    """``profile(a=1.0, b={"M1": 1.0, "M2": 2.0})``; a lone number holds on every type."""
    costs = [
        Cost(row, kind, value, met, e_remote)
        for row, e in rows.items()
        for kind, value in (e if isinstance(e, Mapping) else dict.fromkeys(on, e)).items()
    ]
    return Profile("p", tuple(costs), tuple((memory_mb or {}).items()))


def nasiri_profile(met: float = NASIRI_MET) -> Profile:
    return profile(met=met, **TABLE_3)


def nasiri(
    shape: str, machines: tuple[int, int, int], met: float = NASIRI_MET, **options: Any
) -> Problem:
    """One of the paper's layouts on M1, M2, M3 in these numbers."""
    m1, m2, m3 = machines
    return build(
        topology(SHAPES[shape], name=shape),
        cluster(M1=m1, M2=m2, M3=m3, **options),
        nasiri_profile(met),
    )

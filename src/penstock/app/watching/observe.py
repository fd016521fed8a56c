"""What an engine reads as what the loop sees: names become positions in the problem."""

from __future__ import annotations

from math import isnan, nan

import numpy as np

from penstock.app.watching.system import WatchedSystem
from penstock.control.observation import Observation
from penstock.engines.reading import Reading, TopologyReading
from penstock.model.arrays import BoolVector, FloatVector
from penstock.model.instance_traffic import InstanceTraffic
from penstock.model.placement import Placement
from penstock.model.problem import Problem

_UNKNOWN = TopologyReading()


def observation_of(
    reading: Reading,
    system: WatchedSystem,
    last: Placement | None = None,
    paused_s: float = nan,
) -> Observation | None:
    """One moment. ``last`` is who ran where a moment ago, which stands in for what cannot be told.

    ``None``: nothing has run yet.
    """
    problem = system.problem
    names = [t.name for t in problem.topologies]
    told = [reading.topologies.get(name, _UNKNOWN) for name in names]
    placement = placement_of(reading, problem)
    whole = placement is not None
    if placement is None or (last is not None and placement == last):
        placement = last
    if placement is None:
        return None
    age_s = reading.telemetry_age_s
    return Observation(
        reading.time_s,
        tuple(t.offered_per_s for t in told),
        tuple(t.processed_per_s for t in told),
        tuple(t.backlog for t in told),
        tuple(t.latency_s for t in told),
        placement,
        _alive(reading, problem),
        _cpu(reading, problem),
        settled=whole and not any(t.unsettled for t in told),
        telemetry_age_s=float("inf") if isnan(age_s) else age_s,
        paused_s=paused_s,
        held_back=float(np.fmax.reduce([t.held_back for t in told])),
        stream_per_s=_streams(reading, problem),
        instance_per_s=_instances(reading, problem, placement) if whole else None,
        traffic=_traffic(reading, system) if whole else (),
    )


def placement_of(reading: Reading, problem: Problem) -> Placement | None:
    """Who runs where, with the shares in force; ``None``: not everybody runs."""
    machines, labels = problem.cluster.machine_index, _positions(problem)
    rows: list[tuple[int, int, int, float]] = []
    seen = set()
    for deployed in reading.snapshot.deployed:
        for component, places in deployed.components:
            c = labels.get((deployed.topology, component))
            if c is None:
                continue
            shares = reading.shares.get((deployed.topology, component), ())
            known = shares if len(shares) == len(places) else (nan,) * len(places)
            for (machine, slot), share in zip(places, known, strict=True):
                if machine not in machines:
                    return None
                rows.append((c, machines[machine], slot, share))
            seen.add(c)
    if len(seen) < len(problem.components):
        return None
    return Placement.of(*map(list, zip(*rows, strict=True)))


def _positions(problem: Problem) -> dict[tuple[str, str], int]:
    return {
        (topology.name, name): first + c
        for topology, first in zip(problem.topologies, problem.first_component, strict=True)
        for name, c in topology.index.items()
    }


def _alive(reading: Reading, problem: Problem) -> BoolVector:
    """There, and not on the engine's blacklist."""
    there = {m.name for m in reading.snapshot.cluster.machines} - {*reading.snapshot.avoided}
    return np.array([m.name in there for m in problem.cluster.machines], dtype=np.bool_)


def _cpu(reading: Reading, problem: Problem) -> FloatVector | None:
    if not reading.machine_points:
        return None
    points = [reading.machine_points.get(m.name, nan) for m in problem.cluster.machines]
    return np.asarray(np.array(points) / problem.cluster.usable_cpu)


def _streams(reading: Reading, problem: Problem) -> FloatVector | None:
    """All of them, or nothing: what is summed up must not lack a part."""
    rates = [
        reading.stream_per_s.get((topology.name, s.source, s.target, s.name), nan)
        for topology in problem.topologies
        for s in topology.streams
    ]
    return None if any(map(isnan, rates)) else np.array(rates)


def _traffic(reading: Reading, system: WatchedSystem) -> tuple[InstanceTraffic, ...]:
    """Who sends how much to whom, instances numbered through each topology."""
    found = []
    for deployed in reading.snapshot.deployed:
        if deployed.topology not in system.topologies:
            continue
        tasks: dict[str, tuple[int, ...]] = {}
        for component, places in deployed.components:
            first = sum(map(len, tasks.values())) + 1
            tasks[component] = tuple(range(first, first + len(places)))
        pairs = [
            (tasks[source][i], tasks[target][j], rate)
            for ((topology, source, i), (_, target, j)), rate in reading.traffic_per_s.items()
            if topology == deployed.topology
        ]
        if pairs:
            heaviest = tuple(sorted(pairs, key=lambda pair: (-pair[2], pair[:2])))
            found.append(
                InstanceTraffic(tuple(tasks.items()), heaviest, deployed.topology, deployed.id)
            )
    return tuple(found)


def _instances(reading: Reading, problem: Problem, placement: Placement) -> FloatVector | None:
    if not reading.instances:
        return None
    starts = placement.starts(len(problem.components))
    rates = np.full(len(placement), nan)
    for (topology, component), c in _positions(problem).items():
        for number in range(int(starts[c + 1] - starts[c])):
            one = reading.instances.get((topology, component, number))
            if one is not None:
                rates[starts[c] + number] = one.arrives_per_s
    return rates

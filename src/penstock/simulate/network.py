"""A problem and a placement as the engine's records: who runs where, what it costs, who gets what.

Costs, rooms and shares come from :mod:`penstock.evaluate`; nothing is worked out a second time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.evaluate.capacity import Capacity, capacity
from penstock.evaluate.division import divide_stream
from penstock.evaluate.network import hop_ms, region_hop_ms
from penstock.evaluate.rates import worker_keys
from penstock.model.arrays import FloatVector, IntVector
from penstock.model.cluster import Hop
from penstock.model.flat_stream import FlatStream
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.model.topology import Grouping
from penstock.simulate.records import (
    INSTANCE,
    MACHINE,
    ROUTE,
    SERVER,
    SOURCE,
    STREAM,
    TARGET,
    Records,
)
from penstock.simulate.routing import MOST_WEIGHT, RouteChoice, cumulative
from penstock.simulate.scenario import Arrivals, Scenario, Sharing, Shuffle

UNLIMITED = np.iinfo(np.int64).max // 4
_BYTES_PER_MEGABIT = 1e6 / 8


@dataclass(frozen=True)
class SimulatedNetwork:
    """The parts of the engine's world that depend on the placement."""

    capacity: Capacity
    servers: Records
    instances: Records
    routes: Records
    targets: Records
    sources: Records
    deal: Records
    #: Most tuples that handling one can put out.
    fan_out: int


@dataclass
class _Tables:
    """Targets of routes, gathered; routes of one stream mostly share their part."""

    targets: list[IntVector]
    cumulative: list[FloatVector]
    length: int = 0

    def add(self, targets: IntVector, parts: FloatVector) -> tuple[int, int]:
        first = self.length
        self.targets.append(targets)
        self.cumulative.append(parts)
        self.length += len(targets)
        return first, len(targets)

    def records(self) -> Records:
        none = np.zeros(0, np.int64)
        return _target_records(
            np.concatenate([none, *self.targets]), np.concatenate([np.zeros(0), *self.cumulative])
        )


def build_network(
    problem: Problem, placement: Placement, scenario: Scenario, rng: np.random.Generator
) -> SimulatedNetwork:
    """Records of a placement, in the state in which nothing has happened yet."""
    planned = capacity(problem, placement)
    servers, instances = _threads(problem, placement, planned, scenario)
    tables = _Tables([], [])
    routes, fan_out = _routes(problem, placement, instances, scenario, tables, rng)
    sources, rate = _sources(problem, placement, planned, scenario)
    return SimulatedNetwork(
        capacity=planned,
        servers=servers,
        instances=instances,
        routes=routes,
        targets=tables.records(),
        sources=sources,
        deal=_target_records(sources["instance"], cumulative(rate)),
        fan_out=fan_out,
    )


def _target_records(instances: IntVector, parts: FloatVector) -> Records:
    records = np.zeros(len(instances), TARGET)
    records["instance"], records["cumulative"] = instances, parts
    records["weight"] = MOST_WEIGHT
    return records


def machine_records(problem: Problem) -> Records:
    """Machines with their places and network cards; their room depends on the placement."""
    cluster = problem.cluster
    machines = np.zeros(len(cluster.machines), MACHINE)
    machines["speed"] = machines["up"] = 1
    machines["next_server"] = -1
    machines["rack"], machines["region"] = cluster.rack_of, cluster.region_of
    speed = cluster.per_type("nic_mbps", np.inf)[cluster.type_of]
    machines["nic_bytes_per_s"] = speed * _BYTES_PER_MEGABIT
    return machines


def machine_room(problem: Problem, planned: Capacity, scenario: Scenario) -> FloatVector:
    """Points that fixed costs leave for tuples, shape (machines,)."""
    cluster = problem.cluster
    points = cluster.usable_cpu
    if scenario.use_headroom:
        points = cluster.per_type("cpu_points")[cluster.type_of]
    return np.maximum(points - planned.machine_fixed, 0.0)


def stream_records(
    problem: Problem, scenario: Scenario
) -> tuple[Records, FloatVector, FloatVector]:
    """Streams, and the delay of their tuples in seconds by hop class and by pair of regions."""
    cluster = problem.cluster
    regions = len(cluster.regions)
    streams = np.zeros(len(problem.streams), STREAM)
    hop_s = np.zeros((len(streams), len(Hop)))
    region_s = np.zeros((len(streams), regions, regions))
    for k, stream in enumerate(problem.streams):
        size = stream.tuple_bytes * scenario.tuples_per_batch
        streams[k]["selectivity"], streams[k]["bytes"] = stream.selectivity, size
        streams[k]["target"] = stream.target
        hop_s[k] = [hop_ms(cluster, hop, size) / 1e3 for hop in Hop]
        region_s[k] = region_hop_ms(cluster, size) / 1e3
    return streams, hop_s, region_s


def _threads(
    problem: Problem, placement: Placement, planned: Capacity, scenario: Scenario
) -> tuple[Records, Records]:
    """Instances and their threads."""
    cluster, batch = problem.cluster, scenario.tuples_per_batch
    kind = cluster.type_of[placement.machine]
    component = placement.component
    threads = np.array([c.threads for c in problem.components])[component]
    count = np.ceil(threads).astype(np.int64)
    core = cluster.per_type("core_points")[kind]
    # Without a limit on cores a thread may use the machine; else its part of the instance's cores.
    whole = cluster.per_type("cpu_points")[kind] - planned.instance_fixed
    points = np.where(np.isnan(core), whole, (threads * core - planned.instance_fixed) / count)

    instances = np.zeros(len(placement), INSTANCE)
    instances["component"] = component
    instances["topology"] = problem.topology_of[component]
    instances["machine"] = placement.machine
    instances["worker"] = worker_keys(placement)[0]
    instances["points_s"] = problem.e[component, kind] * batch
    instances["remote_points_s"] = problem.e_remote[component, kind] * batch
    instances["servers"] = count
    instances["first_server"] = np.cumsum(count) - count
    instances["free_server"] = instances["first_server"]
    spout = problem.spout_rate[component] > 0
    instances["spout"] = spout
    limit = UNLIMITED if scenario.queue_limit is None else max(1, scenario.queue_limit // batch)
    instances["limit"] = np.where(spout, UNLIMITED, limit)
    pending = scenario.max_spout_pending
    instances["most_pending"] = UNLIMITED if pending is None else max(1, pending // batch)
    instances["queue_first"] = instances["queue_last"] = -1
    instances["first_waiter"] = instances["last_waiter"] = -1

    servers = np.zeros(int(count.sum()), SERVER)
    servers["instance"] = np.repeat(np.arange(len(placement)), count)
    servers["points"] = np.maximum(np.repeat(points, count), 0.0)
    servers["weight"] = 1.0
    if scenario.sharing is Sharing.BY_PLAN:
        need = planned.instance_slope / count
        servers["weight"] = np.repeat(np.maximum(need, 1e-9 * need.max()), count)
    servers["node"] = servers["place"] = servers["next_waiter"] = -1
    servers["out_first"] = servers["out_last"] = -1
    last = instances["first_server"] + count - 1
    servers["next_free"] = np.arange(1, len(servers) + 1)
    servers["next_free"][last] = -1
    return servers, instances


@dataclass(frozen=True)
class _Divided:
    """A stream and how the target's instances divide it."""

    number: int
    stream: FlatStream
    targets: IntVector
    shares: FloatVector
    parts: FloatVector
    tasks: int

    @property
    def is_shuffle(self) -> bool:
        grouping = self.stream.grouping
        return grouping.is_local or (grouping is Grouping.SHUFFLE and not self.has_shares)

    @property
    def has_shares(self) -> bool:
        return not bool(np.isnan(self.shares[0]))

    @property
    def choice(self) -> RouteChoice:
        grouping = self.stream.grouping
        if grouping.is_copied:
            return RouteChoice.ALL
        # Parts that are not even by themselves: by key, or however a grouping divides.
        if not (grouping.is_even or grouping.is_local or grouping.is_single):
            return RouteChoice.RANDOM
        follows = grouping.follows_shares and self.has_shares
        return RouteChoice.SHARES if follows else RouteChoice.TURN


def _divided(problem: Problem, placement: Placement, c: int, starts: IntVector) -> list[_Divided]:
    """The streams that leave a component; one to a component without instances goes nowhere."""
    divisions = []
    for k in problem.streams_from[c]:
        stream = problem.streams[k]
        targets = np.arange(starts[stream.target], starts[stream.target + 1])
        if not len(targets):
            continue
        component, shares = problem.components[stream.target], placement.share[targets]
        parts = divide_stream(stream, component, shares)
        tasks = component.tasks or len(targets)
        divisions.append(_Divided(k, stream, targets, shares, parts, tasks))
    return divisions


def _routes(
    problem: Problem,
    placement: Placement,
    instances: Records,
    scenario: Scenario,
    tables: _Tables,
    rng: np.random.Generator,
) -> tuple[Records, int]:
    """How each instance sends each of its streams, and the most tuples one makes."""
    starts = placement.starts(len(problem.components))
    worker = worker_keys(placement)[0]
    load_aware = scenario.shuffle is Shuffle.LOAD_AWARE
    rows: list[tuple[int, int, int, int]] = []
    fan_out = 0
    for c in range(len(problem.components)):
        leaving = _divided(problem, placement, c, starts)
        common = {d.number: _common_route(d, tables, rng) for d in leaving}
        for i in range(starts[c], starts[c + 1]):
            instances[i]["first_route"], instances[i]["routes"] = len(rows), len(leaving)
            for d in leaving:
                if load_aware and d.is_shuffle:
                    route = (RouteChoice.LOAD_AWARE, *tables.add(d.targets, cumulative(d.parts)))
                else:
                    route = _local_route(d, worker, i, tables, rng) or common[d.number]
                rows.append((d.number, int(route[0]), *route[1:]))
        copies = [d.parts.sum() * np.ceil(d.stream.selectivity) for d in leaving]
        fan_out = max(fan_out, round(sum(copies)))
    routes = np.zeros(len(rows), ROUTE)
    for record, (stream, choice, first, count) in zip(routes, rows, strict=True):
        record["choice"], record["stream"] = choice, stream
        record["first"], record["count"] = first, count
        record["cursor"], record["offset"] = rng.integers(count), rng.random()
        record["credit"] = rng.random()
    return routes, fan_out


def _common_route(
    d: _Divided, tables: _Tables, rng: np.random.Generator
) -> tuple[RouteChoice, int, int]:
    """Way and targets of a stream for all who send it."""
    if d.choice in (RouteChoice.SHARES, RouteChoice.RANDOM):
        return (d.choice, *tables.add(d.targets, cumulative(d.parts)))
    table = _in_turn(d.targets, d.parts, 1 if d.choice is RouteChoice.ALL else d.tasks, rng)
    return (d.choice, *tables.add(table, np.ones(len(table))))


def _local_route(
    d: _Divided, worker: IntVector, sender: int, tables: _Tables, rng: np.random.Generator
) -> tuple[RouteChoice, int, int] | None:
    """Local-or-shuffle: the targets in the sender's process, where there are any."""
    if not d.stream.grouping.is_local:
        return None
    near = worker[d.targets] == worker[sender]
    if not near.any():
        return None
    table = _in_turn(d.targets[near], d.parts[near], d.tasks, rng)
    return (RouteChoice.TURN, *tables.add(table, np.ones(len(table))))


def _in_turn(
    targets: IntVector, parts: FloatVector, tasks: int, rng: np.random.Generator
) -> IntVector:
    """Targets in the order they are dealt to, each as often as it has tasks."""
    table = np.repeat(targets, np.rint(parts * tasks).astype(np.int64))
    rng.shuffle(table)
    return table


def _sources(
    problem: Problem, placement: Placement, planned: Capacity, scenario: Scenario
) -> tuple[Records, FloatVector]:
    """One source per spout instance that gets tuples, and its rate at scale 1."""
    spout = problem.spout_rate[placement.component] > 0
    fed = np.flatnonzero(spout & (planned.rates.per_instance > 0))
    rate = planned.rates.per_instance[fed]
    sources = np.zeros(len(fed), SOURCE)
    sources["instance"] = fed
    sources["topology"] = problem.topology_of[placement.component[fed]]
    sources["share"] = rate / problem.demand[sources["topology"]]
    sources["even"] = scenario.offered.arrivals is Arrivals.EVEN
    sources["generator"] = len(placement) + np.arange(len(fed))
    return sources, rate

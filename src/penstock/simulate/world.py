"""The engine's world: its tables, and the record by which compiled code finds them."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.model.arrays import FloatMatrix
from penstock.model.problem import Problem
from penstock.simulate.calendar import NEVER
from penstock.simulate.generator import generators
from penstock.simulate.histogram import BUCKETS
from penstock.simulate.network import (
    SimulatedNetwork,
    machine_records,
    machine_room,
    stream_records,
)
from penstock.simulate.records import (
    HOP,
    NODE,
    NUMBER,
    REAL,
    ROOT,
    STEP,
    TABLES,
    TIMER,
    TOPOLOGY,
    TRANSIT,
    WORLD,
    Records,
)
from penstock.simulate.routing import REFRESH_S
from penstock.simulate.scenario import Scenario, Selectivity, Shuffle, WhenFull
from penstock.simulate.service import ServiceTime, service_records
from penstock.simulate.work import require_room

_FIRST_NODES, _FIRST_ROOTS = 4096, 1024


class World:
    """Tables by name. Whoever puts another in place of one must use :meth:`put`."""

    def __init__(self, **tables: Records) -> None:
        self._tables: dict[str, Records] = {}
        self._record = np.zeros(1, WORLD)
        self.put(**tables)

    def __getattr__(self, name: str) -> Records:
        try:
            return self._tables[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def record(self) -> Any:
        """What compiled functions take; it changes as they run."""
        return self._record[0]

    def put(self, **tables: Records) -> None:
        """Set tables and tell the record where they are and how many records they have."""
        for name, table in tables.items():
            assert table.dtype == TABLES[name], name
            self._tables[name] = np.ascontiguousarray(table)
            self._record[name] = self._tables[name].ctypes.data
        counted = {
            "machine_count": "machines",
            "instance_count": "instances",
            "source_count": "sources",
            "topology_count": "topologies",
            "component_count": "services",
            "deal_count": "deal",
            "transit_size": "transit",
            "ready_size": "ready_list",
        }
        for count, name in counted.items():
            self._record[count] = len(self._tables[name])


def build_world(
    problem: Problem,
    network: SimulatedNetwork,
    scenario: Scenario,
    rates: tuple[FloatMatrix, FloatMatrix],
    seed: np.random.SeedSequence,
) -> World:
    """Everything at time 0, before the first tuple is due."""
    streams, hop_s, region_s = stream_records(problem, scenario)
    services, factors = service_records(_services(problem, scenario))
    machines = machine_records(problem)
    rows = len(problem.components) + len(problem.topologies)
    world = World(
        machines=machines,
        streams=streams,
        nodes=_linked(NODE, _FIRST_NODES),
        roots=_linked(ROOT, _FIRST_ROOTS),
        topologies=_topologies(problem, scenario),
        steps=_steps(*rates),
        services=services,
        factors=factors,
        hop_s=hop_s.ravel().view(REAL),
        region_s=region_s.ravel().view(REAL),
        hops=np.zeros(hop_s.shape[1], HOP),
        transit=np.zeros(_FIRST_NODES, TRANSIT),
        histogram=np.zeros(rows * BUCKETS, NUMBER),
        ages=np.zeros(len(problem.topologies) * BUCKETS, NUMBER),
        **placed_tables(problem, network, scenario, machines, seed),
    )
    record = world.record
    record["step_count"] = rates[1].shape[1]
    record["region_count"] = region_s.shape[1]
    record["free_nodes"], record["free_roots"] = _FIRST_NODES, _FIRST_ROOTS
    record["drop"] = scenario.when_full is WhenFull.DROP
    record["by_batch"] = scenario.selectivity is Selectivity.BATCH
    set_needs(world, network)
    return world


def placed_tables(
    problem: Problem,
    network: SimulatedNetwork,
    scenario: Scenario,
    machines: Records,
    seed: np.random.SeedSequence,
) -> dict[str, Records]:
    """The tables that a new placement replaces; machines get their room and their list."""
    machines["room"] = machine_room(problem, network.capacity, scenario)
    threads = np.zeros(len(machines), np.int64)
    np.add.at(threads, network.instances["machine"], network.instances["servers"])
    machines["first_active"] = np.cumsum(threads) - threads
    return {
        "active": np.zeros(int(threads.sum()), NUMBER),
        "servers": network.servers,
        "instances": network.instances,
        "routes": network.routes,
        "targets": network.targets,
        "sources": network.sources,
        "deal": network.deal,
        "timers": _timers(len(machines) + len(network.sources), len(problem.topologies), scenario),
        "ready_list": np.zeros(len(network.servers) + 1, NUMBER),
        "dirty_list": np.zeros(len(machines), NUMBER),
        "generators": generators(seed, len(network.instances) + len(network.sources)),
    }


def _timers(before: int, topologies: int, scenario: Scenario) -> Records:
    """Clocks without a time, but for the one that looks at queues every second."""
    timers = np.zeros(before + topologies + 1, TIMER)
    timers["time_s"] = NEVER
    timers["heap"] = np.arange(len(timers))
    if scenario.shuffle is Shuffle.LOAD_AWARE:
        timers["time_s"][-1] = REFRESH_S
        timers["heap"] = np.roll(timers["heap"], 1)
    timers["place"][timers["heap"]] = np.arange(len(timers))
    return timers


def make_room(world: World, most_tuples: float) -> None:
    """Twice the size, or more, for tables that may be full after one more step."""
    record = world.record
    needed = max(len(world.nodes) - record["free_nodes"] + record["most_new_nodes"],
                 len(world.roots) - record["free_roots"] + record["most_new_roots"])  # fmt: skip
    require_room(float(needed), most_tuples)
    while record["free_nodes"] < record["most_new_nodes"]:
        world.put(nodes=_longer(world.nodes, record, "node"))
    while record["free_roots"] < record["most_new_roots"]:
        world.put(roots=_longer(world.roots, record, "root"))
    while record["in_transit"] + record["most_new_nodes"] > len(world.transit):
        world.put(transit=np.concatenate([world.transit, np.zeros_like(world.transit)]))


def _longer(records: Records, record: Any, what: str) -> Records:
    more = _linked(records.dtype, len(records))
    more["next"][:-1] += len(records)
    more["next"][-1] = record[f"free_{what}"]
    record[f"free_{what}"] = len(records)
    record[f"free_{what}s"] += len(records)
    return np.concatenate([records, more])


def _linked(kind: np.dtype[np.void], size: int) -> Records:
    """So many free records, each with the next."""
    records = np.zeros(size, kind)
    records["next"] = np.arange(1, size + 1)
    records["next"][-1] = -1
    return records


def set_needs(world: World, network: SimulatedNetwork) -> None:
    """How many free records one step of the loop may need."""
    # What one thread puts out, and a new tuple at a source for each of them that is lost.
    world.record["most_new_nodes"] = 2 * network.fan_out + 4
    spouts = network.instances["spout"] > 0
    world.record["most_new_roots"] = int(network.instances["servers"][spouts].sum()) + 1


def _topologies(problem: Problem, scenario: Scenario) -> Records:
    topologies = np.zeros(len(problem.topologies), TOPOLOGY)
    topologies["acking"], topologies["replay"] = scenario.acking, scenario.replay
    topologies["timeout_s"] = scenario.timeout_s
    topologies["first_root"] = topologies["last_root"] = -1
    return topologies


def _steps(times_s: FloatMatrix, rates: FloatMatrix) -> Records:
    steps = np.zeros(rates.size, STEP)
    steps["until_s"], steps["rate"] = times_s[:, 1:].ravel(), rates.ravel()
    return steps


def _services(problem: Problem, scenario: Scenario) -> tuple[ServiceTime, ...]:
    own = dict(scenario.services)
    return tuple(own.get(label, scenario.service) for label in problem.labels)

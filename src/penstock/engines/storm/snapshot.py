"""A snapshot in our own nouns, from what Nimbus or the UI told."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from penstock.engines.storm.records import (
    ClusterRecord,
    ComponentRecord,
    ExecutorRecord,
    SupervisorRecord,
    TopologyRecord,
)
from penstock.errors import Finding, InputError
from penstock.files.store import load
from penstock.files.storm_metadata import SupervisorTypes, remarks
from penstock.files.storm_yaml import located, supervisor_type
from penstock.files.topology_file import TopologyFile
from penstock.model.cluster import Cluster, Machine
from penstock.model.plan import Deployed
from penstock.model.snapshot import Snapshot
from penstock.model.topology import Grouping, Topology

ACKER = "__acker"
_SYSTEM = "__"
#: States of a topology that has a place; a killed one is on its way out.
_RUNNING = ("ACTIVE", "INACTIVE", "REBALANCING")
#: Fewer tuples than this say little about a selectivity.
_ENOUGH_TUPLES = 1000


def snapshot_of(
    seen: ClusterRecord, machine_types: Mapping[str, str] | None = None, name: str = "storm"
) -> Snapshot:
    """Our own nouns. ``machine_types`` maps hosts, machine names or supervisor ids to types."""
    if not seen.machines:
        raise InputError(Finding("has no supervisor", seen.source))
    names = _names(seen.machines)
    cluster = _cluster(seen, names, machine_types or {}, name)
    running = [t for t in seen.topologies if t.status in _RUNNING]
    topologies = [t for t in running if t.executors]
    waiting = {
        t.name: f"has no place yet ({t.scheduler_info or 'Storm does not say why'})"
        for t in running
        if not t.executors
    }
    slots = _slots(topologies)
    return Snapshot(
        cluster=cluster,
        topologies=tuple(_topology(t) for t in topologies),
        deployed=tuple(_deployed(t, names, slots) for t in topologies),
        rates={t.name: _rates(t) for t in topologies},
        avoided=tuple(names[m.id] for m in seen.machines if m.blacklisted),
        statuses={t.name: t.scheduler_info for t in topologies},
        settings=seen.settings,
        left_out={**seen.unreadable, **waiting},
        notes=(*seen.notes, *remarks((names[m.id], m.metadata) for m in seen.machines)),
    )


def without_ackers(snapshot: Snapshot) -> Snapshot:
    """For plans that leave ackers to the plugin, which deals them out to the planned workers."""
    return snapshot.without_components((ACKER,))


def _names(machines: Iterable[SupervisorRecord]) -> dict[str, str]:
    """A name for each supervisor, as the plugin looks for them: its own, its host's, its id."""
    machines = list(machines)
    named = [m.metadata.name for m in machines if m.metadata.name]
    hosts = [m.host for m in machines]
    return {
        m.id: m.metadata.name
        if m.metadata.name and named.count(m.metadata.name) == 1
        else m.host
        if hosts.count(m.host) == 1
        else m.id
        for m in machines
    }


def _cluster(
    seen: ClusterRecord, names: Mapping[str, str], machine_types: Mapping[str, str], name: str
) -> Cluster:
    types = SupervisorTypes()
    machines, findings = [], []
    for machine in sorted(seen.machines, key=lambda m: names[m.id]):
        keys, meta = (names[machine.id], machine.host, machine.id), machine.metadata
        given = next((machine_types[key] for key in keys if key in machine_types), meta.type)
        offers = (machine.cpu_points, machine.memory_mb, machine.slots)
        kind = supervisor_type(*offers, given, machine.resources, meta.hardware)
        if (unequal := types.add(kind, keys[0])) is not None:
            findings.append(Finding(unequal, seen.source))
        host = machine.host if machine.host != keys[0] else ""
        machines.append(located(Machine(keys[0], kind.name, host=host), meta))
    if findings:
        raise InputError(*findings)
    return Cluster(name, types.types, tuple(machines))


def is_planned(component: str) -> bool:
    """The user's own components and the ackers; metrics and the system bolt are nobody's work."""
    return component == ACKER or not component.startswith(_SYSTEM)


def _topology(seen: TopologyRecord) -> Topology:
    """Through our own file format, so that its checks hold for what Storm tells, too."""
    counts = _counts(seen.executors)
    components = {c.name: _component(c, counts) for c in seen.components if c.name in counts}
    selectivity = _selectivities(seen)
    for component in seen.components:
        for stream in component.inputs:
            if component.name not in components or component.name == ACKER:
                continue  # what an acker is fed, the format knows by itself
            if stream.component not in components or stream.stream.startswith(_SYSTEM):
                continue
            entry: dict[str, object] = {
                "to": component.name,
                "name": stream.stream,
                "grouping": _grouping(stream.grouping, seen),
            }
            if stream.fields and stream.grouping == "fields":
                entry["fields"] = list(stream.fields)
            measured = selectivity.get((stream.component, stream.stream))
            if measured is not None:
                entry["selectivity"] = measured
            components[stream.component].setdefault("streams", []).append(entry)
    document: dict[str, object] = {
        **TopologyFile.FORMAT.head,
        "name": seen.name,
        "components": components,
    }
    optional = {"workers": seen.workers, "topology_version": seen.version}
    document |= {key: value for key, value in optional.items() if value is not None}
    loaded = load(document)
    assert isinstance(loaded, Topology)
    return loaded


def _grouping(declared: str, seen: TopologyRecord) -> str:
    """Storm's own shuffle keeps tuples in the worker where it can, unless it was told not to."""
    is_near = declared == Grouping.SHUFFLE.value and seen.shuffles_near
    return Grouping.LOCAL_OR_SHUFFLE.value if is_near else declared


def _counts(executors: Iterable[ExecutorRecord]) -> dict[str, int]:
    counts: dict[str, int] = defaultdict(int)
    for executor in executors:
        if is_planned(executor.component):
            counts[executor.component] += 1
    return dict(counts)


def _component(seen: ComponentRecord, counts: Mapping[str, int]) -> dict[str, list[object]]:
    kind = "acker" if seen.name == ACKER else "spout" if seen.is_spout else "bolt"
    requests = {
        "cpu_points": seen.cpu_points,
        "memory_mb": seen.memory_mb,
        "offheap_mb": seen.offheap_mb or None,
        "resources": dict(seen.resources) or None,
    }
    requests = {key: value for key, value in requests.items() if value is not None}
    fields: dict[str, object] = {
        "kind": kind,
        "instances": counts[seen.name],
        "tasks": seen.tasks,
        "requests": requests or None,
    }
    return {key: value for key, value in fields.items() if value is not None}  # type: ignore[misc]


def _selectivities(seen: TopologyRecord) -> dict[tuple[str, str], float]:
    """Tuples on each stream per tuple taken in, rounded to what the counts can tell."""
    selectivities: dict[tuple[str, str], float] = {}
    for component in seen.components:
        executors = [e for e in seen.executors if e.component == component.name]
        emitted: dict[str, float] = defaultdict(float)
        for executor in executors:
            for stream, tuples in executor.emitted.items():
                emitted[stream] += tuples
        own = {s: n for s, n in emitted.items() if not s.startswith(_SYSTEM)}
        taken = sum(e.executed or 0.0 for e in executors)
        if component.is_spout:
            # What a spout takes in is not counted; its fullest stream stands for it.
            taken = max(own.values(), default=0.0)
        if taken >= _ENOUGH_TUPLES:
            selectivities |= {(component.name, s): round(n / taken, 3) for s, n in own.items()}
    return selectivities


def _rates(seen: TopologyRecord) -> dict[str, float]:
    rates: dict[str, float] = defaultdict(float)
    spouts = {c.name for c in seen.components if c.is_spout}
    for executor in seen.executors:
        if executor.uptime_s <= 0 or not is_planned(executor.component):
            continue
        own = [n for s, n in executor.emitted.items() if not s.startswith(_SYSTEM)]
        tuples = max(own, default=0.0) if executor.component in spouts else executor.executed
        if tuples is not None:
            rates[executor.component] += tuples / executor.uptime_s
    return dict(sorted(rates.items()))


def _slots(topologies: Iterable[TopologyRecord]) -> dict[tuple[str, int], int]:
    """A number for each worker in use: its place among the used ports of its machine."""
    ports: dict[str, set[int]] = defaultdict(set)
    for topology in topologies:
        for executor in topology.executors:
            ports[executor.supervisor].add(executor.port)
    return {
        (supervisor, port): number
        for supervisor, used in ports.items()
        for number, port in enumerate(sorted(used))
    }


def _deployed(
    seen: TopologyRecord, names: Mapping[str, str], slots: Mapping[tuple[str, int], int]
) -> Deployed:
    places: dict[str, list[tuple[str, int]]] = {}
    for executor in sorted(seen.executors, key=lambda e: (e.component, e.first_task)):
        if is_planned(executor.component):
            machine = names.get(executor.supervisor, executor.supervisor)
            slot = slots[executor.supervisor, executor.port]
            places.setdefault(executor.component, []).append((machine, slot))
    return Deployed(seen.name, seen.id, tuple((c, tuple(p)) for c, p in places.items()))

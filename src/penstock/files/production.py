"""Recorded production clusters: a folder with ``cluster.json`` and ``topologies.json``.

The format in which Apache Storm's own large test clusters were decoded: racks of supervisors with
CPU, memory and slots, and topologies with requests but no rates. They load in requests mode.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel

from penstock.errors import Finding, InputError, shown
from penstock.files.document import ParsedFile, Place, read_document
from penstock.files.schema import Name, NotNegative, Positive, check, first_findings
from penstock.model.cluster import Cluster, Machine, MachineType
from penstock.model.problem import Problem, build
from penstock.model.topology import DEFAULT_STREAM, Component, Grouping, Kind, Stream, Topology

#: Which executor count to use: what a real Nimbus starts, or what Storm's own test counts.
Executors = Literal["nimbus", "storm-test"]
_FIELD: Mapping[str, str] = {"nimbus": "parallelism_nimbus", "storm-test": "parallelism"}
_POINTS_PER_CORE = 100.0
_GROUPINGS = {
    "none": Grouping.SHUFFLE,
    "local_or_shuffle": Grouping.LOCAL_OR_SHUFFLE,
    "custom_serialized": Grouping.CUSTOM,
    "custom_object": Grouping.CUSTOM,
} | {g.value: g for g in Grouping}

_Whole = Annotated[int, Field(ge=0, le=1_000_000)]


class _Recorded(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)


class _Supervisor(_Recorded):
    id: Name
    host: str
    rack: Name
    cpu_capacity_percent: Positive
    memory_mb: Positive
    slots: Annotated[int, Field(ge=1, le=10_000)]


class _Rack(_Recorded):
    supervisors: list[_Supervisor]


class _ClusterRecord(_Recorded):
    name: Name
    min_worker_cpu_pcore_percent: NotNegative = 0.0
    racks: list[_Rack]


class _ComponentRecord(_Recorded):
    id: Name
    kind: Literal["spout", "bolt"]
    parallelism: _Whole
    parallelism_nimbus: _Whole
    tasks: _Whole
    cpu_pcore_percent: NotNegative
    onheap_mb: NotNegative
    offheap_mb: NotNegative


class _StreamRecord(_Recorded):
    source: str = Field(alias="from")
    target: str = Field(alias="to")
    stream: Name = DEFAULT_STREAM
    grouping: str
    fields: list[str] = Field(default_factory=list)


class _TopologyRecord(_Recorded):
    name: Name
    workers: _Whole
    priority: _Whole
    worker_max_heap_mb: Positive | None = None
    components: list[_ComponentRecord]
    streams: list[_StreamRecord]


class _TopologyList(RootModel[list[_TopologyRecord]]):
    model_config = ConfigDict(strict=True)


def is_production_folder(path: Path) -> bool:
    try:
        return (path / "cluster.json").is_file() and (path / "topologies.json").is_file()
    except OSError:  # a name too long for the file system
        return False


def load_production(folder: str | Path, executors: Executors = "nimbus") -> Problem:
    """Cluster and topologies of a folder as one problem in requests mode."""
    folder = Path(folder)
    cluster_document = read_document(folder / "cluster.json")
    cluster, findings = check(cluster_document, _ClusterRecord)
    listed = read_document(folder / "topologies.json")
    topologies, more = check(listed, _TopologyList)
    if cluster is None or topologies is None:
        raise InputError(*findings, *more)
    findings = first_findings(cluster_document, _cluster_findings(cluster_document, cluster))
    findings += first_findings(listed, _topology_findings(listed, topologies.root))
    topologies_read = [_topology(record, _FIELD[executors]) for record in topologies.root]
    running = [topology for topology in topologies_read if topology is not None]
    if not (findings or running):
        findings.append(listed.finding((), "no topology starts an executor"))
    if findings:
        raise InputError(*findings)
    return build(running, _cluster(cluster))


def _cluster_findings(document: ParsedFile, record: _ClusterRecord) -> Iterator[Finding]:
    ids: list[tuple[Place, str]] = [
        (("racks", i, "supervisors", j, "id"), supervisor.id)
        for i, rack in enumerate(record.racks)
        for j, supervisor in enumerate(rack.supervisors)
    ]
    if not ids:
        yield document.finding(("racks",), "there is no supervisor")
    yield from _repeated(document, ids)


def _topology_findings(document: ParsedFile, records: list[_TopologyRecord]) -> Iterator[Finding]:
    yield from _repeated(document, [((i, "name"), r.name) for i, r in enumerate(records)])
    for i, record in enumerate(records):
        yield from _repeated(
            document, [((i, "components", j, "id"), c.id) for j, c in enumerate(record.components)]
        )


def _repeated(document: ParsedFile, names: Sequence[tuple[Place, str]]) -> Iterator[Finding]:
    seen: set[str] = set()
    for place, name in names:
        if name in seen:
            yield document.finding(place, f"{shown(name)} is used twice")
        seen.add(name)


def _cluster(record: _ClusterRecord) -> Cluster:
    supervisors = [s for rack in record.racks for s in rack.supervisors]
    kinds = dict.fromkeys((s.cpu_capacity_percent, s.memory_mb, s.slots) for s in supervisors)
    return Cluster(
        name=record.name,
        types=tuple(
            MachineType(
                _type_name(*kind),
                cpu_points=kind[0],
                core_points=min(_POINTS_PER_CORE, kind[0]),
                memory_mb=kind[1],
                slots=kind[2],
            )
            for kind in kinds
        ),
        machines=tuple(
            Machine(
                s.id,
                _type_name(s.cpu_capacity_percent, s.memory_mb, s.slots),
                rack=s.rack,
                host=s.host,
            )
            for s in supervisors
        ),
        worker_min_cpu_points=record.min_worker_cpu_pcore_percent,
    )


def _type_name(cpu: float, memory: float, slots: int) -> str:
    return f"cpu{cpu:g}-mem{memory:g}-slots{slots}"


def _topology(record: _TopologyRecord, counts: str) -> Topology | None:
    """``None`` where the rule starts no executor at all."""
    running = {c.id: c for c in record.components if getattr(c, counts) > 0}
    if not running:
        return None
    return Topology(
        name=record.name,
        components=tuple(_component(c, getattr(c, counts)) for c in running.values()),
        streams=tuple(
            Stream(
                s.source,
                s.target,
                s.stream,
                grouping=_GROUPINGS.get(s.grouping, Grouping.CUSTOM),
                fields=tuple(s.fields),
            )
            for s in record.streams
            if s.source in running and s.target in running
        ),
        workers=record.workers or None,
        priority=record.priority,
        worker_max_heap_mb=record.worker_max_heap_mb,
    )


def _component(record: _ComponentRecord, instances: int) -> Component:
    return Component(
        name=record.id,
        kind=Kind(record.kind),
        instances=instances,
        cpu_points=record.cpu_pcore_percent,
        memory_mb=record.onheap_mb + record.offheap_mb,
        offheap_mb=record.offheap_mb,
    )

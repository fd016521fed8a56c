"""``storm.yaml`` of supervisors to a cluster: the keys R-Storm's scheduler reads, one file each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from penstock.errors import Finding, InputError
from penstock.files.document import ParsedFile, document_of, read_document
from penstock.files.schema import Name, NotNegative, Positive, as_mapping, check, is_name, seen_as
from penstock.files.storm_resources import generic_resources
from penstock.model.cluster import DEFAULT_SLOTS, Cluster, Machine, MachineType
from penstock.model.resources import Quantities

#: Storm's own defaults (defaults.yaml of 2.x).
_DEFAULT_CPU = 400.0
_DEFAULT_MEMORY_MB = 4096.0
_POINTS_PER_CORE = 100.0
#: Where a supervisor's metadata may say what type of machine it is, and in which rack.
_TYPE_KEYS = ("machine-type", "machine_type", "type")
_RACK_KEYS = ("rack", "rack-id", "rack_id")


class _SupervisorKeys(BaseModel):
    """The keys of storm.yaml that say what a supervisor offers; the rest is not our business."""

    model_config = ConfigDict(extra="ignore", strict=True, populate_by_name=True)

    cpu: Positive = Field(_DEFAULT_CPU, alias="supervisor.cpu.capacity")
    memory_mb: Positive = Field(_DEFAULT_MEMORY_MB, alias="supervisor.memory.capacity.mb")
    resources: Annotated[
        dict[Name, NotNegative] | None, Field(alias="supervisor.resources.map")
    ] = None
    ports: list[Annotated[int, Field(ge=1, le=65535)]] | None = Field(
        None, alias="supervisor.slots.ports"
    )
    host: Name | None = Field(None, alias="storm.local.hostname")
    meta: dict[str, Any] | None = Field(None, alias="supervisor.scheduler.meta")


def cluster_from_storm_yaml(paths: Sequence[str | Path], name: str = "storm") -> Cluster:
    """A cluster of the supervisors whose storm.yaml files are given, in that order."""
    if not paths:
        raise InputError("no storm.yaml given")
    findings: list[Finding] = []
    machines: list[Machine] = []
    types: dict[MachineType, None] = {}
    for path in paths:
        document = read_document(path)
        if document.value is None:  # all lines commented out: everything is Storm's default
            document = document_of({}, str(path))
        keys, wrong = check(document, _SupervisorKeys)
        findings += wrong
        if keys is None:
            continue
        findings += _meta_findings(document, as_mapping(keys.meta))
        kind = _machine_type(keys)
        types[kind] = None
        machine = keys.host or _name_from(Path(path))
        meta = as_mapping(keys.meta)
        rack = rack_in(meta) or "rack-1"
        if machine in {m.name for m in machines}:
            message = f'a second supervisor named "{machine}"; set storm.local.hostname'
            findings.append(Finding(message, str(path)))
        machines.append(Machine(machine, kind.name, rack=rack, host=keys.host or ""))
    repeated = [t.name for t in types]
    for type_name in sorted({n for n in repeated if repeated.count(n) > 1}):
        message = (
            f'machine type "{type_name}" has unequal CPU, memory, slots or resources in '
            "different files"
        )
        findings.append(Finding(message))
    if findings:
        raise InputError(*findings)
    return Cluster(name, tuple(types), tuple(machines))


def _meta_findings(document: ParsedFile, meta: dict[str, Any]) -> list[Finding]:
    return [
        document.finding(
            ("supervisor.scheduler.meta", key), f"must be a name, not {seen_as(meta[key])}"
        )
        for key in (*_TYPE_KEYS, *_RACK_KEYS)
        if key in meta and not is_name(meta[key])
    ]


def _machine_type(keys: _SupervisorKeys) -> MachineType:
    slots = DEFAULT_SLOTS if keys.ports is None else max(1, len(keys.ports))
    resources = generic_resources(keys.resources)
    named = type_in(as_mapping(keys.meta))
    return supervisor_type(keys.cpu, keys.memory_mb, slots, named, resources)


def supervisor_type(
    cpu_points: float,
    memory_mb: float,
    slots: int,
    name: str | None,
    resources: Quantities = (),
) -> MachineType:
    """The type of a supervisor that offers this; without a name, called by what it offers."""
    made_up = f"cpu{cpu_points:g}-mem{memory_mb:g}-slots{slots}"
    made_up += "".join(f"-{resource}{amount:g}" for resource, amount in resources)
    return MachineType(
        name=name or made_up,
        cpu_points=cpu_points,
        core_points=min(_POINTS_PER_CORE, cpu_points),
        memory_mb=memory_mb,
        slots=slots,
        resources=resources,
    )


def type_in(meta: Mapping[str, Any]) -> str | None:
    """The machine type that a supervisor's metadata names."""
    return next((str(meta[key]) for key in _TYPE_KEYS if key in meta), None)


def rack_in(meta: Mapping[str, Any]) -> str | None:
    """The rack that a supervisor's metadata names."""
    return next((str(meta[key]) for key in _RACK_KEYS if key in meta), None)


def _name_from(path: Path) -> str:
    """``host-a/conf/storm.yaml`` and ``host-a.yaml`` are both host-a."""
    if path.stem != "storm":
        return path.stem
    folders = [part for part in path.parent.parts if part not in ("conf", "/", ".")]
    return folders[-1] if folders else path.stem

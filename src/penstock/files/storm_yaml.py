"""``storm.yaml`` of supervisors to a cluster: the keys R-Storm's scheduler reads, one file each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from penstock.errors import Finding, InputError
from penstock.files.document import document_of, read_document
from penstock.files.schema import Name, NotNegative, Positive, as_mapping, check
from penstock.files.storm_metadata import (
    SETTING,
    MachineMetadata,
    SupervisorTypes,
    metadata_of,
    remarks,
)
from penstock.files.storm_resources import generic_resources
from penstock.model.cluster import DEFAULT_SLOTS, Cluster, Machine, MachineType
from penstock.model.resources import Quantities

#: Storm's own defaults (defaults.yaml of 2.x).
_DEFAULT_CPU = 400.0
_DEFAULT_MEMORY_MB = 4096.0
_POINTS_PER_CORE = 100.0
#: Fields of a machine type that are whole numbers.
_WHOLE = ("sockets", "cores")


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


def cluster_from_storm_yaml(
    paths: Sequence[str | Path],
    name: str = "storm",
    say: Callable[[str], None] = lambda _text: None,
) -> Cluster:
    """A cluster of the supervisors whose storm.yaml files are given, in that order.

    Metadata that is not understood is told.
    """
    if not paths:
        raise InputError("no storm.yaml given")
    findings: list[Finding] = []
    machines: dict[str, Machine] = {}
    described: list[tuple[str, MachineMetadata]] = []
    types = SupervisorTypes()
    for path in paths:
        document = read_document(path)
        if document.value is None:  # all lines commented out: everything is Storm's default
            document = document_of({}, str(path))
        keys, wrong = check(document, _SupervisorKeys)
        findings += wrong
        if keys is None:
            continue
        meta = metadata_of(as_mapping(keys.meta))
        # Keys of others are theirs; a value of ours that is wrong is a mistake in this file.
        wrong_values = [entry for entry in meta.misunderstood if entry.is_known]
        findings += [document.finding((SETTING, entry.key), entry.why) for entry in wrong_values]
        machine = meta.name or keys.host or _name_from(Path(path))
        described.append((machine, meta))
        kind = _machine_type(keys, meta)
        if (unequal := types.add(kind, machine)) is not None:
            findings.append(Finding(unequal, str(path)))
        if machine in machines:
            message = (
                f'a second supervisor named "{machine}"; set storm.local.hostname, or machine in '
                f"{SETTING}"
            )
            findings.append(Finding(message, str(path)))
        machines[machine] = located(Machine(machine, kind.name, host=keys.host or ""), meta)
    if findings:
        raise InputError(*findings)
    for remark in remarks(described):
        say(remark)
    return Cluster(name, types.types, tuple(machines.values()))


def located(machine: Machine, meta: MachineMetadata) -> Machine:
    """The machine in the rack and region that its metadata names, if it does."""
    rack, region = meta.rack or machine.rack, meta.region or machine.region
    return replace(machine, rack=rack, region=region)


def _machine_type(keys: _SupervisorKeys, meta: MachineMetadata) -> MachineType:
    slots = DEFAULT_SLOTS if keys.ports is None else max(1, len(keys.ports))
    resources = generic_resources(keys.resources)
    return supervisor_type(keys.cpu, keys.memory_mb, slots, meta.type, resources, meta.hardware)


def supervisor_type(
    cpu_points: float,
    memory_mb: float,
    slots: int,
    name: str | None,
    resources: Quantities = (),
    hardware: Quantities = (),
) -> MachineType:
    """The type of a supervisor that offers this; without a name, called by what it offers."""
    made_up = f"cpu{cpu_points:g}-mem{memory_mb:g}-slots{slots}"
    made_up += "".join(f"-{thing}{amount:g}" for thing, amount in (*resources, *hardware))
    kind = MachineType(
        name=name or made_up,
        cpu_points=cpu_points,
        core_points=min(_POINTS_PER_CORE, cpu_points),
        memory_mb=memory_mb,
        slots=slots,
        resources=resources,
    )
    facts: dict[str, Any] = {
        field: int(amount) if field in _WHOLE else amount for field, amount in hardware
    }
    return replace(kind, **facts)


def _name_from(path: Path) -> str:
    """``host-a/conf/storm.yaml`` and ``host-a.yaml`` are both host-a."""
    if path.stem != "storm":
        return path.stem
    folders = [part for part in path.parent.parts if part not in ("conf", "/", ".")]
    return folders[-1] if folders else path.stem

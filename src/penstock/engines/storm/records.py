"""What Nimbus and the UI tell of a cluster, in one form.

Both sources fill these records; everything Penstock concludes from them is concluded once, in
:mod:`penstock.engines.storm.snapshot`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.files.storm_metadata import MachineMetadata
from penstock.model.resources import Quantities


@dataclass(frozen=True)
class SupervisorRecord:
    """A supervisor."""

    id: str
    host: str
    slots: int
    cpu_points: float
    memory_mb: float
    blacklisted: bool = False
    resources: Quantities = ()
    #: What it says of its machine, where the source knows.
    metadata: MachineMetadata = field(default_factory=MachineMetadata)


@dataclass(frozen=True)
class InputRecord:
    """A subscription of a component."""

    component: str
    stream: str
    grouping: str
    fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExecutorRecord:
    """An executor and where it is. Counts are since it started; ``None`` is unknown."""

    component: str
    first_task: int
    last_task: int
    supervisor: str
    port: int
    uptime_s: float = 0.0
    #: Tuples put on each stream, and taken in from the topology's own streams.
    emitted: Mapping[str, float] = field(default_factory=dict)
    executed: float | None = None


@dataclass(frozen=True)
class ComponentRecord:
    name: str
    is_spout: bool
    tasks: int | None
    cpu_points: float | None
    memory_mb: float | None
    offheap_mb: float | None
    inputs: tuple[InputRecord, ...]
    resources: Quantities = ()


#: The setting that makes Storm's shuffle an even one. With Storm's default, false, tuples stay in
#: the worker while one of its executors takes them and its queue is not nearly full.
EVEN_SHUFFLE = "topology.disable.loadaware.messaging"


@dataclass(frozen=True)
class TopologyRecord:
    """A topology that runs."""

    name: str
    id: str
    status: str
    scheduler_info: str
    version: str | None
    workers: int | None
    priority: int | None
    components: tuple[ComponentRecord, ...]
    executors: tuple[ExecutorRecord, ...]
    #: Whether a shuffle prefers the executors of its own worker.
    shuffles_near: bool = False


@dataclass(frozen=True)
class ClusterRecord:
    """Everything, as one source told it."""

    source: str
    machines: tuple[SupervisorRecord, ...]
    topologies: tuple[TopologyRecord, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    #: Topologies that could not be read, by name, and why.
    unreadable: Mapping[str, str] = field(default_factory=dict)
    #: What else could not be learned.
    notes: tuple[str, ...] = ()

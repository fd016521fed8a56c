"""A cluster: machines of a few types, in racks and regions, and the network between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from typing import Self

import numpy as np

from penstock.model.arrays import BoolVector, FloatMatrix, FloatVector, IntVector, frozen
from penstock.model.resources import Quantities, ResourceKind

#: Storm's own default number of supervisor slots.
DEFAULT_SLOTS = 4


class Hop(IntEnum):
    """Where the other end of a stream is, nearest first: a position in arrays by network class.

    Each class has its network distance and whether tuples pass network cards.
    """

    SAME_PROCESS = 0, 0.0, False
    SAME_MACHINE = 1, 1.0, False
    SAME_RACK = 2, 2.0, True
    OTHER_RACK = 3, 3.0, True
    #: Its latency depends on which two regions they are.
    OTHER_REGION = 4, 4.0, True

    distance: float
    leaves_machine: bool

    # Looking a class up by its position passes nothing else.
    def __new__(cls, position: int, distance: float = 0.0, leaves_machine: bool = False) -> Self:
        member = int.__new__(cls, position)
        member._value_ = position
        member.distance, member.leaves_machine = distance, leaves_machine
        return member

    @property
    def label(self) -> str:
        return self.name.lower().replace("_", " ")


#: Network distance of each class, and whether tuples pass network cards, shape (classes,).
HOP_DISTANCE: FloatVector = frozen(np.array([hop.distance for hop in Hop]))
LEAVES_MACHINE: BoolVector = frozen(np.array([hop.leaves_machine for hop in Hop]))


@dataclass(frozen=True, slots=True)
class MachineType:
    """What machines of one type have in common. CPU in points: 100 is one machine or one core."""

    name: str
    cpu_points: float = 100.0
    #: The most one single-threaded instance can use; ``None`` is the whole machine.
    core_points: float | None = None
    #: Of one core, relative to the machines that costs were measured on, for estimates.
    speed: float | None = None
    memory_mb: float | None = None
    slots: int = DEFAULT_SLOTS
    nic_mbps: float | None = None
    #: What the machine itself, and each worker process on it, costs before any tuple.
    base_cpu_points: float = 0.0
    worker_cpu_points: float = 0.0
    worker_memory_mb: float = 0.0
    idle_watts: float | None = None
    full_watts: float | None = None
    price_per_hour: float | None = None
    sockets: int | None = None
    #: Of one socket.
    cores: int | None = None
    ghz: float | None = None
    #: Of one core.
    flops_per_cycle: float | None = None
    #: What the machine has built in, where the engine offers less of it.
    ram_mb: float | None = None
    #: Units of work per second of CPU on one core, by kind of work (``penstock calibrate
    #: --fingerprint``); only ratios between types mean anything.
    fingerprint: Quantities = ()
    #: The type as the engine knows it, where this one stands for machines of it that are slow, or
    #: that others use too.
    variant_of: str | None = None
    #: What it has beside CPU and memory, sorted by name; none of what is not named.
    resources: Quantities = ()

    @property
    def gflops(self) -> float | None:
        """Node power as the thesis counts it (Muhammad 2023, chapter 3)."""
        if self.cores is None or self.ghz is None or self.flops_per_cycle is None:
            return None
        return (self.sockets or 1) * self.cores * self.ghz * self.flops_per_cycle

    @property
    def ranked_memory_mb(self) -> float | None:
        """What the thesis ranks by: memory built in, or what the engine offers of it."""
        return self.memory_mb if self.ram_mb is None else self.ram_mb


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine. ``host`` is what the engine calls it, where that differs from its name."""

    name: str
    type: str
    rack: str = "rack-1"
    region: str = "region-1"
    host: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """Latency of a hop and the bandwidth between its two ends (``None``: not a limit)."""

    latency_ms: float = 0.0
    bandwidth_mbps: float | None = None


@dataclass(frozen=True, slots=True)
class Network:
    """A link per hop class; pairs of regions may differ from the ``OTHER_REGION`` link."""

    links: tuple[Link, Link, Link, Link, Link] = (Link(), Link(), Link(), Link(), Link())
    between_regions: tuple[tuple[str, str, Link], ...] = ()

    def region_link(self, a: str, b: str) -> Link:
        """The link from region ``a`` to region ``b``; given one way, it holds both ways."""
        table = {(x, y): link for x, y, link in self.between_regions}
        default = self.links[Hop.OTHER_REGION]
        return table.get((a, b), table.get((b, a), default))


@dataclass(frozen=True)
class Cluster:
    """Machines by name; their order is the order in which ties are broken."""

    name: str
    types: tuple[MachineType, ...]
    machines: tuple[Machine, ...]
    network: Network = field(default_factory=Network)
    #: Fraction of each machine's CPU, and of each core a thread runs on, kept free by plans.
    headroom: float = 0.0
    #: Requests mode: a worker is charged at least this much CPU.
    worker_min_cpu_points: float = 0.0
    #: Resources whose unit is stated or that are soft; others need no declaration.
    resources: tuple[ResourceKind, ...] = ()

    def __post_init__(self) -> None:
        if not self.machines:
            raise ValueError(f"cluster {self.name} has no machines")
        if len(self.type_names) != len(self.types):
            raise ValueError(f"cluster {self.name}: a machine type is named twice")
        unknown = {m.type for m in self.machines} - set(self.type_names)
        if unknown:
            raise ValueError(f"cluster {self.name}: machines of unknown types {sorted(unknown)}")
        if len(self.machine_index) != len(self.machines):
            raise ValueError(f"cluster {self.name}: a machine is named twice")

    @cached_property
    def type_names(self) -> dict[str, int]:
        """Position of each machine type by name."""
        return {t.name: i for i, t in enumerate(self.types)}

    @cached_property
    def machine_index(self) -> dict[str, int]:
        """Position of each machine by name."""
        return {m.name: i for i, m in enumerate(self.machines)}

    @cached_property
    def type_of(self) -> IntVector:
        """Type index of each machine, shape (machines,)."""
        return frozen(np.array([self.type_names[m.type] for m in self.machines], dtype=np.int64))

    @cached_property
    def machines_per_type(self) -> IntVector:
        """How many machines there are of each type, shape (types,)."""
        return frozen(np.bincount(self.type_of, minlength=len(self.types)).astype(np.int64))

    @cached_property
    def racks(self) -> tuple[tuple[str, str], ...]:
        """(region, rack) pairs in order of appearance: racks of two regions are never the same."""
        return tuple(dict.fromkeys((m.region, m.rack) for m in self.machines))

    @cached_property
    def regions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(m.region for m in self.machines))

    @cached_property
    def rack_of(self) -> IntVector:
        """Rack index of each machine, shape (machines,)."""
        index = {rack: i for i, rack in enumerate(self.racks)}
        return frozen(np.array([index[m.region, m.rack] for m in self.machines], dtype=np.int64))

    @cached_property
    def region_of(self) -> IntVector:
        """Region index of each machine, shape (machines,)."""
        index = {region: i for i, region in enumerate(self.regions)}
        return frozen(np.array([index[m.region] for m in self.machines], dtype=np.int64))

    @cached_property
    def region_latency_ms(self) -> FloatMatrix:
        """Latency between regions, shape (regions, regions); the diagonal is not used."""
        return frozen(
            np.array(
                [
                    [self.network.region_link(a, b).latency_ms for b in self.regions]
                    for a in self.regions
                ]
            )
        )

    def per_type(self, attribute: str, missing: float = np.nan) -> FloatVector:
        """One number per machine type; ``missing`` where the type does not say."""
        key = (attribute, missing if missing == missing else None)  # NaN equals nothing
        if key not in self._per_type:
            values = [getattr(t, attribute) for t in self.types]
            self._per_type[key] = frozen(_numbers(values, missing))
        return self._per_type[key]

    @cached_property
    def _per_type(self) -> dict[tuple[str, float | None], FloatVector]:
        """What :meth:`per_type` has worked out; evaluation asks for it thousands of times."""
        return {}

    @cached_property
    def usable_cpu(self) -> FloatVector:
        """CPU points each machine offers after headroom, shape (machines,)."""
        return frozen(self.usable_cpu_per_type[self.type_of])

    @cached_property
    def usable_cpu_per_type(self) -> FloatVector:
        """CPU points a machine of each type offers after headroom, shape (types,)."""
        return frozen(self.per_type("cpu_points") * (1.0 - self.headroom))

    @cached_property
    def has_nic(self) -> bool:
        """Whether a network card can be the limit."""
        return any(t.nic_mbps is not None for t in self.types)

    @cached_property
    def has_core_limit(self) -> bool:
        """Whether one thread can be full before its machine is."""
        return any(t.core_points is not None for t in self.types)

    @cached_property
    def has_overhead(self) -> bool:
        """Whether machines or worker processes cost CPU of their own."""
        return any(t.base_cpu_points or t.worker_cpu_points for t in self.types)

    def with_more(self, kind: str, number: int) -> Cluster:
        """So many more machines of a type: in the rack of its last one, and numbered on from it."""
        alike = [machine for machine in self.machines if machine.type == kind]
        like = alike[-1] if alike else self.machines[-1]
        numbered = re.fullmatch(r"(.*?)(\d{1,9})", like.name) if alike else None
        stem, last = (numbered[1], int(numbered[2])) if numbered else (f"{kind}-", 0)
        added: list[Machine] = []
        while len(added) < number:
            last += 1
            if f"{stem}{last}" not in self.machine_index:
                added.append(Machine(f"{stem}{last}", kind, like.rack, like.region))
        return replace(self, machines=(*self.machines, *added))


def _numbers(values: Sequence[float | None], missing: float) -> FloatVector:
    return np.array([missing if value is None else value for value in values], dtype=np.float64)

"""A profile: what a tuple and an idle instance cost, per kind of work and machine type.

Nasiri eq. 5: CPU of an instance is ``e * rate + met``. What was not measured is absent, never zero.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from penstock.model.cpu_form import CpuForm
from penstock.model.instance_traffic import InstanceTraffic
from penstock.model.topology import DEFAULT_STREAM


class Origin(StrEnum):
    """Where a profile's numbers come from; shown wherever they are used."""

    MEASURED = "measured"
    PUBLISHED = "published"
    DERIVED = "derived"
    ASSUMED = "assumed"


class SpeedBasis(StrEnum):
    """Where the speed of a machine type is known from, the surest first."""

    STATED = "speed"
    #: Both types were fingerprinted.
    FINGERPRINT = "fingerprint"
    CLOCK = "clock"
    #: Nothing is known about the machine that was measured; it counts as the mean of the clocks.
    CLOCK_ALONE = "clock-alone"


@dataclass(frozen=True, slots=True)
class SpeedEstimate:
    """A cost that was measured on another machine type and divided by how much faster this is."""

    measured_on: str
    speed: float
    basis: SpeedBasis


@dataclass(frozen=True, slots=True)
class Cost:
    """One row (kind of work) on one machine type, in CPU points."""

    row: str
    machine_type: str
    #: Points per tuple/s.
    e: float
    #: Points per instance, whatever the rate.
    met: float
    #: Extra points per tuple/s that enters or leaves the process.
    e_remote: float = 0.0
    #: Standard errors, where the numbers were fitted.
    e_error: float | None = None
    met_error: float | None = None
    samples: int | None = None
    #: Estimated from other types, not measured on this one.
    extrapolated: bool = False
    #: How, where one other type and its speed say it; else the rest of the table does.
    estimate: SpeedEstimate | None = None
    #: What was measured, where it is not a straight line; ``e`` and ``met`` stand for it in plans.
    form: CpuForm | None = None
    #: Largest relative difference between form and line over the rates measured.
    linear_error: float | None = None
    #: Highest rate of an instance that was measured.
    rate_most: float | None = None


@dataclass(frozen=True, slots=True)
class WorkerCost:
    """What a worker process uses beside its tasks, in CPU points, on one machine type.

    Part of it is there whatever happens, part of it moves tuples: to other processes, between
    threads, from one language to another.
    """

    machine_type: str
    cpu_points: float
    error: float | None = None
    #: Points per tuple/s that its instances take in together.
    e: float = 0.0
    e_error: float | None = None
    #: Points more per tuple/s that enters or leaves it.
    e_remote: float = 0.0
    e_remote_error: float | None = None


@dataclass(frozen=True, slots=True)
class StreamMeasure:
    """Measured selectivity and tuple size of a stream; where present they replace the declared."""

    source: str
    target: str
    name: str = DEFAULT_STREAM
    topology: str = ""
    selectivity: float | None = None
    selectivity_error: float | None = None
    tuple_bytes: float | None = None
    #: Tuples/s seen on the stream while it was measured, for schedulers that follow traffic.
    tuples_per_s: float | None = None


@dataclass(frozen=True)
class Profile:
    """Costs of kinds of work on machine types, with memory per instance and measured streams."""

    name: str
    costs: tuple[Cost, ...]
    memory_mb: tuple[tuple[str, float], ...] = ()
    streams: tuple[StreamMeasure, ...] = ()
    workers: tuple[WorkerCost, ...] = ()
    origin: Origin = Origin.MEASURED
    source: str = ""
    #: Between instances, for schedulers that group them by traffic.
    traffic: tuple[InstanceTraffic, ...] = ()

    @cached_property
    def by_place(self) -> dict[tuple[str, str], Cost]:
        """The cost of (row, machine type)."""
        return {(cost.row, cost.machine_type): cost for cost in self.costs}

    @cached_property
    def rows(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cost.row for cost in self.costs))

    @cached_property
    def machine_types(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cost.machine_type for cost in self.costs))

    def covers(self, rows: set[str], machine_types: set[str]) -> bool:
        """Whether every row has a cost on every machine type."""
        return all((row, kind) in self.by_place for row in rows for kind in machine_types)

    def shifted(self, standard_errors: float) -> Profile:
        """Every cost so many of its standard errors higher, or lower; never below nothing."""

        def moved(value: float, error: float | None) -> float:
            return max(0.0, value + standard_errors * (error or 0.0))

        costs = tuple(
            replace(cost, e=moved(cost.e, cost.e_error), met=moved(cost.met, cost.met_error))
            for cost in self.costs
        )
        return replace(self, costs=costs, origin=Origin.DERIVED)

    def sped_up(self, row: str, factor: float) -> Profile:
        """The same profile with tuples of one row cheaper by a factor, for what-if studies."""
        costs = tuple(
            replace(cost, e=cost.e / factor) if cost.row == row else cost for cost in self.costs
        )
        return replace(self, costs=costs, origin=Origin.DERIVED)

    @property
    def has_errors(self) -> bool:
        """Whether it says how sure its costs are."""
        return any(cost.e_error is not None or cost.met_error is not None for cost in self.costs)

    def as_on(self, measured: str, machine_types: Iterable[str]) -> Profile:
        """Costs measured on one machine type, taken for others that run at the same speed."""
        costs = tuple(
            replace(cost, machine_type=kind)
            for cost in self.costs
            if cost.machine_type == measured
            for kind in machine_types
        )
        return replace(self, costs=costs, workers=(), origin=Origin.DERIVED)

    def with_met(self, met: float) -> Profile:
        """The same profile with one fixed overhead everywhere, for what-if studies."""
        costs = tuple(replace(cost, met=met, met_error=None) for cost in self.costs)
        return replace(self, costs=costs, origin=Origin.DERIVED)

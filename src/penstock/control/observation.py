"""What the loop sees of a running system at one moment. What is not known is NaN, never zero."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, nan

from penstock.model.arrays import BoolVector, FloatVector
from penstock.model.instance_traffic import InstanceTraffic
from penstock.model.placement import Placement


@dataclass(frozen=True, slots=True)
class Observation:
    """One moment. Tuples of floats have an entry per topology, in the problem's order."""

    #: Seconds on the clock of who observes; only differences count.
    time_s: float
    offered_per_s: tuple[float, ...]
    processed_per_s: tuple[float, ...]
    #: Tuples that have arrived and wait at the sources.
    backlog: tuple[float, ...]
    #: 95th percentile of the time from arrival to completion.
    latency_s: tuple[float, ...]
    #: Who runs where.
    placement: Placement
    #: Whether each machine is there, shape (machines,).
    alive: BoolVector
    #: Part of its CPU points that each machine has in use, NaN where not known, (machines,).
    cpu: FloatVector | None = None
    #: Everything that should run runs: no change is under way, nothing lost waits for a place.
    settled: bool = True
    #: Age of the newest telemetry.
    telemetry_age_s: float = 0.0
    #: How long the last change stopped the topology, once that is known.
    paused_s: float = nan
    #: Part of the time in which spouts were kept from emitting.
    held_back: float = nan
    #: Tuples/s on each stream, (streams,), and into each instance, (instances,).
    stream_per_s: FloatVector | None = None
    instance_per_s: FloatVector | None = None
    #: Tuples/s between instances, where the engine counts them, for each topology.
    traffic: tuple[InstanceTraffic, ...] = ()

    @property
    def offered(self) -> float:
        """Tuples/s offered to all topologies together; NaN if one of them is not known."""
        return sum(self.offered_per_s)

    @property
    def processed(self) -> float:
        return sum(self.processed_per_s)

    @property
    def waiting(self) -> float:
        return sum(self.backlog)

    @property
    def is_known(self) -> bool:
        """Whether there is telemetry to decide on."""
        return not (isnan(self.offered) or isnan(self.waiting))

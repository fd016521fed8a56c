"""What a watcher reads off a running cluster at one moment, in the engine's own nouns.

What is not known is NaN, or not in the mapping; it is never zero. Rates are means over the newest
windows of telemetry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import nan
from typing import TypeAlias

from penstock.model.snapshot import Snapshot

#: Topology, component, and number within the component, in the order of ``Deployed.components``.
InstanceName: TypeAlias = tuple[str, str, int]
#: Topology, source, target and name of a stream.
StreamName: TypeAlias = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class TopologyReading:
    """What a topology is offered and does."""

    #: Tuples/s that arrive at its sources, whether they are taken in or not.
    offered_per_s: float = nan
    #: Tuples/s that its sources take in.
    processed_per_s: float = nan
    #: Tuples that have arrived and wait at the sources.
    backlog: float = nan
    #: From arrival to completion: the 95th percentile where the engine knows it, else the mean.
    latency_s: float = nan
    #: Part of the time in which its sources were kept from taking tuples in.
    held_back: float = nan
    #: Why not everything of it runs that should; empty: all does.
    unsettled: str = ""


@dataclass(frozen=True, slots=True)
class InstanceReading:
    """What one instance does."""

    machine: str
    #: Tuples/s that come in (of a source: that it puts out), and that it could take at most.
    arrives_per_s: float = nan
    serves_per_s: float = nan
    #: Part of its input queue that is in use.
    queue_fill: float = nan
    #: CPU of its own thread, 100 points are a core.
    cpu_points: float = nan


@dataclass(frozen=True)
class Reading:
    """One moment of a running cluster."""

    #: Seconds since 1970, by the watcher's clock.
    time_s: float
    #: Machines that are there, topologies, who runs where.
    snapshot: Snapshot
    topologies: Mapping[str, TopologyReading] = field(default_factory=dict)
    #: CPU points in use on each machine, as far as the engine's own processes use them.
    machine_points: Mapping[str, float] = field(default_factory=dict)
    instances: Mapping[InstanceName, InstanceReading] = field(default_factory=dict)
    stream_per_s: Mapping[StreamName, float] = field(default_factory=dict)
    #: Tuples/s from one instance to another.
    traffic_per_s: Mapping[tuple[InstanceName, InstanceName], float] = field(default_factory=dict)
    #: Shares in force of the instances of (topology, component); others divide evenly.
    shares: Mapping[tuple[str, str], tuple[float, ...]] = field(default_factory=dict)
    #: Since when everything that should run has run; NaN: it does not, or nobody knows.
    running_since_s: float = nan
    #: Age of the newest telemetry; NaN: there is none.
    telemetry_age_s: float = nan
    #: How long the last change stopped what runs, where the engine itself knows it.
    paused_s: float = nan

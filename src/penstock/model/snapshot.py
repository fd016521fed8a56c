"""What runs on a cluster at one moment, as an engine tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.model.cluster import Cluster
from penstock.model.plan import Deployed
from penstock.model.topology import Topology


@dataclass(frozen=True)
class Snapshot:
    """Machines, topologies and who runs where. Topologies and deployments are in one order."""

    cluster: Cluster
    topologies: tuple[Topology, ...]
    deployed: tuple[Deployed, ...]
    #: Tuples/s each component took in (a spout: put out), by topology, where they are known.
    rates: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    #: Machines the engine does not use for now.
    avoided: tuple[str, ...] = ()
    #: What the engine says of each topology's placement.
    statuses: Mapping[str, str] = field(default_factory=dict)
    #: Settings of the engine that matter to who applies a plan.
    settings: Mapping[str, str] = field(default_factory=dict)
    #: Topologies that are there but are not in here, by name, and why.
    left_out: Mapping[str, str] = field(default_factory=dict)
    #: What could not be learned.
    notes: tuple[str, ...] = ()

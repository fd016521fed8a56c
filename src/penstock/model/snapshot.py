"""What runs on a cluster at one moment, as an engine tells it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

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

    def narrowed(self, topologies: Collection[str]) -> Snapshot:
        """Only these of the topologies."""
        mine = [i for i, t in enumerate(self.topologies) if t.name in topologies]
        return replace(
            self,
            topologies=tuple(self.topologies[i] for i in mine),
            deployed=tuple(self.deployed[i] for i in mine),
        )

    def without_components(self, names: Collection[str]) -> Snapshot:
        """For plans that leave some components to the engine, which places them by itself."""
        return replace(
            self,
            topologies=tuple(
                replace(
                    t,
                    components=tuple(c for c in t.components if c.name not in names),
                    streams=tuple(
                        s for s in t.streams if s.target not in names and s.source not in names
                    ),
                )
                for t in self.topologies
            ),
            deployed=tuple(
                replace(d, components=tuple(p for p in d.components if p[0] not in names))
                for d in self.deployed
            ),
        )

"""The machines of a lab as a cluster to plan on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from penstock.engines.lab.machines import POINTS_PER_CORE, LabMachine
from penstock.model.cluster import Cluster, Machine, MachineType


def lab_cluster(machines: Sequence[LabMachine], name: str = "lab") -> Cluster:
    """The machines of a lab: points of the same core, so a tuple costs the same everywhere."""
    types = {
        m.type: MachineType(
            m.type,
            cpu_points=m.points,
            core_points=POINTS_PER_CORE if m.points > POINTS_PER_CORE else None,
        )
        for m in machines
    }
    return Cluster(name, tuple(types.values()), tuple(Machine(m.name, m.type) for m in machines))


def with_own_use(cluster: Cluster, points: Mapping[str, float]) -> Cluster:
    """The cluster with what each machine's own daemon was seen to use, in CPU points."""
    of_type = {m.type: max(0.0, points.get(m.name, 0.0)) for m in cluster.machines}
    types = tuple(replace(t, base_cpu_points=of_type.get(t.name, 0.0)) for t in cluster.types)
    return replace(cluster, types=types)

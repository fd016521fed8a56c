"""The machines of a lab as a cluster to plan on."""

from __future__ import annotations

from collections.abc import Sequence

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

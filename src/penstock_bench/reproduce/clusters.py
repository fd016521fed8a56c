"""A cluster as the paper's table of hardware has it: our input, held against what is printed."""

from __future__ import annotations

from penstock.model.cluster import Cluster, Hop
from penstock.schedulers.executor_groups import node_power
from penstock.schedulers.top import TopScheduler

_MB_PER_GB = 1024.0


def cluster_figures(cluster: Cluster) -> dict[str, float | str | None]:
    """Machines, racks, and what a machine of each type has, as ``cores.i7``."""
    figures: dict[str, float | str | None] = {
        "machines": float(len(cluster.machines)),
        "racks": float(len(cluster.racks)),
        "regions": float(len(cluster.regions)),
        # There and back.
        "between_racks_ms": 2.0 * cluster.network.links[Hop.OTHER_RACK].latency_ms,
    }
    # Thesis eq. 3.2, with the weight that TOP uses.
    weight = TopScheduler().alpha
    power = node_power(cluster, weight, 1.0 - weight).power
    for number, machine in enumerate(cluster.machines):
        kind = cluster.types[cluster.type_of[number]]
        memory = None if kind.memory_mb is None else kind.memory_mb / _MB_PER_GB
        of_one = {
            "cores": kind.cores,
            "ghz": kind.ghz,
            "memory_gb": memory,
            "nic_mbps": kind.nic_mbps,
            "gflops": kind.gflops,
            "power": float(power[number]),
        }
        for name, value in of_one.items():
            figures[f"{name}.{machine.type}"] = None if value is None else float(value)
    return figures

"""Traffic by network class, bytes through each NIC, and what crossing a process boundary costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.evaluate.rates import Flow, Rates, worker_keys
from penstock.model.arrays import FloatMatrix, FloatVector, IntVector, sum_by
from penstock.model.cluster import HOP_DISTANCE, Cluster, Hop
from penstock.model.placement import Placement
from penstock.model.problem import Problem


@dataclass(frozen=True, slots=True)
class Traffic:
    """Traffic at scale 1."""

    #: Tuples/s and bytes/s by hop class, shape (classes,), nearest first.
    tuples: FloatVector
    bytes: FloatVector
    #: Latency times tuples/s, summed; divide by the tuples for the mean hop latency.
    latency_ms_sum: float

    @property
    def mean_hop_latency_ms(self) -> float:
        total = float(self.tuples.sum())
        return self.latency_ms_sum / total if total else 0.0

    @property
    def mean_distance(self) -> float:
        """Mean network distance of a tuple's hop, 0 (same process) to 4 (other region)."""
        total = float(self.tuples.sum())
        return float(self.tuples @ HOP_DISTANCE) / total if total else 0.0


def traffic(problem: Problem, placement: Placement, rates: Rates) -> Traffic:
    """Where the tuples of all streams travel."""
    cluster = problem.cluster
    places = _places(problem, placement)
    tuples, size, latency = np.zeros(len(Hop)), np.zeros(len(Hop)), 0.0
    for flow in rates.flows:
        classes, flow_latency = _travel(cluster, places, flow)
        tuples += classes
        size += classes * flow.stream.tuple_bytes
        latency += flow_latency
    for local in rates.local_flows:
        tuples[Hop.SAME_PROCESS] += local.tuples_per_s
        size[Hop.SAME_PROCESS] += local.tuples_per_s * local.stream.tuple_bytes
        latency += local.tuples_per_s * hop_ms(cluster, Hop.SAME_PROCESS, local.stream.tuple_bytes)
    return Traffic(np.maximum(tuples, 0.0), np.maximum(size, 0.0), latency)


def flow_latency_ms(problem: Problem, placement: Placement, flow: Flow) -> float:
    """Mean latency of a flow's hops."""
    classes, latency = _travel(problem.cluster, _places(problem, placement), flow)
    total = float(classes.sum())
    return latency / total if total > 0 else 0.0


def flow_tuples(problem: Problem, placement: Placement, flow: Flow) -> FloatVector:
    """Tuples/s of a flow by hop class at scale 1, shape (5,)."""
    classes, _ = _travel(problem.cluster, _places(problem, placement), flow)
    return np.maximum(classes, 0.0)


def _travel(
    cluster: Cluster, places: tuple[tuple[IntVector, int], ...], flow: Flow
) -> tuple[FloatVector, float]:
    """Tuples/s of a flow by hop class, and their latency times tuples/s, summed."""
    within = [_shared(flow, place, count) for place, count in places]
    by_region = _region_matrix(flow, *places[-1])
    # Each wider place contains the narrower one; a class is what the narrower left over.
    classes = np.diff(np.array([0.0, *within, float(by_region.sum())]))
    return classes, _latency_sum(cluster, classes, by_region, flow.stream.tuple_bytes)


def _places(problem: Problem, placement: Placement) -> tuple[tuple[IntVector, int], ...]:
    """Worker, machine, rack and region of each instance, and how many there are of each."""
    cluster = problem.cluster
    return (
        worker_keys(placement),
        (placement.machine, len(cluster.machines)),
        (cluster.rack_of[placement.machine], len(cluster.racks)),
        (cluster.region_of[placement.machine], len(cluster.regions)),
    )


def _shared(flow: Flow, place: IntVector, count: int) -> float:
    """Tuples/s whose two ends are in the same place."""
    sent = sum_by(place[flow.sources], flow.sent, count)
    taken = sum_by(place[flow.targets], flow.division, count)
    return float(sent @ taken)


def _region_matrix(flow: Flow, region: IntVector, regions: int) -> FloatMatrix:
    sent = sum_by(region[flow.sources], flow.sent, regions)
    taken = sum_by(region[flow.targets], flow.division, regions)
    return sent[:, None] * taken[None, :]


def hop_ms(cluster: Cluster, hop: Hop, tuple_bytes: float) -> float:
    """Time a tuple takes over one hop."""
    link = cluster.network.links[hop]
    return link.latency_ms + _transmission_ms(tuple_bytes, link.bandwidth_mbps)


def _transmission_ms(tuple_bytes: float, bandwidth_mbps: float | None) -> float:
    return 0.0 if not bandwidth_mbps else tuple_bytes * 8.0 / (bandwidth_mbps * 1e3)


def _latency_sum(
    cluster: Cluster, classes: FloatVector, by_region: FloatMatrix, tuple_bytes: float
) -> float:
    near = sum(
        float(classes[hop]) * hop_ms(cluster, hop, tuple_bytes)
        for hop in Hop
        if hop is not Hop.OTHER_REGION
    )
    if len(cluster.regions) == 1:
        return near
    crossing = by_region * (1.0 - np.eye(len(cluster.regions)))
    return near + float((crossing * region_hop_ms(cluster, tuple_bytes)).sum())


def region_hop_ms(cluster: Cluster, tuple_bytes: float) -> FloatMatrix:
    """Time a tuple takes between regions, shape (regions, regions); the diagonal is not used."""
    links = [[cluster.network.region_link(a, b) for b in cluster.regions] for a in cluster.regions]
    sending = [
        [_transmission_ms(tuple_bytes, link.bandwidth_mbps) for link in row] for row in links
    ]
    return np.asarray(cluster.region_latency_ms + np.array(sending))


def pair_hops(problem: Problem, placement: Placement) -> FloatVector:
    """Connected instance pairs by hop class, shape (classes,), without rates.

    Each source and target pair counts once per connected pair of components, whatever its traffic.
    """
    places = _places(problem, placement)
    starts = placement.starts(len(problem.components))
    joined = {tuple(sorted((s.source, s.target))) for s in problem.streams}
    pairs = np.zeros(len(Hop))
    for a, b in sorted(joined):
        first, second = slice(starts[a], starts[a + 1]), slice(starts[b], starts[b + 1])
        total = (starts[a + 1] - starts[a]) * (starts[b + 1] - starts[b])
        within = [
            float(np.bincount(place[first], minlength=n) @ np.bincount(place[second], minlength=n))
            for place, n in places
        ]
        pairs += np.diff(np.array([0.0, *within, float(total)]))
    return pairs


def nic_bytes(
    problem: Problem, placement: Placement, rates: Rates
) -> tuple[FloatVector, FloatVector]:
    """Bytes/s out of and into each machine at scale 1, two arrays of shape (machines,)."""
    machines = len(problem.cluster.machines)
    out, into = np.zeros(machines), np.zeros(machines)
    for flow in rates.flows:
        size = flow.stream.tuple_bytes
        if size == 0.0:
            continue
        sent = sum_by(placement.machine[flow.sources], flow.sent, machines)
        taken = sum_by(placement.machine[flow.targets], flow.division, machines)
        out += size * sent * (flow.division.sum() - taken)
        into += size * taken * (flow.sent.sum() - sent)
    # Differences of equal sums leave dust below zero.
    return np.maximum(out, 0.0), np.maximum(into, 0.0)


def crossings(placement: Placement, rates: Rates) -> FloatVector:
    """Tuples/s at scale 1 that leave or enter each instance's process, shape (instances,)."""
    worker, workers = worker_keys(placement)
    crossing = np.zeros(len(placement))
    for flow in rates.flows:
        source_worker, target_worker = worker[flow.sources], worker[flow.targets]
        sent = sum_by(source_worker, flow.sent, workers)
        taken = sum_by(target_worker, flow.division, workers)
        crossing[flow.sources] += flow.sent * (flow.division.sum() - taken[source_worker])
        crossing[flow.targets] += flow.division * (flow.sent.sum() - sent[target_worker])
    return np.maximum(crossing, 0.0)

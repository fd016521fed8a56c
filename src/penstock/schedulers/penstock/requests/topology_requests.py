"""What each topology asks for in requests mode, and which of its components belong together.

``TopologyRequests`` is one topology as the packer sees it. Its components are joined into groups:
executors of one group are dealt out side by side, in proportion, so that every worker and machine
holds a fair part of both ends of the group's streams. A group of connected pairs ``P`` that needs
``s`` machines keeps about ``P / s`` of them within a machine, so two groups are merged while that
raises the pairs kept within workers, machines and racks.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from penstock.model.arrays import FloatMatrix, FloatVector
from penstock.model.problem import Problem
from penstock.schedulers.room import components_of

#: Merging must gain more pairs than this, or rounding would decide.
_LEAST_GAIN = 1e-6
#: Sums over thousands of executors may miss by this much.
_DUST = 1e-6


@dataclass(frozen=True)
class TopologyRequests:
    """One topology's requests; lists are by component, in the topology's order."""

    topology: int
    priority: int
    first_component: int
    counts: tuple[int, ...]
    cpu: tuple[float, ...]
    memory: tuple[float, ...]
    heap: tuple[float, ...]
    most_heap: float
    #: Part of the largest machine that one executor takes.
    share: tuple[float, ...]
    #: 1 where two components are joined by a stream, 2 on the diagonal for one that feeds itself.
    joined: FloatMatrix
    #: Connected executor pairs.
    pairs: float
    #: CPU with the workers' floor, and memory, of the whole topology.
    total_cpu: float
    total_memory: float
    groups: tuple[tuple[int, ...], ...]
    #: Hard resources beside memory that one executor of each component asks for.
    others: tuple[tuple[float, ...], ...]

    @property
    def largest_share(self) -> float:
        return max(self.share)


@dataclass(frozen=True)
class LargestUnits:
    """The largest machine and the largest rack, to measure topologies by."""

    machine_cpu: float
    machine_memory: float
    rack_cpu: float
    rack_memory: float
    #: Most of each hard resource beside memory, shape (resources,).
    machine_others: FloatVector

    def share(self, cpu: FloatVector, memory: FloatVector, others: FloatMatrix) -> FloatVector:
        """The part of the largest machine that each executor takes, by what it takes most of."""
        share = np.maximum(cpu / self.machine_cpu, memory / self.machine_memory)
        for asked, most in zip(others.T, self.machine_others.tolist(), strict=True):
            share = np.maximum(share, asked / most if most else np.sign(asked))
        return share

    @classmethod
    def of(cls, problem: Problem) -> LargestUnits:
        cluster = problem.cluster
        memory = cluster.per_type("memory_mb", np.inf)[cluster.type_of]
        cpu = cluster.usable_cpu
        return cls(
            float(cpu.max()),
            float(memory.max()),
            float(np.bincount(cluster.rack_of, weights=cpu).max()),
            float(np.bincount(cluster.rack_of, weights=memory).max()),
            problem.resources.beyond_memory.capacity_of_type.max(axis=0),
        )


def requests_by_topology(problem: Problem, counts: tuple[int, ...]) -> list[TopologyRequests]:
    """Every topology's requests, in the problem's order."""
    sizes = LargestUnits.of(problem)
    pairs: list[set[tuple[int, int]]] = [set() for _ in problem.topologies]
    for stream in problem.streams:
        topology = int(problem.topology_of[stream.source])
        first = problem.first_component[topology]
        pairs[topology].add((stream.source - first, stream.target - first))
    return [_demand(problem, t, counts, sizes, pairs[t]) for t in range(len(problem.topologies))]


def _demand(
    problem: Problem,
    topology: int,
    counts: tuple[int, ...],
    sizes: LargestUnits,
    streams: set[tuple[int, int]],
) -> TopologyRequests:
    own = list(components_of(problem, topology))
    declared = problem.topologies[topology]
    count = np.array([counts[c] for c in own], dtype=np.float64)
    cpu = np.nan_to_num(problem.cpu_request)[own]
    memory = np.nan_to_num(problem.memory_mb)[own]
    heap = problem.onheap_mb[own]
    others = problem.resources.beyond_memory.request[own]
    most_heap = np.inf if declared.worker_max_heap_mb is None else declared.worker_max_heap_mb
    joined = np.zeros((len(own), len(own)))
    for a, b in streams:
        joined[a, b] = joined[b, a] = 2.0 if a == b else 1.0
    workers = max(1, ceil(float(count @ heap) / most_heap - 1e-9))
    floor = problem.cluster.worker_min_cpu_points * workers
    total_cpu = max(float(count @ cpu), floor)
    within = np.triu(joined > 0) * np.outer(count, count)
    # Workers that stay below the floor cost more CPU than their executors ask for.
    stretch = total_cpu / float(count @ cpu) if count @ cpu > 0 else 1.0
    parts = np.array(
        [
            count * np.maximum(stretch * cpu / sizes.rack_cpu, memory / sizes.rack_memory),
            count * np.maximum(stretch * cpu / sizes.machine_cpu, memory / sizes.machine_memory),
            count * heap / most_heap,
        ]
    )
    return TopologyRequests(
        topology,
        declared.priority,
        own[0],
        tuple(int(n) for n in count),
        tuple(cpu.tolist()),
        tuple(memory.tolist()),
        tuple(heap.tolist()),
        most_heap,
        tuple(sizes.share(cpu, memory, others).tolist()),
        joined,
        float(within.sum()),
        total_cpu,
        float(count @ memory),
        _groups(within, parts[parts.sum(axis=1) > 1.0]),
        tuple(map(tuple, others.tolist())),
    )


def _groups(pairs: FloatMatrix, parts: FloatMatrix) -> tuple[tuple[int, ...], ...]:
    """Components that are to be dealt out together, the group with most pairs first.

    ``pairs``: connected executor pairs of two components, upper triangle. ``parts``: racks,
    machines and workers that each component fills, shape (levels, components), of those levels at
    which the topology does not fit into one place as a whole.
    """
    between = pairs + np.triu(pairs, 1).T
    np.fill_diagonal(between, 0.0)
    members = [[c] for c in range(len(pairs))]
    inside = np.diag(pairs).copy()
    size = parts.T.copy()
    while True:
        gain = _merging_gain(between, inside, size)
        a, b = divmod(int(np.argmax(gain)), len(pairs))
        if gain[a, b] <= _LEAST_GAIN:
            break
        inside[a] += inside[b] + between[a, b]
        size[a] += size[b]
        members[a] += members[b]
        members[b] = []
        between[a] += between[b]
        between[:, a] += between[:, b]
        between[b] = between[:, b] = between[a, a] = 0.0
    order = sorted(range(len(pairs)), key=lambda group: (-inside[group], group))
    return tuple(tuple(members[group]) for group in order if members[group])


def _merging_gain(between: FloatMatrix, inside: FloatVector, size: FloatMatrix) -> FloatMatrix:
    """Pairs that each two groups would keep within places beyond what they keep apart."""
    apart = (inside[:, None] / np.maximum(size, 1.0)).sum(axis=1)
    places = np.maximum(size[:, None, :] + size[None, :, :], 1.0)
    together = (inside[:, None] + inside[None, :] + between)[:, :, None] / places
    gain = together.sum(axis=2) - apart[:, None] - apart[None, :]
    # Only groups that are joined at all.
    return np.where(between > 0, gain, 0.0)


@dataclass(frozen=True)
class FewestMachines:
    """How many machines any plan needs, and which resource says so."""

    machines: int
    resource: str
    by_cpu: int
    by_memory: int
    #: Whether the cluster has as much CPU and memory as all topologies ask for.
    possible: bool


def fewest_machines(problem: Problem, all_requests: list[TopologyRequests]) -> FewestMachines:
    """The largest machines that together hold the requests; no plan has fewer.

    A topology's workers are at least its heap over the heap of one, and each is charged the floor.
    """
    cluster = problem.cluster
    memory = cluster.per_type("memory_mb", np.inf)[cluster.type_of]
    cpu, needed_cpu = cluster.usable_cpu, sum(d.total_cpu for d in all_requests)
    needed_memory = sum(d.total_memory for d in all_requests)
    by_cpu, by_memory = _enough(cpu, needed_cpu), _enough(memory, needed_memory)
    possible = cpu.sum() >= needed_cpu - _DUST and memory.sum() >= needed_memory - _DUST
    resource = "CPU" if by_cpu >= by_memory else "memory"
    return FewestMachines(max(by_cpu, by_memory), resource, by_cpu, by_memory, bool(possible))


def _enough(offered: FloatVector, needed: float) -> int:
    """How many of the largest hold it; all of them where none do."""
    held = np.cumsum(np.sort(offered)[::-1])
    return min(int(np.searchsorted(held, needed - _DUST)) + 1, len(offered))

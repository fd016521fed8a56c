"""Groups of executors, one per slot, and the nodes they go to: what the thesis' schedulers share.

Muhammad 2023, chapter 3: logical grouping (Algorithms 2, 5, 7), then physical mapping (Algorithms
3, 6, 8, 11), topology by topology. Executors of one component are alike, so groups are
counts: ``groups[w, c]`` executors of component c in slot w, components counted from the topology's
first. Walking the list of executor pairs then is walking the list of component pairs, staying with
each as long as both ends have executors left, and costs one step per executor instead of one per
pair of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from penstock.model.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from penstock.model.cluster import Cluster
from penstock.model.outcome import Outcome
from penstock.model.problem import Problem
from penstock.schedulers.counts import required_counts, topologies_by_priority
from penstock.schedulers.room import Room, components_of, workers_asked
from penstock.schedulers.traffic import traffic_between

MB_PER_GB = 1024.0

#: A connected pair of components of one topology: source, destination.
Pair = tuple[int, int]


@dataclass(frozen=True)
class NodePower:
    """What machines are ranked by, shape (machines,), and what the reader must know of it."""

    power: FloatVector
    notes: tuple[str, ...] = ()


def node_power(
    cluster: Cluster, cpu: float, memory: float = 0.0, network: float = 0.0
) -> NodePower:
    """Weighted sum of GFLOPS, GB and Mb/s; a weight of 0 leaves that resource out."""
    used = np.unique(cluster.type_of)
    notes = []
    gflops = cluster.per_type("gflops")  # eq. (3.1), times the sockets of Algorithm 3
    if np.isnan(gflops[used]).any():
        # For all machines, so that unlike units are not compared.
        gflops = cluster.per_type("cpu_points")
        notes.append("node power from cpu_points: not every machine type has cores, GHz and FLOPs")
    power = cpu * gflops
    for weight, attribute, unit in ((memory, "memory_mb", MB_PER_GB), (network, "nic_mbps", 1.0)):
        if weight:
            power = power + weight * cluster.per_type(attribute, 0.0) / unit  # eq. (3.2), (3.3)
            if np.isnan(cluster.per_type(attribute)[used]).any():
                notes.append(f"node power counts an unknown {attribute} as 0")
    return NodePower(power[cluster.type_of], tuple(notes))


def ranked_nodes(power: FloatVector, free_slots: Sequence[int]) -> list[int]:
    """Machines with a free slot: most power first, ties to more free slots, then cluster order."""
    free = [machine for machine, slots in enumerate(free_slots) if slots > 0]
    return sorted(free, key=lambda machine: (-power[machine], -free_slots[machine]))


def topologies_to_place(room: Room) -> Iterator[tuple[int, int]]:
    """Each topology, by priority, with the workers it gets; one without any slot is refused."""
    for topology in topologies_by_priority(room.problem):
        free = sum(len(slots) for slots in room.free_slots)
        if free:
            yield topology, min(workers_asked(room.problem, topology), free)
        else:
            room.refuse(topology, "slots", 1, 0)


def put_groups(room: Room, topology: int, groups: Iterable[IntVector], power: FloatVector) -> None:
    """The groups, in their order, on the machines by power, all slots of one before the next."""
    executors = [group for group in groups if group.any()]
    nodes = ranked_nodes(power, [len(slots) for slots in room.free_slots])
    slots = ((node, slot) for node in nodes for slot in room.free_slots[node])
    workers = list(islice(slots, len(executors)))
    components = components_of(room.problem, topology)
    for worker, group in zip(workers, executors, strict=True):
        room.take(worker)
        for component, count in zip(components, group.tolist(), strict=True):
            for _ in range(count):
                room.put(component, worker)


def own_part(problem: Problem, topology: int) -> slice:
    """Where a topology's components stand in the arrays of the problem."""
    components = components_of(problem, topology)
    return slice(components.start, components.stop)


def connected_pairs(problem: Problem, topology: int) -> list[Pair]:
    """Component pairs joined by a stream, each once, in the order of the topology's streams."""
    graph = problem.topologies[topology]
    ends = ((graph.index[s.source], graph.index[s.target]) for s in graph.streams)
    return list(dict.fromkeys(ends))


def pairs_by_traffic(pairs: list[Pair], per_pair: FloatMatrix) -> list[Pair]:
    """The pairs with traffic, largest first, ties in their order (Table 3.6)."""
    traffic = comparable(np.array([per_pair[pair] for pair in pairs]))
    return [pairs[i] for i in np.argsort(-traffic, kind="stable") if traffic[i] > 0]


def group_by_pairs(
    counts: IntVector, pairs: Iterable[Pair], bond: FloatMatrix, workers: int, *, whole_slot: bool
) -> IntMatrix:
    """Algorithms 2, 5 and 7: (workers, components) executors, from pairs in the order given.

    ``bond[c, d]`` is what joins an executor of c with one of d. The next executor for a slot is
    the one with the strongest bond with the whole slot, or with its opening pair only.
    """
    per_slot = -(-int(counts.sum()) // workers)
    left = counts.copy()
    groups = np.zeros((workers, len(counts)), dtype=np.int64)
    slot = 0
    for pair in pairs:
        while slot < workers and _both_left(left, pair):
            taken = fill_slot(left, pair, bond, per_slot, whole_slot=whole_slot)
            groups[slot] = np.bincount(taken, minlength=len(counts))
            slot += 1
    for k, component in enumerate(np.repeat(np.arange(len(left)), left), start=1):
        groups[k % workers, component] += 1  # Algorithm 2, line 28: round-robin, from slot 1
    return groups


def _both_left(left: IntVector, pair: Pair) -> bool:
    """Whether two different executors are left to be the two ends of a pair."""
    source, destination = pair
    if source == destination:
        return bool(left[source] >= 2)
    return bool(left[source] and left[destination])


def fill_slot(
    left: IntVector, opening: Pair, bond: FloatMatrix, per_slot: int, *, whole_slot: bool
) -> list[int]:
    """The components of a slot's executors in the order taken; they are taken out of ``left``."""
    source, destination = opening
    taken = [source, destination]
    np.subtract.at(left, taken, 1)
    score = bond[source] + bond[destination]
    while len(taken) < per_slot:
        candidates = comparable(np.where(left > 0, score, 0.0))
        best = int(np.argmax(candidates))
        if candidates[best] == 0:
            break  # nothing that is left has to do with this slot
        taken.append(best)
        left[best] -= 1
        if whole_slot:
            score = score + bond[best]
    return taken


def traffic_inside(groups: IntMatrix, per_pair: FloatMatrix) -> FloatVector:
    """Tuples/s between executors of the same group, shape (workers,)."""
    return np.asarray(((groups @ per_pair) * groups).sum(axis=1))


def largest_first(groups: IntMatrix, values: FloatVector | IntVector) -> IntMatrix:
    """The groups by these values, ties in their order."""
    return groups[np.argsort(-comparable(values), kind="stable")]


def comparable(values: FloatVector | IntVector) -> FloatVector:
    """The values to thirty binary digits, so that what only rounding sets apart is a tie."""
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(np.ldexp(mantissa, 30)), exponent - 30))


def place_by_traffic(
    problem: Problem,
    scheduler: str,
    ranking: NodePower,
    group: Callable[[Room, int, IntVector, FloatMatrix, int], IntMatrix],
) -> Outcome:
    """Group each topology's executors, then the groups with most traffic inside on the best nodes.

    ``group`` gets the room, the topology, its counts, its traffic per executor pair and its number
    of workers, and answers with the executors of each component in each group.
    """
    counts = np.array(required_counts(problem, scheduler))
    traffic = traffic_between(problem, counts.tolist())
    per_pair = traffic.per_pair(counts.tolist())
    room = Room.of(problem)
    room.notes += [*ranking.notes, traffic.note]
    for topology, workers in topologies_to_place(room):
        own = own_part(problem, topology)
        groups = group(room, topology, counts[own], per_pair[own, own], workers)
        inside = traffic_inside(groups, per_pair[own, own])
        put_groups(room, topology, largest_first(groups, inside), ranking.power)
    return room.outcome()

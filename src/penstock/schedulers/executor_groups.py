"""Groups of executors, one per slot, and the nodes they go to: what the thesis' schedulers share.

Muhammad 2023, chapter 3: logical grouping (Algorithms 2, 5, 7), then physical mapping (Algorithms
3, 6, 8, 11), topology by topology. Executors come by kind (:mod:`executor_kinds`): those of one
kind are alike, so groups are counts, ``groups[w, k]`` executors of kind k in slot w. Without
traffic measured between executors the kinds are the components, counted from the topology's first.
Walking the list of executor pairs then is walking the list of pairs of kinds, staying with each as
long as both ends have executors left, and costs one step per executor instead of one per pair of
them.
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
from penstock.schedulers.executor_kinds import ExecutorKinds, Pair, kinds_by_traffic
from penstock.schedulers.room import Room, components_of, workers_asked
from penstock.schedulers.traffic import traffic_between

MB_PER_GB = 1024.0
#: Machine types named in a note.
_NAMED = 3


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
        lacking = _lacking(cluster, gflops, used)
        gflops = cluster.per_type("cpu_points")
        notes.append(
            f"node power from cpu_points: cores, GHz or FLOPs per cycle of {lacking} are not known"
        )
    power = cpu * gflops
    for weight, attribute, unit, name in (
        (memory, "ranked_memory_mb", MB_PER_GB, "memory_mb"),
        (network, "nic_mbps", 1.0, "nic_mbps"),
    ):
        if weight:
            known = cluster.per_type(attribute)
            power = power + weight * np.nan_to_num(known) / unit  # eq. (3.2), (3.3)
            if np.isnan(known[used]).any():
                lacking = _lacking(cluster, known, used)
                notes.append(f"node power counts {name} of {lacking} as 0: it is not known")
    return NodePower(power[cluster.type_of], tuple(notes))


def _lacking(cluster: Cluster, known: FloatVector, used: IntVector) -> str:
    """Names of the machine types in use that say nothing."""
    names = [cluster.types[t].name for t in used.tolist() if np.isnan(known[t])]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


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


def put_groups(
    room: Room,
    topology: int,
    groups: Iterable[IntVector],
    power: FloatVector,
    component: IntVector | None = None,
) -> None:
    """The groups, in their order, on the machines by power, all slots of one before the next.

    ``component`` is that of each kind; without it the kinds are the components.
    """
    executors = [group for group in groups if group.any()]
    nodes = ranked_nodes(power, [len(slots) for slots in room.free_slots])
    slots = ((node, slot) for node in nodes for slot in room.free_slots[node])
    workers = list(islice(slots, len(executors)))
    components = components_of(room.problem, topology)
    for worker in workers:
        room.take(worker)
    table = np.array(executors).reshape(len(executors), -1)
    # Kind by kind: an executor that was told apart is the instance that has its place in the order.
    for kind in range(table.shape[1]):
        owner = components[kind if component is None else int(component[kind])]
        for slot in np.repeat(np.arange(len(table)), table[:, kind]).tolist():
            room.put(owner, workers[slot])


def pairs_by_traffic(pairs: list[Pair], per_pair: FloatMatrix) -> list[Pair]:
    """The pairs with traffic, largest first, ties in their order (Table 3.6)."""
    if not pairs:
        return []
    traffic = comparable(np.array([per_pair[pair] for pair in pairs]))
    return [pairs[i] for i in np.argsort(-traffic, kind="stable") if traffic[i] > 0]


def group_by_pairs(
    counts: IntVector, pairs: Iterable[Pair], bond: FloatMatrix, workers: int, *, whole_slot: bool
) -> IntMatrix:
    """Algorithms 2, 5 and 7: (workers, kinds) executors, from pairs in the order given.

    ``bond[k, l]`` is what joins an executor of kind k with one of l. The next executor for a slot
    is the one with the strongest bond with the whole slot, or with its opening pair only.
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
    for k, kind in enumerate(np.repeat(np.arange(len(left)), left), start=1):
        groups[k % workers, kind] += 1  # Algorithm 2, line 28: round-robin, from slot 1
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
    """The kinds of a slot's executors in the order taken; they are taken out of ``left``."""
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
    rankings: Sequence[NodePower],
    group: Callable[[Room, ExecutorKinds, int], IntMatrix],
) -> Outcome:
    """Group each topology's executors, then the groups with most traffic inside on the best nodes.

    ``rankings`` say which nodes are best for each topology.
    ``group`` gets the room, a topology's executors and its number of workers, and answers with the
    executors of each kind in each group.
    """
    counts = np.array(required_counts(problem, scheduler))
    traffic = traffic_between(problem, counts.tolist())
    room = Room.of(problem)
    room.notes += dict.fromkeys(note for ranking in rankings for note in ranking.notes)
    room.notes.append(traffic.note)
    for topology, workers in topologies_to_place(room):
        executors = kinds_by_traffic(problem, topology, counts, traffic)
        room.notes += executors.notes
        groups = group(room, executors, workers)
        inside = traffic_inside(groups, executors.per_pair)
        ordered = largest_first(groups, inside)
        put_groups(room, topology, ordered, rankings[topology].power, executors.component)
    return room.outcome()

"""What runs together, and in which order: a deployment as stages of Spark's.

Components that follow each other without a new division (shuffle, to the same machines in the same
shares) make one **segment**, run by the same task one after the other: as Spark chains maps, and
Storm's local-or-shuffle keeps tuples at home. Segments that wait for the same others make one
**level**. A level runs as one stage for each place that has instances of it; an instance of a
segment is one partition there, its **slot**.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from penstock.engines.spark.deployment import Deployment
from penstock.engines.spark.hashing import hash_of_int
from penstock.errors import InputError
from penstock.model.topology import Kind, Stream, Topology

#: Shares that differ by less are the same, rounded differently.
_SAME = 1e-6


@dataclass(frozen=True, slots=True)
class Slot:
    """One instance of every component of a segment."""

    #: Spark's own hash of it, modulo the number of slots of its level and place, is its partition.
    address: int
    segment: int
    #: Which of the instances of its components it is.
    number: int
    place: str


@dataclass(frozen=True)
class Layout:
    """Segments and slots of one deployment."""

    topology: Topology
    deployment: Deployment
    #: Components of each segment, sources before targets.
    segments: tuple[tuple[str, ...], ...]
    #: Segments of each level, sources before targets.
    levels: tuple[tuple[int, ...], ...]
    slots: tuple[Slot, ...]

    def slots_at(self, level: int, place: str) -> list[Slot]:
        """One stage's slots, in the order of its partitions."""
        return [s for s in self.slots if s.segment in self.levels[level] and s.place == place]

    def places_of(self, level: int) -> list[str]:
        mine = {s.place for s in self.slots if s.segment in self.levels[level]}
        return [place for place in self.deployment.places if place in mine]

    def addresses(self, component: str) -> tuple[int, ...]:
        """Where to send tuples for each of a component's instances."""
        segment = self.segment_of(component)
        mine = [s for s in self.slots if s.segment == segment]
        return tuple(s.address for s in sorted(mine, key=lambda s: s.number))

    def segment_of(self, component: str) -> int:
        return next(i for i, segment in enumerate(self.segments) if component in segment)

    def is_chained(self, stream: Stream) -> bool:
        """Whether a stream stays within one task."""
        segment = self.segments[self.segment_of(stream.source)]
        return stream.target in segment and stream.target != segment[0]

    def level_of(self, segment: int) -> int:
        return next(i for i, level in enumerate(self.levels) if segment in level)


def lay_out(topology: Topology, deployment: Deployment, has_state: Callable[[str], bool]) -> Layout:
    """The segments, levels and slots of a deployment."""
    names = _order(topology, deployment)
    segments: list[list[str]] = []
    of: dict[str, int] = {}
    for name in names:
        inputs = [s for s in topology.streams if s.target == name and s.source in of]
        if not has_state(name) and _goes_on(inputs, name, deployment):
            of[name] = of[inputs[0].source]
            segments[of[name]].append(name)
        else:
            of[name] = len(segments)
            segments.append([name])
    levels = _levels(topology, segments, of)
    slots = _slots(deployment, segments, levels)
    frozen = tuple(tuple(segment) for segment in segments)
    return Layout(topology, deployment, frozen, tuple(levels), tuple(slots))


def _order(topology: Topology, deployment: Deployment) -> list[str]:
    if topology.order is None:
        cycle = " -> ".join(topology.cycle)
        raise InputError(f"cycle {cycle}; a topology that runs on Spark has none")
    names = [topology.components[c].name for c in topology.order]
    return [name for name in names if name in deployment.instances]


def _goes_on(inputs: list[Stream], name: str, deployment: Deployment) -> bool:
    """Whether a component can work in the tasks of the one before it."""
    if len(inputs) != 1 or not inputs[0].grouping.suits_any_instance:
        return False
    mine, before = (deployment.instances[c] for c in (name, inputs[0].source))
    if [(i.place, i.machine) for i in mine] != [(i.place, i.machine) for i in before]:
        return False
    return all(abs(a.share - b.share) <= _SAME for a, b in zip(mine, before, strict=True))


def _levels(
    topology: Topology, segments: list[list[str]], of: dict[str, int]
) -> list[tuple[int, ...]]:
    level = dict.fromkeys(range(len(segments)), 0)
    for number, segment in enumerate(segments):
        before = [
            of[s.source]
            for s in topology.streams
            if s.target in segment and s.source in of and of[s.source] != number
        ]
        level[number] = max((level[other] + 1 for other in before), default=0)
    return [
        tuple(number for number, mine in level.items() if mine == one)
        for one in range(max(level.values()) + 1)
    ]


def _slots(
    deployment: Deployment, segments: list[list[str]], levels: list[tuple[int, ...]]
) -> list[Slot]:
    slots: list[Slot] = []
    next_address = 0
    for level in levels:
        wanted: dict[str, list[tuple[int, int]]] = {}
        for segment in level:
            for number, instance in enumerate(deployment.instances[segments[segment][0]]):
                wanted.setdefault(instance.place, []).append((segment, number))
        for place, mine in wanted.items():
            addresses = _addresses(len(mine), next_address)
            next_address = max(addresses) + 1
            slots += [
                Slot(address, segment, number, place)
                for address, (segment, number) in zip(addresses, mine, strict=True)
            ]
    return slots


def _addresses(count: int, first: int) -> list[int]:
    """Numbers from ``first`` on that Spark's hash deals one to each of so many partitions."""
    addresses: dict[int, int] = {}
    address = first
    while len(addresses) < count:
        addresses.setdefault(hash_of_int(address) % count, address)
        address += 1
    return [addresses[partition] for partition in range(count)]


def spouts(topology: Topology, names: Iterable[str]) -> list[str]:
    kinds = {c.name: c.kind for c in topology.components}
    return [name for name in names if kinds[name] is Kind.SPOUT]

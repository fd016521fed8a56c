"""What agents have told of machines, as one table, and a cluster completed by it.

What a cluster states holds; the table fills in what it does not state, and where the two differ
that is said. Times between machines fill the links of the network: half a round trip is its
latency, the median over the pairs of machines that it joins.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from penstock.model.cluster import Cluster, Hop, Link, Machine, MachineType, Network
from penstock.model.machine_record import FINGERPRINT_KINDS, HARDWARE_FIELDS, MachineRecord
from penstock.model.resources import Quantities

#: A fact that differs by less from what is stated is the same.
_ALIKE = 0.05
_NAMED = 3
_HARDWARE = tuple(f.name for f in HARDWARE_FIELDS)
_WHOLE = ("sockets", "cores")


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """One machine: the newest of what does not change, and the mean of what does."""

    machine: str
    host: str
    newest_ms: int
    #: Fields of the machine record that are known.
    facts: Mapping[str, Any]
    #: CPU points that others than the engine's workers used, over the records that are here.
    other_points: float | None = None


@dataclass(frozen=True)
class MachineTable:
    """Machines by name, and round-trip times between them in ms."""

    machines: Mapping[str, MachineFacts]
    #: By pair of names, the smaller first: the median of the shortest of each window.
    round_trip_ms: Mapping[tuple[str, str], float] = field(default_factory=dict)

    @classmethod
    def of(cls, records: Iterable[MachineRecord]) -> MachineTable:
        by_machine: dict[str, list[MachineRecord]] = defaultdict(list)
        least: dict[tuple[str, str], list[float]] = defaultdict(list)
        for record in records:
            by_machine[record.machine].append(record)
            for trip in record.round_trips:
                if trip.least_ms is not None:
                    a, b = sorted((record.machine, trip.machine))
                    least[a, b].append(trip.least_ms)
        return cls(
            {name: _facts(own) for name, own in sorted(by_machine.items())},
            {pair: median(times) for pair, times in sorted(least.items())},
        )


def _facts(records: Sequence[MachineRecord]) -> MachineFacts:
    """What only some records say, such as a fingerprint, is that of the newest that says it."""
    by_time = sorted(records, key=lambda record: record.time_ms)
    newest = by_time[-1]
    facts = {key: value for record in by_time for key, value in record.facts.items()}
    others = [r.facts["other_points"] for r in records if "other_points" in r.facts]
    mean = sum(others) / len(others) if others else None
    return MachineFacts(newest.machine, newest.host, newest.time_ms, facts, mean)


@dataclass(frozen=True)
class ClusterFacts:
    """A cluster with what a table adds, and what is to be said of that."""

    cluster: Cluster
    remarks: tuple[str, ...]
    #: CPU points that others use, by machine, where that is known.
    other_points: Mapping[str, float] = field(default_factory=dict)


def completed(cluster: Cluster, table: MachineTable) -> ClusterFacts:
    """The cluster with hardware, regions and times that agents have told and it does not state."""
    told = _by_machine(cluster, table)
    remarks = _absent(cluster, told)
    types = []
    for kind in cluster.types:
        own = [told[m.name] for m in cluster.machines if m.type == kind.name and m.name in told]
        filled, said = _filled(kind, own)
        types.append(filled)
        remarks += said
    machines = tuple(_placed(m, told.get(m.name)) for m in cluster.machines)
    cluster = replace(cluster, types=tuple(types), machines=machines)
    network = _timed(cluster, _round_trips(told, table))
    return ClusterFacts(
        replace(cluster, network=network),
        tuple(remarks),
        {
            name: facts.other_points
            for name, facts in told.items()
            if facts.other_points is not None
        },
    )


def _by_machine(cluster: Cluster, table: MachineTable) -> dict[str, MachineFacts]:
    """Facts by the cluster's names: an agent is known by its own name or by its host's."""
    hosts: dict[str, list[MachineFacts]] = defaultdict(list)
    for facts in table.machines.values():
        hosts[facts.host].append(facts)
    told = {}
    for machine in cluster.machines:
        names = [n for n in (machine.name, machine.host) if n]
        own = next((table.machines[n] for n in names if n in table.machines), None)
        alone = next((hosts[n][0] for n in names if len(hosts.get(n, ())) == 1), None)
        if (found := own or alone) is not None:
            told[machine.name] = found
    return told


def _absent(cluster: Cluster, told: Mapping[str, MachineFacts]) -> list[str]:
    silent = [m.name for m in cluster.machines if m.name not in told]
    return [f"no agent has told of {_some(silent)}"] if silent else []


def _filled(kind: MachineType, own: Sequence[MachineFacts]) -> tuple[MachineType, list[str]]:
    """A type with what its machines have told; the median where they differ."""
    remarks = []
    added: dict[str, Any] = {}
    for name in _HARDWARE:
        values = [float(facts.facts[name]) for facts in own if facts.facts.get(name)]
        if not values:
            continue
        measured, stated = median(values), getattr(kind, name)
        if max(values) > min(values) * (1 + _ALIKE):
            remarks.append(
                f"machines of type {kind.name} differ in {name}: {min(values):g} to "
                f"{max(values):g}; give them types of their own"
            )
        if stated is None:
            added[name] = max(1, round(measured)) if name in _WHOLE else measured
        elif abs(measured - stated) > _ALIKE * stated:
            remarks.append(
                f"{name} of type {kind.name}: {stated:g} is stated, {measured:g} measured; "
                "what is stated holds"
            )
    if not kind.fingerprint:
        added["fingerprint"] = _fingerprint(own)
    return replace(kind, **added), remarks


def _fingerprint(own: Sequence[MachineFacts]) -> Quantities:
    """The median of each kind of work over the machines that measured it."""
    found = []
    for kind in sorted(FINGERPRINT_KINDS):
        values = [f.facts[f"{kind}_per_s"] for f in own if f.facts.get(f"{kind}_per_s")]
        if values:
            found.append((kind, float(median(values))))
    return tuple(found)


def _placed(machine: Machine, facts: MachineFacts | None) -> Machine:
    """A machine in the region and rack its agent names, where the cluster states none."""
    unstated, told = Machine("", ""), {} if facts is None else facts.facts
    region = told.get("region") if machine.region == unstated.region else None
    rack = told.get("rack") if machine.rack == unstated.rack else None
    return replace(machine, region=region or machine.region, rack=rack or machine.rack)


def _round_trips(
    told: Mapping[str, MachineFacts], table: MachineTable
) -> dict[tuple[str, str], float]:
    """Times by the cluster's names of machines."""
    names = {facts.machine: name for name, facts in told.items()}
    return {
        (names[a], names[b]): ms
        for (a, b), ms in table.round_trip_ms.items()
        if a in names and b in names
    }


def _timed(cluster: Cluster, round_trips: Mapping[tuple[str, str], float]) -> Network:
    """The network with the latencies that were measured, where it states none."""
    by_name = {machine.name: machine for machine in cluster.machines}
    by_hop: dict[Hop, list[float]] = defaultdict(list)
    by_regions: dict[tuple[str, str], list[float]] = defaultdict(list)
    for (a, b), ms in round_trips.items():
        here, there = by_name[a], by_name[b]
        if here.region != there.region:
            first, second = sorted((here.region, there.region))
            by_regions[first, second].append(ms)
            by_hop[Hop.OTHER_REGION].append(ms)
        else:
            by_hop[Hop.SAME_RACK if here.rack == there.rack else Hop.OTHER_RACK].append(ms)
    network = cluster.network
    links = tuple(_linked(network.links[hop], by_hop.get(hop)) for hop in Hop)
    stated = {frozenset(pair[:2]) for pair in network.between_regions}
    if network.links[Hop.OTHER_REGION].latency_ms:
        by_regions.clear()  # one latency for all regions is stated
    between = tuple(
        (a, b, _linked(replace(network.links[Hop.OTHER_REGION], latency_ms=0.0), times))
        for (a, b), times in sorted(by_regions.items())
        if frozenset((a, b)) not in stated
    )
    return Network(
        (links[0], links[1], links[2], links[3], links[4]), (*network.between_regions, *between)
    )


def _linked(link: Link, round_trips_ms: Sequence[float] | None) -> Link:
    if link.latency_ms or not round_trips_ms:
        return link
    return replace(link, latency_ms=float(f"{median(round_trips_ms) / 2:.4g}"))


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def cluster_of(table: MachineTable, name: str = "machines") -> Cluster:
    """A cluster of the machines that told of themselves, 100 points for each processor.

    Machines that are alike are of one type, whatever it is called.
    """
    kinds: list[MachineType] = []
    machines = []
    for facts in table.machines.values():
        kind = _type_told(facts)
        like = next((known for known in kinds if _alike(known, kind)), None)
        if like is None:
            taken = {known.name for known in kinds}
            numbers = (f"{kind.name}-{n}" for n in range(2, len(kinds) + 3))
            label = next(n for n in (kind.name, *numbers) if n not in taken)
            like = replace(kind, name=label)
            kinds.append(like)
        host = facts.host if facts.host != facts.machine else ""
        machines.append(_placed(Machine(facts.machine, like.name, host=host), facts))
    cluster = Cluster(name, tuple(kinds), tuple(machines))
    return completed(cluster, table).cluster


def _type_told(facts: MachineFacts) -> MachineType:
    told = facts.facts
    threads = max(1, told.get("threads", 1))
    hardware = {name: told[name] for name in _HARDWARE if told.get(name)}
    label = told.get("machine_type") or f"cpu{100 * threads}"
    points = 100.0 * threads
    kind = MachineType(label, points, core_points=100.0, memory_mb=told.get("ram_mb"))
    return replace(kind, **hardware)


def _alike(one: MachineType, other: MachineType) -> bool:
    """Whether two types are one, but for the last digits of clocks and memory."""
    if not one.name.startswith(other.name) or one.cpu_points != other.cpu_points:
        return False
    pairs = [(getattr(one, name), getattr(other, name)) for name in _HARDWARE]
    return all(a == b or (a and b and abs(a - b) <= _ALIKE * max(a, b)) for a, b in pairs)

"""A second evaluator, to hold the fast one against: plain loops, every instance pair on its own.

Written from docs/concepts.md and from the nouns of ``penstock.model`` alone; it knows
nothing of ``penstock.evaluate`` and reads no array of :class:`Problem`. What a source instance
sends to a target instance is one number in a table; everything else is a sum over that table.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property

from penstock.model.cluster import Link, Machine, MachineType
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.model.topology import Kind, Stream, Topology
from penstock_bench.contract.pairs import (
    PlacedInstance,
    cost_row,
    even_or_share,
    fractions,
    hop,
    instances,
    measured,
    memory_mb,
)

_DUST = 1e-9
_UNLIMITED_SCALE = 1e15


@dataclass(eq=False)
class Sent:
    """Tuples/s at scale 1 from one instance to another."""

    source: PlacedInstance
    target: PlacedInstance
    tuples: float
    tuple_bytes: float


@dataclass
class Reference:
    """A placement judged the slow way. Lists of machines are in the cluster's order."""

    problem: Problem
    placement: Placement
    instances: list[PlacedInstance] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.instances = instances(self.problem, self.placement)
        for topology in self.problem.topologies:
            self._propagate(topology)
        for one in self.sent:
            if one.source.worker != one.target.worker:
                one.source.crossing += one.tuples
                one.target.crossing += one.tuples

    # -- rates --------------------------------------------------------------------------------

    def of(self, topology: Topology, name: str) -> list[PlacedInstance]:
        return [i for i in self.instances if i.topology is topology and i.component.name == name]

    def demand(self, topology: Topology) -> float:
        """Tuples/s at scale 1: what it declares, by the weight that the terms give it."""
        declared = 1.0 if topology.demand_per_s is None else topology.demand_per_s
        return declared * dict(self.problem.terms.weights).get(topology.name, 1.0)

    def _propagate(self, topology: Topology) -> None:
        waiting = {
            c.name: sum(s.target == c.name for s in topology.streams) for c in topology.components
        }
        spouts = [c for c in topology.components if c.kind is Kind.SPOUT]
        demand = self.demand(topology)
        for spout in spouts:
            input_rate = demand * spout.share / sum(s.share for s in spouts)
            for instance in self.of(topology, spout.name):
                instance.rate += input_rate * even_or_share(instance, self.of(topology, spout.name))
        ready = [name for name, count in waiting.items() if count == 0]
        while ready:
            name = ready.pop()
            for stream in topology.streams:
                if stream.source != name:
                    continue
                self._send(topology, stream)
                waiting[stream.target] -= 1
                if waiting[stream.target] == 0:
                    ready.append(stream.target)

    def _send(self, topology: Topology, stream: Stream) -> None:
        selectivity, tuple_bytes = measured(self.problem, topology, stream)
        targets = self.of(topology, stream.target)
        if not targets:
            return
        for source in self.of(topology, stream.source):
            for target, part in zip(targets, fractions(stream, source, targets), strict=True):
                tuples = source.rate * selectivity * part
                target.rate += tuples
                self.sent.append(Sent(source, target, tuples, tuple_bytes))

    @cached_property
    def rates(self) -> list[float]:
        return [instance.rate for instance in self.instances]

    def component_rates(self, scale: float) -> list[float]:
        return [
            sum(i.rate for i in self.of(topology, component.name)) * scale
            for topology in self.problem.topologies
            for component in topology.components
        ]

    def throughput(self, scale: float) -> float:
        return scale * sum(i.rate for i in self.instances if i.component.kind is not Kind.ACKER)

    def sink_rates(self, scale: float) -> list[float]:
        rates = []
        for topology in self.problem.topologies:
            kinds = {c.name: c.kind for c in topology.components}
            for component in topology.components:
                subscribers = [s.target for s in topology.streams if s.source == component.name]
                if component.kind is not Kind.ACKER and all(
                    kinds[name] is Kind.ACKER for name in subscribers
                ):
                    rates.append(scale * sum(i.rate for i in self.of(topology, component.name)))
        return rates

    # -- CPU ----------------------------------------------------------------------------------

    def instance_cpu(self, instance: PlacedInstance, scale: float) -> float:
        """eq. (5), with the cost of tuples that cross a process boundary."""
        return instance.cost.met + instance.points_per_scale * scale

    def machine_cpu(self, scale: float) -> list[float]:
        used = []
        for machine, kind in self.machines:
            here = [i for i in self.instances if i.machine is machine]
            workers = {i.worker for i in here}
            # A machine nothing runs on counts as switched off.
            overhead = kind.base_cpu_points if here else 0.0
            overhead += kind.worker_cpu_points * len(workers)
            used.append(overhead + sum(self.instance_cpu(i, scale) for i in here))
        return used

    @cached_property
    def machines(self) -> list[tuple[Machine, MachineType]]:
        kinds = {kind.name: kind for kind in self.problem.cluster.types}
        return [(machine, kinds[machine.type]) for machine in self.problem.cluster.machines]

    @cached_property
    def _limits(self) -> list[tuple[float, float, float]]:
        """(fixed, slope, available) of everything that can run out."""
        limits = []
        fixed = self.machine_cpu(0.0)
        for m, (machine, kind) in enumerate(self.machines):
            here = [i for i in self.instances if i.machine is machine]
            usable = self.usable(kind)
            if here:
                limits.append((fixed[m], sum(i.points_per_scale for i in here), usable))
            for i in here:
                limits.append((i.cost.met, i.points_per_scale, self.usable_by(i, kind)))
            if kind.nic_mbps is not None:
                for bytes_per_s in self.nic_bytes(machine):
                    limits.append((0.0, bytes_per_s, kind.nic_mbps * 1e6 / 8))
        return limits

    def usable(self, kind: MachineType) -> float:
        return kind.cpu_points * (1 - self.problem.cluster.headroom)

    def usable_by(self, instance: PlacedInstance, kind: MachineType) -> float:
        """What headroom leaves of the instance's cores, or of the machine where that is less."""
        if kind.core_points is None:
            return self.usable(kind)
        cores = kind.core_points * instance.component.threads
        return min(cores, kind.cpu_points) * (1 - self.problem.cluster.headroom)

    def fits(self, scale: float) -> bool:
        return all(
            fixed <= available + _DUST and (slope == 0 or fixed + slope * scale <= available)
            for fixed, slope, available in self._limits
        )

    @cached_property
    def scale(self) -> float:
        """The sustainable scale, by bisection on :meth:`fits`."""
        if not self.fits(1e-15):
            return 0.0
        if self.fits(_UNLIMITED_SCALE):
            return math.inf
        low, high = 1e-15, _UNLIMITED_SCALE
        for _ in range(120):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self.fits(middle) else (low, middle)
        return low

    def weighted_utilisation(self, scale: float) -> float:
        """eq. (7), (8) over the kinds of work and the types that have machines."""
        util: dict[str, list[float]] = defaultdict(list)
        for (machine, kind), used in zip(self.machines, self.machine_cpu(scale), strict=True):
            util[machine.type].append(used / kind.cpu_points)
        profile = self.problem.profile
        if profile is None:
            raise ValueError("the weights need a profile")
        cost = profile.by_place
        kinds = {cost_row(profile, t, c) for t in self.problem.topologies for c in t.components}
        kinds = {row for row in kinds if all(cost[row, t].e > 0 for t in util)}
        if not kinds:
            return sum(map(sum, util.values())) / len(self.machines)
        total = 0.0
        for t, values in util.items():
            x = sum((1 / cost[c, t].e) / sum(1 / cost[c, u].e for u in util) for c in kinds)
            total += x * sum(values) / len(values)
        return total / len(kinds)

    def watts(self, scale: float) -> float | None:
        total = 0.0
        for (machine, kind), used in zip(self.machines, self.machine_cpu(scale), strict=True):
            if not any(i.machine is machine for i in self.instances):
                continue
            if kind.idle_watts is None or kind.full_watts is None:
                return None
            busy = min(used / kind.cpu_points, 1.0)
            total += kind.idle_watts * (1 - busy) + kind.full_watts * busy
        return total

    # -- memory and network -------------------------------------------------------------------

    def memory_mb(self) -> list[float]:
        used = []
        for machine, kind in self.machines:
            here = [i for i in self.instances if i.machine is machine]
            need = [memory_mb(self.problem, i) for i in here]
            workers = len({i.worker for i in here})
            used.append(sum(need) + kind.worker_memory_mb * workers)
        return used

    def machines_over_memory(self) -> list[str]:
        return [
            machine.name
            for (machine, kind), used in zip(self.machines, self.memory_mb(), strict=True)
            if kind.memory_mb is not None and used > kind.memory_mb + _DUST
        ]

    def machines_over_resources(self) -> list[str]:
        """Machines that hold more than they have of a hard resource beside memory."""
        soft = {kind.name for kind in self.problem.cluster.resources if kind.soft}
        over = []
        for machine, kind in self.machines:
            left = dict(kind.resources)
            for instance in self.instances:
                for name, amount in instance.component.resources:
                    if instance.machine is machine and name not in soft:
                        left[name] = left.get(name, 0.0) - amount
            over += [machine.name for amount in left.values() if amount < -_DUST]
        return over

    def slot_errors(self) -> list[str]:
        """Slots that a machine does not have, and slots that two topologies share."""
        owners: dict[tuple[str, int], set[str]] = defaultdict(set)
        for i in self.instances:
            owners[i.worker].add(i.topology.name)
        beyond = [str(i.worker) for i in self.instances if not 0 <= i.slot < i.kind.slots]
        return beyond + [str(worker) for worker, names in owners.items() if len(names) > 1]

    def nic_bytes(self, machine: Machine) -> tuple[float, float]:
        """Bytes/s out and in at scale 1; what stays on the machine passes no NIC."""
        between = [s for s in self.sent if s.source.machine is not s.target.machine]
        out = sum(s.tuples * s.tuple_bytes for s in between if s.source.machine is machine)
        into = sum(s.tuples * s.tuple_bytes for s in between if s.target.machine is machine)
        return out, into

    def traffic(self) -> tuple[list[float], list[float]]:
        """Tuples/s and bytes/s at scale 1 by hop class."""
        tuples, size = [0.0] * 5, [0.0] * 5
        for s in self.sent:
            tuples[hop(s.source, s.target)] += s.tuples
            size[hop(s.source, s.target)] += s.tuples * s.tuple_bytes
        return tuples, size

    def mean_hop_latency_ms(self) -> float:
        total = sum(s.tuples for s in self.sent)
        weighted = sum(s.tuples * self._hop_ms(s) for s in self.sent)
        return weighted / total if total else 0.0

    def _hop_ms(self, sent: Sent) -> float:
        network = self.problem.cluster.network
        distance = hop(sent.source, sent.target)
        link: Link = network.links[distance]
        if distance == 4:
            ends = {sent.source.machine.region, sent.target.machine.region}
            link = next((k for a, b, k in network.between_regions if {a, b} == ends), link)
        bandwidth = link.bandwidth_mbps
        transmission_s = sent.tuple_bytes * 8 / (bandwidth * 1e6) if bandwidth else 0.0
        return link.latency_ms + 1000 * transmission_s

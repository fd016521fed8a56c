"""Everything there is to say about a placement at one scale, in the papers' definitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from penstock.evaluate.capacity import Capacity, Resource, capacity
from penstock.evaluate.limits import memory_used, violations
from penstock.evaluate.network import Traffic, traffic
from penstock.evaluate.violation import Violation
from penstock.model.arrays import FloatVector, scaled, sum_by
from penstock.model.placement import Placement
from penstock.model.problem import Problem

_NO_RATE = 1e-9


@dataclass(frozen=True)
class Assessment:
    """A placement judged at ``scale``; the sustainable one unless asked otherwise."""

    problem: Problem
    placement: Placement
    capacity: Capacity
    scale: float

    # -- rates --------------------------------------------------------------------------------

    @property
    def sustainable_scale(self) -> float:
        return self.capacity.scale

    @cached_property
    def rate_per_s(self) -> FloatVector:
        """Input of each topology, shape (topologies,); 0 for one that was not placed."""
        placed = np.zeros(len(self.problem.topologies))
        placed[self.problem.topology_of[self.placement.component]] = 1.0
        return scaled(self.problem.demand * placed, self.scale)

    @cached_property
    def component_rate_per_s(self) -> FloatVector:
        """Total input of each component, shape (components,)."""
        rate = scaled(self.capacity.rates.per_instance, self.scale)
        return sum_by(self.placement.component, rate, len(self.problem.components))

    @cached_property
    def throughput_per_s(self) -> float:
        """Overall throughput of the papers: every component's processing rate, added up."""
        return float(self.component_rate_per_s[self.problem.counts_for_throughput].sum())

    @cached_property
    def sink_throughput_per_s(self) -> float:
        """Throughput of the sinks together."""
        return float(sum(self._sink_rates))

    @cached_property
    def mean_sink_throughput_per_s(self) -> float:
        """R-Storm's evaluation: the mean over the output bolts."""
        return float(np.mean(self._sink_rates)) if self._sink_rates else 0.0

    @cached_property
    def _sink_rates(self) -> list[float]:
        starts = zip(self.problem.topologies, self.problem.first_component, strict=True)
        return [float(self.component_rate_per_s[first + c]) for t, first in starts for c in t.sinks]

    @property
    def throughput_per_machine(self) -> float:
        """The thesis' throughput per node used (eq. 1.1, 1.2)."""
        return self.throughput_per_s / len(self.placement.machines_used)

    # -- machines -----------------------------------------------------------------------------

    @cached_property
    def machine_cpu(self) -> FloatVector:
        """CPU points in use on each machine, shape (machines,)."""
        return self.capacity.machine_fixed + scaled(self.capacity.machine_slope, self.scale)

    @cached_property
    def instance_cpu(self) -> FloatVector:
        """CPU points of each instance (tcu), shape (instances,)."""
        return self.capacity.instance_fixed + scaled(self.capacity.instance_slope, self.scale)

    @cached_property
    def utilisation(self) -> FloatVector:
        """CPU in use over the machine's full capacity, headroom not subtracted, (machines,)."""
        cluster = self.problem.cluster
        return self.machine_cpu / cluster.per_type("cpu_points")[cluster.type_of]

    @cached_property
    def weighted_utilisation(self) -> float:
        """Nasiri eq. 7 and 8, divided by the number of kinds so that it is a fraction.

        As printed the weights add up to the number of kinds of components (Nasiri et al., eq. 8).
        """
        cluster = self.problem.cluster
        rows = {row: i for i, row in enumerate(self.problem.cost_rows)}
        present = np.flatnonzero(cluster.machines_per_type > 0)
        e = self.problem.e[np.ix_(np.array(list(rows.values())), present)]
        e = e[(e > 0).all(axis=1)]
        if not len(e):
            return float(self.utilisation.mean())
        speed = 1.0 / e
        weight = (speed / speed.sum(axis=1, keepdims=True)).sum(axis=0) / len(e)
        total = sum_by(cluster.type_of, self.utilisation, len(cluster.types))[present]
        return float(weight @ (total / cluster.machines_per_type[present]))

    @cached_property
    def memory_mb(self) -> FloatVector:
        return memory_used(self.problem, self.placement)

    @cached_property
    def violations(self) -> tuple[Violation, ...]:
        return violations(self.problem, self.placement)

    # -- network and energy -------------------------------------------------------------------

    @cached_property
    def unit_traffic(self) -> Traffic:
        """Traffic at scale 1."""
        return traffic(self.problem, self.placement, self.capacity.rates)

    @cached_property
    def traffic_per_s(self) -> FloatVector:
        """Tuples/s by hop class, shape (classes,)."""
        return scaled(self.unit_traffic.tuples, self.scale)

    @property
    def mean_hop_latency_ms(self) -> float:
        return self.unit_traffic.mean_hop_latency_ms

    @cached_property
    def watts(self) -> float | None:
        """Power of the machines in use, linear between idle and full; ``None`` if not given."""
        cluster = self.problem.cluster
        used = self.placement.machines_used
        kind = cluster.type_of[used]
        idle, full = cluster.per_type("idle_watts")[kind], cluster.per_type("full_watts")[kind]
        if np.isnan(idle).any() or np.isnan(full).any():
            return None
        return float((idle + (full - idle) * np.minimum(self.utilisation[used], 1.0)).sum())

    @cached_property
    def price_per_hour(self) -> float | None:
        """Price of the machines in use; ``None`` if one has none."""
        cluster = self.problem.cluster
        prices = cluster.per_type("price_per_hour")[cluster.type_of[self.placement.machines_used]]
        return None if np.isnan(prices).any() else float(prices.sum())

    # -- words --------------------------------------------------------------------------------

    @cached_property
    def limited_by(self) -> str:
        """What runs out first, in words."""
        limit = self.capacity.limit
        if limit.resource is Resource.NOTHING:
            return "nothing: no component costs anything per tuple"
        if limit.resource is Resource.THREAD_CPU:
            component = self.problem.labels[self.placement.component[limit.index]]
            machine = self._machine_name(int(self.placement.machine[limit.index]))
            return f"one instance of {component} on {machine} has its thread full"
        name = self._machine_name(limit.index)
        if limit.resource is Resource.MACHINE_CPU:
            return f"CPU of {name}, most of it {self._hottest_component(limit.index)}"
        direction = "sending" if limit.resource is Resource.NIC_OUT else "receiving"
        return f"network card of {name}, {direction}"

    def _machine_name(self, index: int) -> str:
        machine = self.problem.cluster.machines[index]
        return f"{machine.name} ({machine.type})"

    def _hottest_component(self, machine: int) -> str:
        here = self.placement.machine == machine
        slope = scaled(self.capacity.instance_slope, self.capacity.scale)
        cpu = self.capacity.instance_fixed + slope
        by_component = np.bincount(self.placement.component[here], cpu[here])
        return self.problem.labels[int(np.argmax(by_component))]


def assess(problem: Problem, placement: Placement, scale: float | None = None) -> Assessment:
    """Judge a placement, at its sustainable scale or at the one given."""
    limits = capacity(problem, placement)
    return Assessment(problem, placement, limits, limits.scale if scale is None else scale)


def assess_at_rates(
    problem: Problem, placement: Placement, rate_per_s: Mapping[str, float]
) -> Assessment:
    """Judge a placement while each topology takes in a rate of its own, given by name."""
    weights = dict(problem.terms.weights)
    # A topology that takes in nothing has no demand that can be written down; this is near it.
    topologies = tuple(
        replace(t, demand_per_s=max(rate_per_s[t.name], _NO_RATE) / weights.get(t.name, 1.0))
        for t in problem.topologies
    )
    return assess(replace(problem, topologies=topologies), placement, scale=1.0)

"""Looks at the engine's counters."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from penstock.model.arrays import FloatVector, IntVector, sum_by
from penstock.simulate.records import Records
from penstock.simulate.samples import CounterSample
from penstock.simulate.unfinished import count_ages
from penstock.simulate.world import World

#: Counters of instances that add up over a component.
_COUNTED = ("came", "done", "lost", "started")
_TIMED = ("waited_s", "stayed_s", "present_s")
_OF_TOPOLOGIES = (
    "offered", "completed", "lost", "timed_out", "replayed", "late", "live", "awaiting_timeout",
)  # fmt: skip


@dataclass
class Carried:
    """What placements that were replaced have counted, and CPU that is no tuple's."""

    components: dict[str, np.ndarray]
    #: Points of fixed costs over time, shape (machines,), counted until ``until_s``.
    fixed_points_s: FloatVector
    fixed_points: FloatVector
    until_s: float = 0.0
    histogram: IntVector = field(default_factory=lambda: np.zeros(0, np.int64))

    @classmethod
    def nothing(cls, components: int, fixed_points: FloatVector) -> Carried:
        counted = {name: np.zeros(components, np.int64) for name in _COUNTED}
        timed = {name: np.zeros(components) for name in _TIMED}
        return cls({**counted, **timed}, np.zeros(len(fixed_points)), fixed_points.copy())

    def pay_fixed(self, now_s: float, up: np.ndarray) -> None:
        """Fixed costs are paid by machines that are up."""
        self.fixed_points_s += self.fixed_points * up * (now_s - self.until_s)
        self.until_s = now_s

    def keep(self, instances: Records) -> None:
        """Add what instances have counted that are about to go."""
        size = len(self.components["done"])
        for name, values in self.components.items():
            np.add(values, _by_component(instances, name, size), out=values, casting="unsafe")


def look(w: World, carried: Carried) -> CounterSample:
    """The counters now."""
    now_s = float(w.record["now_s"])
    carried.pay_fixed(now_s, w.machines["up"])
    count_ages(w.record)
    ages = w.ages["value"]
    aged_at = np.flatnonzero(ages)
    instances = w.instances
    size = len(carried.components["done"])
    components = {
        name: values + _by_component(instances, name, size, now_s).astype(values.dtype)
        for name, values in carried.components.items()
    }
    histogram = w.histogram["value"].copy()
    grown = histogram - carried.histogram if len(carried.histogram) else histogram
    carried.histogram = histogram
    at = np.flatnonzero(grown)
    spout = instances["spout"] > 0
    waiting = sum_by(
        instances["topology"][spout], instances["queue"][spout].astype(float), len(w.topologies)
    )
    return CounterSample(
        time_s=now_s,
        events=int(w.record["events"]),
        components=components,
        present=_by_component(instances, "present", size).astype(np.int64),
        topologies={name: w.topologies[name].copy() for name in _OF_TOPOLOGIES},
        latency_s=w.topologies["latency_s"].copy(),
        at_source=waiting.astype(np.int64),
        cpu_points_s=_busy_until(w, now_s) + carried.fixed_points_s,
        hop_tuples=w.hops["tuples"].copy(),
        hop_bytes=w.hops["bytes"].copy(),
        grown_at=at,
        grown_by=grown[at],
        aged_at=aged_at,
        aged_by=ages[aged_at],
    )


def _by_component(
    instances: Records, name: str, components: int, now_s: float | None = None
) -> FloatVector:
    values = instances[name].astype(np.float64)
    if name == "present_s" and now_s is not None:
        values = values + instances["present"] * (now_s - instances["changed_s"])
    return sum_by(instances["component"], values, components)


def _busy_until(w: World, now_s: float) -> FloatVector:
    """Points used for tuples over time, those since the machine's last change included."""
    used = np.zeros(len(w.machines))
    busy = np.flatnonzero(w.servers["place"] >= 0)
    machine = w.instances["machine"][w.servers["instance"][busy]]
    granted = w.servers["weight"][busy] * w.machines["level"][machine]
    points = np.minimum(w.servers["points"][busy], granted)
    np.add.at(used, machine, points * w.machines["speed"][machine])
    since = now_s - w.machines["updated_s"]
    return np.asarray(w.machines["busy_points_s"] + used * since)

"""What happened between two looks, in the units people use."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, nan

import numpy as np

from penstock.model.arrays import FloatVector
from penstock.model.cluster import Hop
from penstock.simulate.histogram import percentile_s
from penstock.simulate.latency import PERCENTILES, is_told, latency_of
from penstock.simulate.samples import CounterSample, Samples


@dataclass(frozen=True, slots=True)
class TopologyFigures:
    """Latency is from when a tuple was due at its source until all that came of it was done.

    Unfinished tuples count in it, and percentiles that nobody can tell are NaN: :mod:`.latency`.
    """

    topology: str
    offered_per_s: float
    completed_per_s: float
    latency_ms: float
    latency_p50_ms: float
    latency_p90_ms: float
    latency_p99_ms: float
    latency_p999_ms: float
    lost_per_s: float
    timed_out_per_s: float
    replayed_per_s: float
    #: Tuples due that their spout has not taken yet, at the end.
    at_source: float
    #: Tuples emitted and neither completed, lost nor timed out, at the end.
    in_flight: float
    #: Those of them that have lost a part, so that only their time-out can end them.
    awaiting_timeout: float
    #: Which latencies are lower bounds, because of unfinished tuples: ``latency_p99_ms``.
    at_least: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ComponentFigures:
    """Times are from when a tuple came to an instance; a spout's from when it was due."""

    component: str
    processed_per_s: float
    wait_ms: float
    stay_ms: float
    stay_p50_ms: float
    stay_p99_ms: float
    #: Tuples present at all its instances together, those in service included, over time.
    present: float
    lost_per_s: float


@dataclass(frozen=True, slots=True)
class MachineFigures:
    machine: str
    #: CPU in use over the machine's capacity, fixed costs included.
    utilisation: float


@dataclass(frozen=True, slots=True)
class HopFigures:
    hop: str
    tuples_per_s: float
    bytes_per_s: float


@dataclass(frozen=True, slots=True)
class MeasuredInterval:
    """One stretch of time."""

    from_s: float
    until_s: float
    topologies: tuple[TopologyFigures, ...]
    components: tuple[ComponentFigures, ...]
    machines: tuple[MachineFigures, ...]
    network: tuple[HopFigures, ...]
    #: Tuples handled by all components together, ackers apart.
    throughput_per_s: float
    #: Power of the machines that did anything; ``None`` where it is not known.
    watts: float | None

    @property
    def completed_per_s(self) -> float:
        return sum(t.completed_per_s for t in self.topologies)


def measure(samples: Samples, first: int, last: int) -> MeasuredInterval:
    """What happened between the looks of these numbers."""
    a, b = samples.looks[first], samples.looks[last]
    seconds = b.time_s - a.time_s
    histogram, ages = samples.histogram(first, last), samples.ages(last)
    components = _components(samples, a, b, seconds, histogram)
    counts = samples.problem.counts_for_throughput.tolist()
    return MeasuredInterval(
        from_s=a.time_s,
        until_s=b.time_s,
        topologies=_topologies(samples, a, b, histogram, ages),
        components=components,
        throughput_per_s=sum(
            c.processed_per_s for c, known in zip(components, counts, strict=True) if known
        ),
        machines=_machines(samples, a, b, seconds),
        network=_network(samples, a, b, seconds),
        watts=_watts(samples, a, b, seconds),
    )


def _topologies(
    samples: Samples, a: CounterSample, b: CounterSample, histogram: np.ndarray, ages: np.ndarray
) -> tuple[TopologyFigures, ...]:
    batch, components = samples.scenario.tuples_per_batch, len(samples.problem.components)
    seconds = b.time_s - a.time_s
    grown = {name: b.topologies[name] - a.topologies[name] for name in b.topologies}
    per_s = {name: values * batch / seconds for name, values in grown.items()}
    figures = []
    for t, topology in enumerate(samples.problem.topologies):
        sum_s = float(b.latency_s[t] - a.latency_s[t])
        completed = float(grown["completed"][t])
        latency = latency_of(completed, sum_s, histogram[components + t], ages[t], seconds)
        figures.append(
            TopologyFigures(
                topology.name,
                float(per_s["offered"][t]),
                float(per_s["completed"][t]),
                latency.mean_ms,
                latency.p50_ms,
                latency.p90_ms,
                latency.p99_ms,
                latency.p999_ms,
                float(per_s["lost"][t]),
                float(per_s["timed_out"][t]),
                float(per_s["replayed"][t]),
                float(b.at_source[t] * batch),
                float(b.topologies["live"][t] * batch),
                float(b.topologies["awaiting_timeout"][t] * batch),
                latency.at_least,
            )
        )
    return tuple(figures)


def _components(
    samples: Samples, a: CounterSample, b: CounterSample, seconds: float, histogram: np.ndarray
) -> tuple[ComponentFigures, ...]:
    batch = samples.scenario.tuples_per_batch
    grown = {name: b.components[name] - a.components[name] for name in b.components}
    return tuple(
        ComponentFigures(
            label,
            float(grown["done"][c]) * batch / seconds,
            1e3 * _over(grown["waited_s"][c], grown["started"][c]),
            1e3 * _over(grown["stayed_s"][c], grown["done"][c]),
            _ms(histogram[c], "p50", seconds),
            _ms(histogram[c], "p99", seconds),
            float(grown["present_s"][c]) * batch / seconds,
            float(grown["lost"][c]) * batch / seconds,
        )
        for c, label in enumerate(samples.problem.labels)
    )


def _machines(
    samples: Samples, a: CounterSample, b: CounterSample, seconds: float
) -> tuple[MachineFigures, ...]:
    used = utilisation(samples, a, b, seconds)
    machines = samples.problem.cluster.machines
    return tuple(MachineFigures(m.name, float(u)) for m, u in zip(machines, used, strict=True))


def utilisation(
    samples: Samples, a: CounterSample, b: CounterSample, seconds: float
) -> FloatVector:
    """Part of each machine's CPU in use between two looks, shape (machines,)."""
    cluster = samples.problem.cluster
    capacity = cluster.per_type("cpu_points")[cluster.type_of]
    return np.asarray((b.cpu_points_s - a.cpu_points_s) / (seconds * capacity))


def _network(
    samples: Samples, a: CounterSample, b: CounterSample, seconds: float
) -> tuple[HopFigures, ...]:
    batch = samples.scenario.tuples_per_batch
    return tuple(
        HopFigures(
            hop.label,
            float(b.hop_tuples[hop] - a.hop_tuples[hop]) * batch / seconds,
            # Tuples of a batch are added up in the stream's size already.
            float(b.hop_bytes[hop] - a.hop_bytes[hop]) / seconds,
        )
        for hop in Hop
    )


def _watts(samples: Samples, a: CounterSample, b: CounterSample, seconds: float) -> float | None:
    """As the cost model has it: machines in use, linear between idle and full."""
    cluster = samples.problem.cluster
    used = utilisation(samples, a, b, seconds)
    kind = cluster.type_of
    idle, full = cluster.per_type("idle_watts")[kind], cluster.per_type("full_watts")[kind]
    total = float((idle + (full - idle) * np.minimum(used, 1.0))[used > 0].sum())
    return total if isfinite(total) else None


def _over(total: float, number: float) -> float:
    return float(total) / float(number) if number else nan


def _ms(counts: np.ndarray, percentile: str, seconds: float) -> float:
    if not is_told(percentile, int(counts.sum()), seconds):
        return nan
    seconds_or_none = percentile_s(counts, PERCENTILES[percentile])
    return nan if seconds_or_none is None else 1e3 * seconds_or_none

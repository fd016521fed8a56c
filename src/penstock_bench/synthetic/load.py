"""What the tasks of a recording do and cost in each window: the model of eq. 5, and its exceptions.

Arrays have a row per window and a column per instance (or counter, worker, machine). Every
quantity draws from a random stream of its own, so that adding one fault leaves the rest as it was.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.model.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from penstock.model.telemetry import Counters
from penstock_bench.synthetic.counts import TupleCounters
from penstock_bench.synthetic.layout import RecordingLayout
from penstock_bench.synthetic.settings import Recording


@dataclass(frozen=True)
class Block:
    """Some windows of a recording, as measured; (windows, instances) unless said otherwise."""

    #: Index of the first window.
    first: int
    #: Counters as read, (windows, entries); produced has a column per spout instance.
    inputs: FloatMatrix
    outputs: FloatMatrix
    produced: FloatMatrix
    cpu_points: FloatMatrix
    #: (windows, workers).
    worker_cpu_points: FloatMatrix
    uptime_s: FloatMatrix
    #: Share of its CPU that each machine uses, (windows, machines).
    machine_load: FloatMatrix

    def __len__(self) -> int:
        return len(self.cpu_points)


class RecordingLoad:
    """Plays a recording from its first window to its last."""

    def __init__(
        self, recording: Recording, layout: RecordingLayout, rng: np.random.Generator
    ) -> None:
        self.recording = recording
        self.layout = layout
        self._spouts = np.flatnonzero(layout.is_spout)
        names = ("arrivals", "departures", "cpu", "worker", "outliers", "restarts", "salt")
        self._rng = dict(zip(names, rng.spawn(len(names)), strict=True))
        self._born_s = np.full(len(layout.worker_machine), -recording.uptime_s)
        self._by_worker = _Sums(layout.worker, len(layout.worker_machine))
        machines = len(layout.problem.cluster.machines)
        self._by_machine = _Sums(layout.worker_machine, machines)
        self._by_task = _Sums(layout.inputs.instance, len(layout))
        self._counter_instance = np.concatenate(
            [layout.inputs.instance, layout.outputs.instance, self._spouts]
        )
        self._counters = self._start_counters()

    def _start_counters(self) -> TupleCounters:
        layout, recording = self.layout, self.recording
        per_s = np.concatenate(
            [
                layout.inputs.tuples_per_s,
                layout.outputs.tuples_per_s,
                layout.rate_per_s[self._spouts],
            ]
        )
        return TupleCounters(
            per_s * (recording.scale[0] * recording.uptime_s),
            sample_rate=recording.noise.sample_rate,
            totals=recording.counters == Counters.TOTAL,
            salt=int(self._rng["salt"].integers(2**32)),
        )

    def play(self, first: int, windows: int) -> Block:
        """The next windows; must be asked for in order."""
        scale = self.recording.scale[first : first + windows]
        inputs, produced, processed = self._arrive(scale)
        outputs = self._depart(processed)
        restarted = self._restart(len(scale))
        uptime_s = self._age(first, len(scale), restarted)
        read = self._read(np.concatenate([inputs, outputs, produced], axis=1), restarted)
        split = np.cumsum([inputs.shape[1], outputs.shape[1]])
        cpu = self._cpu(first, scale, processed / self.recording.window_s, uptime_s)
        worker_cpu, load = self._machines(cpu, uptime_s)
        return Block(
            first,
            read[:, : split[0]],
            read[:, split[0] : split[1]],
            read[:, split[1] :],
            self._spoil(cpu),
            worker_cpu,
            uptime_s,
            load,
        )

    def _arrive(self, scale: FloatVector) -> tuple[FloatMatrix, FloatMatrix, FloatMatrix]:
        """Tuples taken in by each input entry and made by each spout, and by each instance."""
        seconds = scale[:, None] * self.recording.window_s
        inputs = self.layout.inputs.tuples_per_s * seconds
        produced = self.layout.rate_per_s[self._spouts] * seconds
        if not self.recording.noise.poisson:
            return inputs, produced, self.layout.rate_per_s * seconds
        # One draw for both, row by row, so that the size of the block does not matter.
        both = self._rng["arrivals"].poisson(np.concatenate([inputs, produced], axis=1))
        inputs = both[:, : inputs.shape[1]].astype(np.float64)
        produced = both[:, inputs.shape[1] :].astype(np.float64)
        processed = self._by_task.of(inputs)
        processed[:, self._spouts] = produced
        return inputs, produced, processed

    def _depart(self, processed: FloatMatrix) -> FloatMatrix:
        """Tuples put out by each output entry."""
        entries = self.layout.outputs
        outputs = processed[:, entries.instance] * entries.selectivity
        # A whole selectivity is a rule (two out for one in), any other one a mean.
        loose = np.flatnonzero(entries.selectivity % 1.0)
        if self.recording.noise.poisson and len(loose):
            outputs[:, loose] = self._rng["departures"].poisson(outputs[:, loose])
        return outputs

    def _restart(self, windows: int) -> BoolVector | None:
        """Which workers restart at the start of each window, None if none ever does."""
        share = self.recording.faults.restarts
        if not share:
            return None
        return self._rng["restarts"].random((windows, len(self._born_s))) < share

    def _age(self, first: int, windows: int, restarted: BoolVector | None) -> FloatMatrix:
        """Age of each worker at the end of each window, (windows, workers)."""
        start_s = (first + np.arange(windows, dtype=np.float64))[:, None] * self.recording.window_s
        if restarted is None:
            return start_s + self.recording.window_s - self._born_s
        born = np.where(restarted, start_s, -np.inf)
        born[0] = np.maximum(born[0], self._born_s)
        born = np.maximum.accumulate(born, axis=0)
        self._born_s = born[-1]
        return start_s + self.recording.window_s - born

    def _read(self, counts: FloatMatrix, restarted: BoolVector | None) -> FloatMatrix:
        if restarted is not None:
            restarted = restarted[:, self.layout.worker[self._counter_instance]]
        return self._counters.read(counts, restarted)

    def _cpu(
        self, first: int, scale: FloatVector, rate_per_s: FloatMatrix, uptime_s: FloatMatrix
    ) -> FloatMatrix:
        """CPU of each instance with its noise, before bad readings."""
        layout, behaviour, noise = self.layout, self.recording.behaviour, self.recording.noise
        cpu = rate_per_s * self._cost(first, len(scale)) + layout.met  # eq. (5)
        if layout.problem.has_remote_cost:
            cpu += layout.e_remote * layout.crossing_per_s * scale[:, None]
        if behaviour.spin_points:
            idle = np.maximum(1.0 - rate_per_s / behaviour.spin_ends_per_s, 0.0)
            cpu += behaviour.spin_points * idle
        warm_up = self._warm_up(uptime_s)
        if warm_up is not None:
            cpu *= warm_up[:, layout.worker]
        if behaviour.saturation_order:
            order = behaviour.saturation_order
            load = self._machine_load(self._by_worker.of(cpu) + self._worker_constant)
            cpu /= ((1.0 + load**order) ** (1.0 / order))[:, layout.placement.machine]
        return self._noisy(cpu, "cpu", noise.cpu_relative, noise.cpu_points)

    def _cost(self, first: int, windows: int) -> FloatMatrix:
        """Points per tuple/s, (1 or windows, instances)."""
        cost = self.layout.e[None, :]
        ends_ms = self.recording.start_ms + (first + 1 + np.arange(windows)) * (
            self.recording.window_ms
        )
        names = np.array([c.name for c in self.layout.problem.components])
        for drift in self.recording.behaviour.drifts:
            mine = names[self.layout.placement.component] == drift.component
            drifted = (ends_ms > drift.from_ms)[:, None] & mine
            cost = np.where(drifted, cost * drift.factor, cost)
        return cost

    def _warm_up(self, uptime_s: FloatMatrix) -> FloatMatrix | None:
        """How many times as much everything costs in young workers, (windows, workers)."""
        faults, window_s = self.recording.faults, self.recording.window_s
        if uptime_s.min() - window_s >= faults.warm_up_s:
            return None
        cold_s = np.clip(faults.warm_up_s + window_s - uptime_s, 0.0, window_s)
        return 1.0 + (faults.warm_up_factor - 1.0) * cold_s / window_s

    def _machines(self, cpu: FloatMatrix, uptime_s: FloatMatrix) -> tuple[FloatMatrix, FloatMatrix]:
        """CPU of each worker process as measured, and load of each machine."""
        noise = self.recording.noise
        warm_up = self._warm_up(uptime_s)
        own = self._worker_constant if warm_up is None else self._worker_constant * warm_up
        total = self._by_worker.of(cpu) + own
        measured = self._noisy(total, "worker", noise.cpu_relative, noise.cpu_points)
        return measured, self._machine_load(total)

    @property
    def _worker_constant(self) -> FloatVector:
        """What each worker process itself costs, (workers,)."""
        cluster = self.layout.problem.cluster
        kind = cluster.type_of[self.layout.worker_machine]
        points = cluster.per_type("worker_cpu_points")[kind]
        return np.where(points > 0, points, self.recording.worker_cpu_points)

    def _machine_load(self, worker_cpu: FloatMatrix) -> FloatMatrix:
        cluster = self.layout.problem.cluster
        own = cluster.per_type("base_cpu_points") / cluster.per_type("cpu_points")
        whole = cluster.per_type("cpu_points")[cluster.type_of]
        return self._by_machine.of(worker_cpu) / whole + own[cluster.type_of]

    def _noisy(
        self, values: FloatMatrix, stream: str, relative: float, points: float
    ) -> FloatMatrix:
        if not (relative or points):
            return values
        # Two independent errors add up to one of this size: one draw in place of two.
        spread = np.hypot(relative * values, points)
        draw = self._rng[stream].standard_normal(values.shape)
        return np.maximum(values + spread * draw, 0.0)

    def _spoil(self, cpu: FloatMatrix) -> FloatMatrix:
        """Bad readings in place of some good ones."""
        faults, rng = self.recording.faults, self._rng["outliers"]
        if not faults.outliers:
            return cpu
        # Two draws per record whatever comes of them, to stay in step from block to block.
        chance, size = np.moveaxis(rng.random((*cpu.shape, 2)), -1, 0)
        low, high = faults.outlier_factor
        factor = low + (high - low) * size
        factor[chance < faults.outliers * faults.zero_outliers] = 0.0
        return np.where(chance < faults.outliers, cpu * factor, cpu)


class _Sums:
    """Sums of columns by group, for groups that are the same in every block."""

    def __init__(self, group: IntVector, groups: int) -> None:
        self._groups = groups
        order = np.argsort(group, kind="stable")
        self._order = None if np.array_equal(order, np.arange(len(order))) else order
        self._found, self._starts = np.unique(group[order], return_index=True)

    def of(self, values: FloatMatrix) -> FloatMatrix:
        """Shape (windows, groups); a group without columns has 0."""
        sums = np.zeros((len(values), self._groups))
        if len(self._found):
            ordered = values if self._order is None else values[:, self._order]
            sums[:, self._found] = np.add.reduceat(ordered, self._starts, axis=1)
        return sums

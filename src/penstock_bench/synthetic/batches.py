"""A recording as Arrow record batches, column by column; no loop touches single records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.model.arrays import BoolVector, FloatMatrix, IntVector
from penstock.model.telemetry import (
    INPUT_FIELDS,
    OUTPUT_FIELDS,
    SAMPLE_FIELDS,
    SAMPLE_VERSION,
    Counters,
    SampleField,
)
from penstock.telemetry.arrow_record import record_schema
from penstock_bench.synthetic.layout import Entries, RecordingLayout, lay_out
from penstock_bench.synthetic.load import Block, RecordingLoad
from penstock_bench.synthetic.settings import Recording

#: Records per batch, about: enough to keep numpy busy, little enough for any memory.
_BATCH = 131_072


def record_batches(recording: Recording, rng: np.random.Generator) -> Iterator[pa.RecordBatch]:
    """All records in order of time, tasks in order within a window; faults of records apart.

    Text columns are dictionary-encoded. The same recording and seed give the same records.
    """
    layout = lay_out(recording.problem, recording.placement, by_task=recording.by_task)
    columns, load = BatchColumns(recording, layout, rng), RecordingLoad(recording, layout, rng)
    windows = max(1, _BATCH // len(layout))
    for first in range(0, recording.windows, windows):
        yield columns.batch(load.play(first, min(windows, recording.windows - first)))


class BatchColumns:
    """Turns blocks of windows into record batches."""

    def __init__(
        self, recording: Recording, layout: RecordingLayout, rng: np.random.Generator
    ) -> None:
        self.recording = recording
        self.layout = layout
        self._wall_rng, self._memory_rng, once = rng.spawn(3)
        self._spout = layout.is_spout > 0
        cluster = layout.problem.cluster
        skew = recording.faults.clock_skew_ms
        host_skew_ms = once.integers(-skew, skew, endpoint=True, size=len(cluster.machines))
        self._skew_ms = host_skew_ms[layout.placement.machine]
        # Wall-clock time per tuple has waiting in it and says nothing of CPU, so it
        # is drawn without a look at e.
        components = len(layout.problem.components)
        self._execute_ms = once.lognormal(-1.0, 1.0, components)[layout.placement.component]
        self._latency_ms = once.lognormal(3.0, 0.5, components)[layout.placement.component]
        self._named: dict[str, tuple[IntVector, pa.Array]] = self._names()

    def _names(self) -> dict[str, tuple[IntVector, pa.Array]]:
        """Text fields of each instance."""
        layout, placement = self.layout, self.layout.placement
        problem, cluster = layout.problem, layout.problem.cluster
        topologies = [problem.topologies[t].name for t in problem.topology_of[placement.component]]
        machines = [cluster.machines[m] for m in placement.machine]
        started = self.recording.start_ms // 1000
        text: dict[str, Sequence[str]] = {
            "topology": topologies,
            "component": [problem.components[c].name for c in placement.component],
            "host": [m.host or m.name for m in machines],
            "machine_type": [m.type for m in machines],
            "worker": [layout.worker_name[w] for w in layout.worker],
            "run": [self.recording.run or f"{name}-1-{started}" for name in topologies],
            "rack": [m.rack for m in machines],
        }
        return {field: _encoded(values) for field, values in text.items()}

    def batch(self, block: Block) -> pa.RecordBatch:
        arrays = {**self._fixed(len(block)), **self._measured(block), **self._counted(block)}
        rows = len(block) * len(self.layout)
        schema = record_schema(encoded=True)
        columns = [
            arrays[f.name] if f.name in arrays else pa.nulls(rows, schema.field(f.name).type)
            for f in SAMPLE_FIELDS
        ]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def _fixed(self, windows: int) -> dict[str, pa.Array]:
        """Fields that are the same in every window."""
        rows = windows * len(self.layout)
        arrays = {field: _repeated(named, windows) for field, named in self._named.items()}
        kind = "total" if self.recording.counters == Counters.TOTAL else None
        arrays["counters"] = pa.DictionaryArray.from_arrays(
            pa.array(np.zeros(rows, np.int32), mask=np.full(rows, kind is None)),
            pa.array([kind or ""]),
        )
        arrays["version"] = pa.array(np.full(rows, SAMPLE_VERSION, np.int64))
        arrays["window_ms"] = pa.array(np.full(rows, self.recording.window_ms, np.int64))
        arrays["task"] = pa.array(np.tile(self.layout.task, windows))
        if self.recording.noise.sample_rate < 1:
            arrays["sample_rate"] = pa.array(np.full(rows, self.recording.noise.sample_rate))
        return arrays

    def _measured(self, block: Block) -> dict[str, pa.Array]:
        layout = self.layout
        ends = self.recording.start_ms + (
            (block.first + 1 + np.arange(len(block))) * self.recording.window_ms
        )
        load = block.machine_load[:, layout.placement.machine]
        execute_ms = self._execute_ms * (1.0 + load)
        if self.recording.noise.wall_clock_relative:
            draw = self._wall_rng.standard_normal(load.shape)
            noise = 1.0 + self.recording.noise.wall_clock_relative * draw
            execute_ms *= np.maximum(noise, 0.01)
        return {
            "time_ms": pa.array((ends[:, None] + self._skew_ms).ravel()),
            "cpu_points": _column(block.cpu_points),
            "worker_cpu_points": _column(block.worker_cpu_points[:, layout.worker]),
            "uptime_s": _column(block.uptime_s[:, layout.worker]),
            "execute_ms": _column(execute_ms, absent=self._spout),
            # Until the ack: later than execute for bolts that hold tuples back.
            "process_ms": _column(execute_ms * 1.25, absent=self._spout),
            "queue_fill": _column(np.clip(0.8 * load**4, 0.0, 1.0), absent=self._spout),
            "latency_ms": _column(self._latency_ms * (1.0 + load), absent=~self._spout),
            **self._memory(len(block)),
        }

    def _memory(self, windows: int) -> dict[str, pa.Array]:
        layout, relative = self.layout, self.recording.noise.memory_relative
        memory_mb = np.broadcast_to(layout.memory_mb, (windows, len(layout)))
        if relative:
            memory_mb = memory_mb * (
                1.0 + relative * self._memory_rng.standard_normal(memory_mb.shape)
            )
            memory_mb = np.maximum(memory_mb, 0.0)
        unknown = np.isnan(layout.memory_mb)
        workers = len(layout.worker_machine)
        cluster = layout.problem.cluster
        own = cluster.per_type("worker_memory_mb")[cluster.type_of[layout.worker_machine]]
        # NaN spreads: what a worker uses is not known if one of its tasks is not.
        held = np.bincount(layout.worker, weights=layout.memory_mb, minlength=workers) + own
        worker_mb = np.broadcast_to(held[layout.worker], (windows, len(layout)))
        return {
            "memory_mb": _column(memory_mb, absent=unknown),
            "worker_memory_mb": _column(worker_mb, absent=np.isnan(held)[layout.worker]),
        }

    def _counted(self, block: Block) -> dict[str, pa.Array]:
        produced = np.zeros((len(block), len(self.layout)))
        produced[:, self._spout] = block.produced
        return {
            "produced": _column(produced, absent=~self._spout),
            "inputs": self._lists(block.inputs, self.layout.inputs, INPUT_FIELDS),
            "outputs": self._lists(block.outputs, self.layout.outputs, OUTPUT_FIELDS),
        }

    def _lists(
        self, tuples: FloatMatrix, entries: Entries, fields: tuple[SampleField, ...]
    ) -> pa.Array:
        windows = len(tuples)
        sized = entries.tuple_bytes
        arrays: dict[str, Any] = {
            "stream": _repeated(_encoded(entries.stream_name), windows),
            "tuples": _column(tuples),
            "bytes": _column(tuples * sized, absent=sized == 0),
        }
        if entries.source:
            arrays["component"] = _repeated(_encoded(entries.source), windows)
        if entries.source_task is not None:
            arrays["task"] = pa.array(np.tile(entries.source_task, windows))
        values = pa.StructArray.from_arrays(
            [arrays.get(f.name, pa.nulls(tuples.size, pa.int64())) for f in fields],
            names=[f.name for f in fields],
        )
        lengths = np.bincount(entries.instance, minlength=len(self.layout))
        offsets = np.zeros(windows * len(lengths) + 1, dtype=np.int32)
        np.cumsum(np.tile(lengths, windows), out=offsets[1:])
        none = pa.array(np.tile(lengths == 0, windows))
        return pa.ListArray.from_arrays(pa.array(offsets), values, mask=none)


def _encoded(values: Sequence[str]) -> tuple[IntVector, pa.Array]:
    """Each value's position among the different ones, and those."""
    different = {value: i for i, value in enumerate(dict.fromkeys(values))}
    return np.array([different[v] for v in values], np.int32), pa.array([*different], pa.string())


def _repeated(named: tuple[IntVector, pa.Array], windows: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(np.tile(named[0], windows)), named[1])


def _column(values: FloatMatrix, absent: BoolVector | None = None) -> pa.Array:
    """A column of the batch; ``absent`` marks instances that do not have it."""
    flat = np.ascontiguousarray(values).reshape(-1)
    if absent is None or not absent.any():
        return pa.array(flat)
    return pa.array(flat, mask=np.tile(absent, len(values)))

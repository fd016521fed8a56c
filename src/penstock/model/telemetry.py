"""The telemetry record: what one task did in one window of time.

Whoever runs a topology writes these records as JSON lines or Parquet; the pipeline reads them. The
table below is the one definition: the pipeline's Spark schema, the generator, the documentation
and the readers of Storm's own formats are all derived from it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

#: Raised when a field changes its meaning; new optional fields leave it as it is.
SAMPLE_VERSION = 1


#: Machine type of a writer that knows none.
UNKNOWN_TYPE = "any"


class FieldType(StrEnum):
    TEXT = "text"
    WHOLE = "whole number"
    NUMBER = "number"
    INPUTS = "list of inputs"
    OUTPUTS = "list of outputs"


class Counters(StrEnum):
    """What the tuple counts of a record count."""

    #: Tuples of this window alone.
    DELTA = "delta"
    #: Tuples since the worker started; a fall means it was restarted.
    TOTAL = "total"


@dataclass(frozen=True, slots=True)
class SampleField:
    """One field of the record."""

    name: str
    type: FieldType
    meaning: str
    unit: str = ""
    required: bool = False


def _required(name: str, kind: FieldType, meaning: str, unit: str = "") -> SampleField:
    return SampleField(name, kind, meaning, unit, required=True)


_T, _W, _N = FieldType.TEXT, FieldType.WHOLE, FieldType.NUMBER

SAMPLE_FIELDS: tuple[SampleField, ...] = (
    _required("version", _W, f"version of this record's format: {SAMPLE_VERSION}"),
    _required("time_ms", _W, "end of the window, by the writer's clock", "ms since 1970, UTC"),
    _required("window_ms", _W, "length of the window", "ms"),
    _required("topology", _T, "name of the topology"),
    _required("component", _T, "name of the component"),
    _required("task", _W, "number of the task, unique in its topology"),
    _required("host", _T, "name of the machine"),
    _required("machine_type", _T, "type of the machine; may come from a mapping host to type"),
    _required("worker", _T, "the worker process on that machine: its port or id"),
    SampleField("last_task", _W, "last of the tasks that the record stands for; default task"),
    SampleField("run", _T, "one submission of the topology, such as Storm's topology id"),
    SampleField("rack", _T, "rack of the machine"),
    SampleField("inputs", FieldType.INPUTS, "tuples taken in, by source and stream; [] for none"),
    SampleField("outputs", FieldType.OUTPUTS, "tuples put out, by stream; [] for none"),
    SampleField("produced", _N, "tuples a spout made; without it, its largest output", "tuples"),
    SampleField("counters", _T, "delta (default) or total: of this window, or since the start"),
    SampleField("sample_rate", _N, "share of tuples that was counted, then scaled up; default 1"),
    SampleField("execute_ms", _N, "mean execute time, wall clock", "ms per tuple"),
    SampleField("process_ms", _N, "mean process time, wall clock", "ms per tuple"),
    SampleField("cpu_points", _N, "CPU of the task's own thread", "points, 100 = one core"),
    SampleField("worker_cpu_points", _N, "CPU of the whole worker process", "points"),
    SampleField("memory_mb", _N, "memory of the task", "MB"),
    SampleField("worker_memory_mb", _N, "memory of the worker process", "MB"),
    SampleField("queue_fill", _N, "mean fill of the task's input queue", "0 to 1"),
    SampleField("held_back", _N, "part of the window a spout was kept from emitting", "0 to 1"),
    SampleField("backlog", _N, "tuples that wait at a spout's source, at the end", "tuples"),
    SampleField("latency_ms", _N, "mean complete latency, at spouts", "ms"),
    SampleField("uptime_s", _N, "age of the worker process at the window's end", "s"),
)

#: Entries of ``inputs``: from which component (and task, where known), on which stream.
INPUT_FIELDS: tuple[SampleField, ...] = (
    _required("component", _T, "component the tuples came from"),
    _required("stream", _T, "stream they came on"),
    _required("tuples", _N, "how many", "tuples"),
    SampleField("task", _W, "task they came from, where the writer knows"),
    SampleField("bytes", _N, "their size", "bytes"),
)

#: Entries of ``outputs``.
OUTPUT_FIELDS: tuple[SampleField, ...] = (
    _required("stream", _T, "stream they were put on"),
    _required("tuples", _N, "how many, counted once however many subscribe", "tuples"),
    SampleField("bytes", _N, "their size", "bytes"),
)


@dataclass(frozen=True, slots=True)
class Input:
    """Tuples a task took in from one source on one stream."""

    component: str
    stream: str
    tuples: float
    task: int | None = None
    bytes: float | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """Tuples a task put on one stream."""

    stream: str
    tuples: float
    bytes: float | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """One record, for those who write a few of them; absent is ``None``, never 0."""

    time_ms: int
    window_ms: int
    topology: str
    component: str
    task: int
    host: str
    machine_type: str | None
    worker: str
    last_task: int | None = None
    run: str | None = None
    rack: str | None = None
    #: Empty means nothing came in; ``None`` means that it was not counted.
    inputs: tuple[Input, ...] | None = None
    outputs: tuple[Output, ...] | None = None
    produced: float | None = None
    counters: Counters = Counters.DELTA
    sample_rate: float | None = None
    execute_ms: float | None = None
    process_ms: float | None = None
    cpu_points: float | None = None
    worker_cpu_points: float | None = None
    memory_mb: float | None = None
    worker_memory_mb: float | None = None
    queue_fill: float | None = None
    held_back: float | None = None
    backlog: float | None = None
    latency_ms: float | None = None
    uptime_s: float | None = None
    version: int = field(default=SAMPLE_VERSION)

    def to_dict(self) -> dict[str, object]:
        """As its JSON line says it; what is absent is left out."""
        values: dict[str, object] = {}
        for described in SAMPLE_FIELDS:
            value = getattr(self, described.name)
            if described.type in (FieldType.INPUTS, FieldType.OUTPUTS):
                value = None if value is None else [_entry(entry) for entry in value]
            if described.name == "counters" and value is Counters.DELTA:
                value = None
            if value is not None:
                values[described.name] = value
        return values


def _entry(entry: Input | Output) -> dict[str, object]:
    fields = INPUT_FIELDS if isinstance(entry, Input) else OUTPUT_FIELDS
    values = {f.name: getattr(entry, f.name) for f in fields}
    return {name: value for name, value in values.items() if value is not None}

"""Instances at work on one batch: runs inside Spark's Python workers.

A task is one slot: it reads what was sent to it, calls the functions of its segment's components
one after the other, sends on what they put out, and keeps results and what is remembered in files
of its own. Last of all it puts out one note for each component with what was measured and which
files count: a task that Spark runs again counts once, telemetry included.
"""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from penstock.engines.spark.code import Function
from penstock.engines.spark.division import Division
from penstock.engines.spark.keys import Hot, dealt, parts_of
from penstock.engines.spark.machine import here
from penstock.engines.spark.packets import Packer, note, unpacked
from penstock.engines.spark.parts import Part
from penstock.model.topology import Grouping

#: Around the one line that says how a user's function failed.
FAILED = "@@component failed@@"


@dataclass(frozen=True)
class Subscriber:
    """Who takes in a stream: in the same task, or in slots of another level."""

    component: str
    #: Empty for one in the same task.
    addresses: tuple[int, ...] = ()
    grouping: Grouping = Grouping.SHUFFLE
    keys: tuple[str, ...] = ()
    shares: tuple[float, ...] = ()
    hot: Hot = ()


@dataclass(frozen=True)
class Remembered:
    """What a component knew after the batch before."""

    schema: pa.Schema
    #: Files by task, and whether the same tasks had the same keys then.
    files: Mapping[int, str]
    is_divided_alike: bool
    shares: tuple[float, ...]
    hot: Hot
    #: All is kept by the first instance.
    is_global: bool


@dataclass(frozen=True)
class ComponentInstances:
    """What a task must know of one component."""

    name: str
    function: Function | None
    takes_arrow: bool
    streams: dict[str, pa.Schema]
    subscribers: dict[str, tuple[Subscriber, ...]]
    #: Task number of each instance.
    tasks: tuple[int, ...]
    state: Remembered | None = None


@dataclass(frozen=True)
class Stage:
    """One level at one place; sent to the workers whole."""

    #: Which components each partition works as, first to last, and as which of their instances.
    slots: tuple[tuple[tuple[str, ...], int], ...]
    components: dict[str, ComponentInstances]
    #: Of streams that come as packets, by "component/stream".
    schemas: dict[str, pa.Schema]
    machine_type: str
    #: Where this batch's results and state go.
    folder: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        place = context.partitionId() if context is not None else 0
        attempt = context.taskAttemptId() if context is not None else 0
        yield from _InstanceRun(self, *self.slots[place], attempt).work(batches)


class _Meter:
    """CPU of this process, charged to one component at a time."""

    def __init__(self, first: str) -> None:
        self.now = first
        self.cpu_s: dict[str, float] = {}
        self.wall_s: dict[str, float] = {}
        self._cpu, self._wall = time.process_time(), time.monotonic()

    def charge(self, component: str) -> None:
        """From now on it is this component's; what was until now, the one's before."""
        cpu, wall = time.process_time(), time.monotonic()
        self.cpu_s[self.now] = self.cpu_s.get(self.now, 0.0) + cpu - self._cpu
        self.wall_s[self.now] = self.wall_s.get(self.now, 0.0) + wall - self._wall
        self.now, self._cpu, self._wall = component, cpu, wall


@dataclass
class _Working:
    """One component's instance during one batch."""

    instances: ComponentInstances
    task: int
    inputs: dict[str, list[float]] = field(default_factory=dict)
    outputs: dict[str, list[float]] = field(default_factory=dict)
    packers: dict[tuple[str, str], tuple[Packer, Division]] = field(default_factory=dict)
    results: dict[str, Part] = field(default_factory=dict)
    state: pd.DataFrame | None = None


class _InstanceRun:
    """One slot, one batch."""

    def __init__(self, stage: Stage, names: tuple[str, ...], number: int, attempt: int) -> None:
        self.stage, self.number, self.attempt = stage, number, attempt
        self.working = {
            name: _Working(stage.components[name], stage.components[name].tasks[number])
            for name in names
        }
        self.meter = _Meter(names[0])

    def work(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        first = self.meter.now
        for sender, target, rows in unpacked(batches, self.stage.schemas):
            yield from self._one(target, sender, rows)
            self.meter.charge(first)
        for name, mine in self.working.items():
            self.meter.charge(name)
            for packer, _division in mine.packers.values():
                yield from packer.rest()
        yield from self._notes()

    def _one(self, name: str, sender: str, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Rows through one component and all that follow it in this task."""
        self.meter.charge(name)
        mine = self.working[name]
        _count(mine.inputs, sender, rows)
        for stream, out in self._called(mine, rows).items():
            _count(mine.outputs, stream, out)
            if not out.num_rows:
                continue
            if stream not in mine.instances.subscribers:
                self._result(mine, stream).write(out)
                continue
            for subscriber in mine.instances.subscribers[stream]:
                self.meter.charge(name)
                if subscriber.addresses:
                    yield from self._sent(mine, stream, subscriber, out)
                else:
                    yield from self._one(subscriber.component, f"{name}/{stream}", out)

    def _called(self, mine: _Working, rows: pa.RecordBatch) -> dict[str, pa.RecordBatch]:
        code = mine.instances
        default = next(iter(code.streams), "")
        output: Any = rows
        if code.function is not None:
            given: Any = rows if code.takes_arrow else rows.to_pandas()
            try:
                if code.state is not None:
                    output, mine.state = code.function(given, self._state(mine))
                else:
                    output = code.function(given)
            except Exception as error:  # whatever a user's function does
                raise RuntimeError(_failure(code.name, code.function, error)) from None
        by_stream = output if isinstance(output, dict) else {default: output}
        return {
            stream: _as_declared(out, code.streams[stream])
            for stream, out in by_stream.items()
            if stream in code.streams and code.streams[stream].names
        }

    def _sent(
        self, mine: _Working, stream: str, to: Subscriber, rows: pa.RecordBatch
    ) -> Iterator[pa.RecordBatch]:
        if (stream, to.component) not in mine.packers:
            packer = Packer(mine.instances.name, stream, to.component, mine.task)
            division = Division(to.grouping, to.keys, to.shares, to.hot)
            mine.packers[stream, to.component] = packer, division
        packer, division = mine.packers[stream, to.component]
        for number, part in division.divided(rows):
            yield from packer.add(to.addresses[number], part)

    # -- files ------------------------------------------------------------------------------------

    def _result(self, mine: _Working, stream: str) -> Part:
        if stream not in mine.results:
            folder = Path(self.stage.folder, "results", mine.instances.name, stream)
            schema = mine.instances.streams[stream]
            mine.results[stream] = Part(folder, f"{mine.task:06d}", self.attempt, schema)
        return mine.results[stream]

    def _state(self, mine: _Working) -> pd.DataFrame:
        """What this instance's keys had last time."""
        if mine.state is not None:
            return mine.state
        known = mine.instances.state
        assert known is not None
        files = [known.files[task] for task in sorted(known.files)]
        if known.is_divided_alike:
            files = [known.files[mine.task]] if mine.task in known.files else []
        frames = [known.schema.empty_table().to_pandas()]
        frames += [pd.read_parquet(file, columns=known.schema.names) for file in files]
        state = pd.concat(frames, ignore_index=True)
        if not known.is_divided_alike and not known.is_global:
            keys = _as_declared(state, pa.schema([known.schema.field(0)]))
            mine_only = dealt(known.shares, known.hot)[parts_of(keys)] == self.number
            state = state[mine_only].reset_index(drop=True)
        mine.state = state
        return state

    def _kept_state(self, mine: _Working) -> str | None:
        known = mine.instances.state
        if known is None:
            return None
        folder = Path(self.stage.folder, "state", mine.instances.name)
        part = Part(folder, f"{mine.task:06d}", self.attempt, known.schema)
        part.write(_as_declared(self._state(mine), known.schema))
        return part.close()

    # -- what was measured ------------------------------------------------------------------------

    def _notes(self) -> Iterator[pa.RecordBatch]:
        states = {}
        for name, mine in self.working.items():
            self.meter.charge(name)
            states[name] = self._kept_state(mine)
            for part in mine.results.values():
                part.close()
        self.meter.charge("")
        for name, mine in self.working.items():
            facts = {
                "component": name,
                "task": mine.task,
                "machine_type": self.stage.machine_type,
                "inputs": mine.inputs,
                "outputs": mine.outputs,
                "cpu_s": self.meter.cpu_s.get(name, 0.0),
                "wall_s": self.meter.wall_s.get(name, 0.0),
                "state": states[name],
                "keys": [
                    [target, *division.counted()]
                    for (_stream, target), (_packer, division) in mine.packers.items()
                    if division.grouping.is_keyed
                ],
            }
            yield note(json.dumps(facts | here()))


def _count(counts: dict[str, list[float]], name: str, rows: pa.RecordBatch) -> None:
    count = counts.setdefault(name, [0.0, 0.0])
    count[0] += rows.num_rows
    count[1] += rows.nbytes


def _as_declared(rows: Any, schema: pa.Schema) -> pa.RecordBatch:
    """Rows of pandas or Arrow with the columns and types that were declared."""
    if isinstance(rows, pa.RecordBatch):
        return rows if rows.schema.equals(schema) else rows.select(schema.names).cast(schema)
    arrays = [pa.array(rows[f.name], type=f.type, from_pandas=True) for f in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _failure(component: str, function: Function, error: Exception) -> str:
    """What went wrong in a component, in one line that the driver finds again in Spark's pages."""
    file = getattr(getattr(function, "__code__", None), "co_filename", "")
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    where = f" ({file}:{lines[-1]})" if lines else ""
    words = " ".join(str(error).split())
    return f"{FAILED}{component}: {type(error).__name__}: {words}{where}{FAILED}"

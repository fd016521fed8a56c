"""One instance of a component at work on one batch: runs inside Spark's Python workers.

Rows come as Arrow batches with a few columns of ours in front; what was remembered comes first.
Out go the rows of every stream, what is to be remembered, and one row with what was measured, all
in one frame: so a batch that is run again after a failure counts once, telemetry included.
"""

from __future__ import annotations

import json
import os
import socket
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa

from penstock.engines.spark.code import Function

#: Columns of ours. ``_id`` tells rows apart and orders them, ``_from`` says who sent them.
ID, FROM, STREAM, NOTE = "_id", "_from", "_stream", "_note"
#: Values of ``_from`` and ``_stream`` that are no stream's.
STATE, SAMPLE = "#state", "#sample"
#: Room for so many rows of one instance in one batch.
ROWS_PER_INSTANCE = 1 << 40
#: Around the one line that says how a user's function failed.
FAILED = "@@component failed@@"
MACHINE_TYPE_VARIABLE = "PENSTOCK_MACHINE_TYPE"


@dataclass(frozen=True)
class Instances:
    """A component's instances on one part of the cluster; sent to the workers whole."""

    component: str
    function: Function | None
    takes_arrow: bool
    #: Payload columns of each stream put out, and of the state.
    columns: dict[str, list[str]]
    state_columns: list[str]
    #: Task number of each partition's instance.
    tasks: list[int]
    machine_type: str
    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        place = context.partitionId() if context is not None else 0
        yield from _Run(self, self.tasks[place]).work(batches)


class _Run:
    """One instance, one batch."""

    def __init__(self, made: Instances, task: int) -> None:
        self.made, self.task = made, task
        self.next_id = task * ROWS_PER_INSTANCE
        self.inputs: dict[str, list[float]] = {}
        self.outputs: dict[str, list[float]] = {}
        self.remembered: list[pd.DataFrame] = []
        self.state: pd.DataFrame | None = None

    def work(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        cpu, wall = time.thread_time(), time.monotonic()
        for batch in batches:
            yield from self._one(batch)
        if self.made.state_columns:
            yield from self._put(STATE, self._state(), self.made.state_columns)
        yield self._measured(time.thread_time() - cpu, time.monotonic() - wall)

    def _one(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """A batch of rows; such as are remembered stand before all others."""
        senders = batch.column(FROM).to_pandas()
        if self.made.state_columns:
            is_state = senders == STATE
            if is_state.any():
                self.remembered.append(batch.to_pandas()[is_state][self.made.state_columns])
            if is_state.all():
                return
            if is_state.any():
                batch = batch.filter(pa.array(~is_state))
                senders = senders[~is_state]
        for sender, rows in senders.value_counts().items():
            count = self.inputs.setdefault(str(sender), [0.0, 0.0])
            count[0] += rows
            count[1] += batch.nbytes * rows / len(senders)
        for stream, rows in self._called(batch).items():
            yield from self._put(stream, rows, self.made.columns[stream])

    def _called(self, batch: pa.RecordBatch) -> dict[str, Any]:
        function, default = self.made.function, next(iter(self.made.columns), "")
        own = [name for name in batch.schema.names if name in (ID, FROM)]
        payload = batch.drop_columns(own)
        rows: Any = payload if self.made.takes_arrow else payload.to_pandas()
        if function is None:
            return {default: rows} if default else {}
        try:
            if self.made.state_columns:
                found, self.state = function(rows, self._state())
            else:
                found = function(rows)
        except Exception as error:  # whatever a user's function does
            raise RuntimeError(_failure(self.made.component, function, error)) from None
        return found if isinstance(found, dict) else {default: found}

    def _state(self) -> pd.DataFrame:
        if self.state is None:
            columns = self.made.state_columns
            empty = self.made.schema.empty_table().select(columns).to_pandas()
            self.state = pd.concat([empty, *self.remembered], ignore_index=True)
            self.remembered = []
        return self.state

    def _put(self, stream: str, rows: Any, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """Rows in the frame that all of this component's streams share."""
        table = rows if isinstance(rows, pa.RecordBatch) else None
        size = len(rows)
        if not size or not columns:
            return
        fields = {field.name: field for field in self.made.schema}
        given = {
            name: (
                table.column(name).cast(fields[name].type)
                if table is not None
                else pa.array(rows[name], type=fields[name].type, from_pandas=True)
            )
            for name in columns
        }
        given[ID] = pa.array(range(self.next_id, self.next_id + size), type=pa.int64())
        given[STREAM] = pa.array([stream] * size, type=pa.string())
        self.next_id += size
        made = self._framed(given, size)
        if stream != STATE:
            count = self.outputs.setdefault(stream, [0.0, 0.0])
            count[0] += size
            count[1] += sum(array.nbytes for array in given.values())
        yield made

    def _measured(self, cpu_s: float, wall_s: float) -> pa.RecordBatch:
        note = {
            "component": self.made.component,
            "task": self.task,
            "host": os.environ.get("SPARK_LOCAL_HOSTNAME") or socket.gethostname(),
            "machine_type": os.environ.get(MACHINE_TYPE_VARIABLE) or self.made.machine_type,
            "worker": str(os.getppid()),
            "inputs": self.inputs,
            "outputs": self.outputs,
            "cpu_s": cpu_s,
            "wall_s": wall_s,
        }
        given = {
            ID: pa.array([self.next_id], type=pa.int64()),
            STREAM: pa.array([SAMPLE], type=pa.string()),
            NOTE: pa.array([json.dumps(note)], type=pa.string()),
        }
        return self._framed(given, 1)

    def _framed(self, given: dict[str, pa.Array], size: int) -> pa.RecordBatch:
        arrays = [
            given.get(field.name, pa.nulls(size, type=field.type)) for field in self.made.schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.made.schema)


def _failure(component: str, function: Function, error: Exception) -> str:
    """What went wrong in a component, in one line that the driver finds again in Spark's pages."""
    file = getattr(getattr(function, "__code__", None), "co_filename", "")
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    where = f" ({file}:{lines[-1]})" if lines else ""
    words = " ".join(str(error).split())
    return f"{FAILED}{component}: {type(error).__name__}: {words}{where}{FAILED}"

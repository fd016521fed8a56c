"""What instances measured during a batch, as telemetry records.

CPU of an instance is what its Python process used for it. Its executor, with all its Python
processes, is the worker: what that used besides, to move packets and for itself, is the worker's
own, which the pipeline measures per machine type. Where the executor is the driver too (local
masters), it is not known and left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.model.telemetry import UNKNOWN_TYPE, Input, Output, Sample


@dataclass(frozen=True)
class Window:
    """One batch: when it ended, and how long the batch took that the instances worked in."""

    end_ms: int
    length_ms: int
    topology: str
    run: str
    uptime_s: float
    #: Process of the driver, as workers are named.
    driver: str = ""


@dataclass
class WorkerClocks:
    """CPU seconds of every executor at the end of the batch before."""

    _before: dict[tuple[str, str], float] = field(default_factory=dict)

    def used_s(self, notes: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], float]:
        """Seconds since the batch before of each executor that was there then."""
        now: dict[tuple[str, str], float] = {}
        for note in notes:
            if note.get("worker_cpu_s") is not None:
                worker = (note["host"], note["worker"])
                now[worker] = max(now.get(worker, 0.0), note["worker_cpu_s"])
        used = {w: cpu - self._before[w] for w, cpu in now.items() if w in self._before}
        self._before = now
        return used


def samples(
    notes: Iterable[str], window: Window, spouts: frozenset[str], clocks: WorkerClocks
) -> list[Sample]:
    """A record per instance; CPU is spread over the whole window."""
    parsed = [json.loads(text) for text in notes]
    used_s = clocks.used_s(parsed)
    worker_s = {w: used for w, used in used_s.items() if w[1] != window.driver}
    length_ms = max(window.length_ms, 1)
    points = 1e5 / length_ms
    samples = []
    for note in parsed:
        worker = (note["host"], note["worker"])
        taken_in = float(sum(tuples for tuples, _ in note["inputs"].values()))
        is_spout = note["component"] in spouts
        samples.append(
            Sample(
                time_ms=window.end_ms,
                window_ms=length_ms,
                topology=window.topology,
                component=note["component"],
                task=int(note["task"]),
                host=note["host"],
                machine_type=note["machine_type"] or UNKNOWN_TYPE,
                worker=note["worker"],
                run=window.run,
                inputs=() if is_spout else _inputs(note["inputs"]),
                outputs=tuple(
                    Output(stream, tuples, size)
                    for stream, (tuples, size) in sorted(note["outputs"].items())
                ),
                produced=taken_in if is_spout else None,
                process_ms=1e3 * note["wall_s"] / taken_in if taken_in else None,
                cpu_points=points * note["cpu_s"],
                worker_cpu_points=points * worker_s[worker] if worker in worker_s else None,
                latency_ms=float(window.length_ms) if is_spout else None,
                uptime_s=window.uptime_s,
            )
        )
    return sorted(samples, key=lambda sample: sample.task)


def _inputs(counted: dict[str, list[float]]) -> tuple[Input, ...]:
    inputs = []
    for sender, (tuples, size) in sorted(counted.items()):
        component, _, stream = sender.rpartition("/")
        inputs.append(Input(component, stream, tuples, bytes=size))
    return tuple(inputs)

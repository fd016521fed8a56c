"""What instances measured during a batch, as telemetry records."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from penstock.model.telemetry import Input, Output, Sample

#: Spark has no machine types of its own.
UNKNOWN_TYPE = "any"


@dataclass(frozen=True)
class Window:
    """One batch: when it ended, and how long the batch took that the instances worked in."""

    end_ms: int
    length_ms: int
    topology: str
    run: str
    uptime_s: float


def samples(notes: Iterable[str], window: Window, spouts: frozenset[str]) -> list[Sample]:
    """A record per instance; CPU is spread over the whole window."""
    seconds = max(window.length_ms, 1) / 1000.0
    found = []
    for text in notes:
        note = json.loads(text)
        taken_in = float(sum(tuples for tuples, _ in note["inputs"].values()))
        is_spout = note["component"] in spouts
        found.append(
            Sample(
                time_ms=window.end_ms,
                window_ms=max(window.length_ms, 1),
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
                cpu_points=100.0 * note["cpu_s"] / seconds,
                latency_ms=float(window.length_ms) if is_spout else None,
                uptime_s=window.uptime_s,
            )
        )
    return sorted(found, key=lambda sample: sample.task)


def _inputs(counted: dict[str, list[float]]) -> tuple[Input, ...]:
    found = []
    for sender, (tuples, size) in sorted(counted.items()):
        component, _, stream = sender.rpartition("/")
        found.append(Input(component, stream, tuples, bytes=size))
    return tuple(found)

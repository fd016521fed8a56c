"""What an executor told of its newest windows, and sums over it. What no line says is NaN."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

from penstock.engines.reading import InstanceName
from penstock.engines.storm.records import ExecutorRecord
from penstock.telemetry.newest_lines import Line
from penstock.telemetry.storm.names import SYSTEM


@dataclass(frozen=True)
class ExecutorLines:
    """An executor, and what it told of the newest windows, the oldest first."""

    name: InstanceName
    machine: str
    executor: ExecutorRecord
    lines: tuple[Line, ...]

    @property
    def seconds(self) -> float:
        return sum(number_of(line, "window_ms") for line in self.lines) / 1e3

    def mean(self, field: str) -> float:
        """By time; NaN where no line says it."""
        pairs = [(number_of(x, field), number_of(x, "window_ms")) for x in self.lines]
        known = [(value, ms) for value, ms in pairs if isfinite(value) and ms > 0]
        total = sum(ms for _, ms in known)
        return sum(value * ms for value, ms in known) / total if total else nan

    def mean_by_tuples(self, field: str, tuples: str) -> float:
        """Of something that each tuple took."""
        pairs = [(number_of(x, field), tuples_of(x, tuples)) for x in self.lines]
        known = [(value, n) for value, n in pairs if isfinite(value) and n > 0]
        total = sum(n for _, n in known)
        return sum(value * n for value, n in known) / total if total else nan

    @property
    def took_per_s(self) -> float:
        return self._per_s("inputs")

    @property
    def made_per_s(self) -> float:
        """Tuples/s of a spout: those of its fullest stream, as each may go to several."""
        if not self.lines or not self.seconds:
            return nan
        made: dict[str, float] = defaultdict(float)
        for line in self.lines:
            if isfinite(produced := number_of(line, "produced")):
                made[""] += produced
            for stream, tuples in entries_of(line, "outputs"):
                made[stream] += tuples
        return max(made.values(), default=0.0) / self.seconds

    def _per_s(self, side: str) -> float:
        if not self.lines or not self.seconds:
            return nan
        return sum(tuples_of(line, side) for line in self.lines) / self.seconds


def inputs_of(line: Line) -> Iterable[tuple[str, str, float, int | None]]:
    for entry in _list(line, "inputs"):
        tuples, task = number_of(entry, "tuples"), entry.get("task")
        if isfinite(tuples):
            known = task if isinstance(task, int) else None
            yield str(entry.get("component")), str(entry.get("stream")), tuples, known


def entries_of(line: Line, side: str) -> Iterable[tuple[str, float]]:
    """Streams of the topology's own, with their tuples."""
    for entry in _list(line, side):
        stream, tuples = str(entry.get("stream")), number_of(entry, "tuples")
        if isfinite(tuples) and not stream.startswith(SYSTEM):
            yield stream, tuples


def tuples_of(line: Line, side: str) -> float:
    return sum(tuples for _, tuples in entries_of(line, side))


def _list(line: Line, side: str) -> list[dict[str, Any]]:
    entries = line.get(side)
    return [e for e in entries if isinstance(e, dict)] if isinstance(entries, list) else []


def number_of(values: Mapping[str, Any], name: str) -> float:
    """A number that can be counted with, or NaN."""
    value = values.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return nan
    return float(value) if 0 <= value < 1e15 else nan


def weighted(pairs: Sequence[tuple[float, float]]) -> float:
    """Mean by weight; the plain one where nothing weighs anything."""
    known = [(value, weight) for value, weight in pairs if isfinite(value) and weight >= 0]
    total = sum(weight for _, weight in known)
    if not known:
        return nan
    if not total:
        return sum(value for value, _ in known) / len(known)
    return sum(value * weight for value, weight in known) / total

"""How busy a machine is, and how much of that others than the engine's workers use.

CPU of the whole machine is in ``/proc/stat``; that of the engine's own processes, known by what is
on their command line, in ``/proc/PID/stat``. Command lines are read of processes not seen before
only, so that a machine with thousands of them costs no more. What a worker used that came and went
within a window counts as of others.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

#: On the command lines of processes that run tuples: Storm's workers, Spark's executors and the
#: Python they start.
ENGINE_PROCESSES = (
    "org.apache.storm.daemon.worker.Worker",
    "org.apache.spark.executor.",
    "pyspark.daemon",
)
_POINTS = 100.0
#: Of a command line; class names of a JVM stand behind its class path.
_MOST_BYTES = 1 << 17


@dataclass(frozen=True, slots=True)
class CpuReading:
    """Seconds of CPU since the machine started, but for ``workers``: since these processes did."""

    at_s: float
    busy_s: float
    steal_s: float
    #: By process: its id and when it started.
    workers: dict[tuple[int, int], float]


@dataclass
class CpuMeter:
    """Reads the machine's CPU; :meth:`since` is what was used since the reading before."""

    root: Path = Path("/")
    own_marks: tuple[str, ...] = ENGINE_PROCESSES
    ticks_per_s: float = field(default_factory=lambda: float(os.sysconf("SC_CLK_TCK")))
    #: Processes seen before: whether they run tuples.
    _known: dict[int, bool] = field(default_factory=dict)

    def read(self, now_s: float) -> CpuReading:
        """``now_s`` by a clock that only goes on."""
        fields = (self.root / "proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()
        user, nice, system, _idle, _wait, irq, softirq, steal = map(int, fields[1:9])
        busy = user + nice + system + irq + softirq  # guests are counted in user
        return CpuReading(
            now_s, busy / self.ticks_per_s, steal / self.ticks_per_s, dict(self._workers())
        )

    def since(self, before: CpuReading, now: CpuReading) -> dict[str, object]:
        """Fields of the machine record: points in use between two readings."""
        seconds = now.at_s - before.at_s
        if seconds <= 0:
            return {}
        busy = max(0.0, now.busy_s - before.busy_s)
        # A worker that started in between began with nothing.
        own = sum(used - before.workers.get(who, 0.0) for who, used in now.workers.items())
        points = {
            "busy_points": busy,
            "other_points": max(0.0, busy - own),
            "steal_points": max(0.0, now.steal_s - before.steal_s),
        }
        return {name: round(_POINTS * used / seconds, 2) for name, used in points.items()}

    def _workers(self) -> Iterable[tuple[tuple[int, int], float]]:
        """Processes that run tuples, with the seconds of CPU each has used."""
        with os.scandir(self.root / "proc") as entries:
            there = {int(entry.name) for entry in entries if entry.name.isdecimal()}
        for gone in self._known.keys() - there:
            del self._known[gone]
        for process in sorted(there):
            if process not in self._known:
                self._known[process] = self._runs_tuples(process)
            if self._known[process] and (usage := self._usage(process)) is not None:
                started, used_s = usage
                yield (process, started), used_s

    def _runs_tuples(self, process: int) -> bool:
        try:
            with (self.root / f"proc/{process}/cmdline").open("rb") as file:
                line = file.read(_MOST_BYTES).replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it has ended, or is somebody else's
            return False
        return any(mark in line for mark in self.own_marks)

    def _usage(self, process: int) -> tuple[int, float] | None:
        """When a process started, in ticks, and its CPU with that of children it waited for."""
        try:
            text = (self.root / f"proc/{process}/stat").read_text(
                encoding="utf-8", errors="replace"
            )
        except OSError:
            return None
        fields = text.rpartition(")")[2].split()  # its name may hold anything
        user, system, children_user, children_system = (int(f) for f in fields[11:15])
        used = user + system + children_user + children_system
        return int(fields[19]), used / self.ticks_per_s

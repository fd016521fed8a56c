"""CPU seconds of a program and of all that it starts, while it runs.

Linux only: what belongs to a program is told by its session, and by those that its processes begin:
Spark's Java has one of its own, which Python workers inherit.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_EVERY_S = 0.2
_TICKS = os.sysconf("SC_CLK_TCK")
#: Places in /proc/PID/stat after the name: parent, session, user time, system time.
_PARENT, _SESSION, _USER, _SYSTEM = 1, 3, 11, 12


class SessionCpu:
    """CPU of the processes of a session and of those begun below it, ended ones as last seen."""

    def __init__(self, session: int, proc: Path = Path("/proc")) -> None:
        self._sessions, self._proc = {session}, proc
        self._ticks: dict[int, int] = {}
        self._lock = threading.Lock()

    def seconds(self) -> float:
        """Up to now."""
        with self._lock:
            self._look()
            return sum(self._ticks.values()) / _TICKS

    def _look(self) -> None:
        there = dict(self._processes())
        sessions = {number: int(stat[_SESSION]) for number, stat in there.items()}
        while (
            begun := {
                sessions[number]
                for number, stat in there.items()
                if sessions.get(int(stat[_PARENT])) in self._sessions
            }
            - self._sessions
        ):
            self._sessions |= begun
        for number, stat in there.items():
            if sessions[number] in self._sessions:
                ticks = int(stat[_USER]) + int(stat[_SYSTEM])
                self._ticks[number] = max(ticks, self._ticks.get(number, 0))

    def _processes(self) -> Iterator[tuple[int, list[str]]]:
        """What each says of itself after its name, which may hold anything; none that has gone."""
        for folder in self._proc.iterdir():
            if folder.name.isdigit():
                with suppress(OSError):
                    text = (folder / "stat").read_text(errors="replace")
                    yield int(folder.name), text.rpartition(")")[2].split()


@contextmanager
def cpu_of_session(session: int) -> Iterator[SessionCpu]:
    """Look again and again, so that little is lost of processes that end."""
    meter, ended = SessionCpu(session), threading.Event()

    def watch() -> None:
        while not ended.wait(_EVERY_S):
            meter.seconds()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield meter
    finally:
        ended.set()
        thread.join()

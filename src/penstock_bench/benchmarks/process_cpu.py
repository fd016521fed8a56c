"""CPU seconds of a program and of all that it starts, while it runs.

Linux only: what belongs to a program is told by its session, which Java and Python workers inherit
from it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_EVERY_S = 0.2
_TICKS = os.sysconf("SC_CLK_TCK")
#: Places in /proc/PID/stat after the name: session, user time, system time.
_SESSION, _USER, _SYSTEM = 3, 11, 12


class SessionCpu:
    """CPU of the processes of a session, those that ended included as they were last seen."""

    def __init__(self, session: int, proc: Path = Path("/proc")) -> None:
        self._session, self._proc = session, proc
        self._ticks: dict[int, int] = {}
        self._lock = threading.Lock()

    def seconds(self) -> float:
        """Up to now."""
        with self._lock:
            self._look()
            return sum(self._ticks.values()) / _TICKS

    def _look(self) -> None:
        for folder in self._proc.iterdir():
            if folder.name.isdigit() and (ticks := self._ticks_of(folder)) is not None:
                number = int(folder.name)
                self._ticks[number] = max(ticks, self._ticks.get(number, 0))

    def _ticks_of(self, folder: Path) -> int | None:
        """Of a process of the session; nothing of others, and of one that has just gone."""
        try:
            # The name, in brackets, may hold anything.
            stat = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            return None
        if int(stat[_SESSION]) != self._session:
            return None
        return int(stat[_USER]) + int(stat[_SYSTEM])


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

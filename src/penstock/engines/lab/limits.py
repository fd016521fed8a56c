"""Limits that wait: a program starts several times slower on a fraction of a core than it runs.

Programs that appear in a machine's group have the whole computer for a while, to start and warm
up; then the machine is held to its points.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from penstock.engines.lab.groups import ControlGroup


def _command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


@dataclass
class HeldBack:
    """One machine's group, limited except while something in it warms up."""

    group: ControlGroup
    points: float
    warm_up_s: float
    clock: Callable[[], float] = time.monotonic
    command: Callable[[int], str] = _command
    is_limited: bool = False
    _first_seen: dict[int, float] = field(default_factory=dict)

    def look(self) -> None:
        """Limit or let go, by the age of the programs in the group; call it every second or so."""
        now = self.clock()
        alive = self.group.processes()
        # Spark forks a Python worker per task; such a one needs no time to warm up.
        programs = {p for p in alive if p in self._first_seen or self.command(p) == "java"}
        self._first_seen = {p: self._first_seen.get(p, now) for p in programs}
        youngest = max(self._first_seen.values(), default=None)
        is_warm = youngest is None or now - youngest >= self.warm_up_s
        if is_warm != self.is_limited:
            self.group.limit(self.points if is_warm else None)
            self.is_limited = is_warm

"""Progress of a simulation, on stderr, when it takes long."""

from __future__ import annotations

import time

from penstock.cli.output import say

_FIRST_WORD_AFTER_S = 3.0
_SAY_EVERY_S = 5.0


class SimulationProgress:
    """Says how far it is, and what Ctrl-C does."""

    def __init__(self, interrupt: str) -> None:
        self._interrupt = interrupt
        self._next = time.monotonic() + _FIRST_WORD_AFTER_S

    def see(self, part: float) -> None:
        now = time.monotonic()
        if now >= self._next:
            say(f"{100 * part:.0f} % simulated; {self._interrupt}")
            self._next = now + _SAY_EVERY_S

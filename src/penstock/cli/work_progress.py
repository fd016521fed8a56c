"""Progress of work that takes long, on stderr."""

from __future__ import annotations

import time

from penstock.cli.output import say

_FIRST_WORD_AFTER_S = 3.0
_SAY_EVERY_S = 5.0


class WorkProgress:
    """Says which part of the work is done, and how long the rest will take."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._began = time.monotonic()
        self._next = self._began + _FIRST_WORD_AFTER_S

    def see(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now >= self._next and done:
            left_s = (now - self._began) * (total - done) / done
            say(f"{100 * done / total:.0f} % {self._what}, about {left_s:.0f} s left")
            self._next = now + _SAY_EVERY_S

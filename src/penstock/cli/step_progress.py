"""Progress of steps over telemetry, on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.cli.output import say

if TYPE_CHECKING:
    from penstock.telemetry.step_watch import StepState

_FIRST_WORD_AFTER_S = 3.0
_SAY_EVERY_S = 5.0

StepTold = Callable[["StepState"], None]


def step_progress(*, as_json: bool) -> StepTold | None:
    """Whom to tell how far a step is: nobody, where nobody looks."""
    return None if as_json or not sys.stderr.isatty() else StepProgress().see


class StepProgress:
    """Says every few seconds what is done, how fast, and how long the rest will take."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next = 0.0

    def see(self, state: StepState) -> None:
        now = self._clock()
        if state.seconds >= _FIRST_WORD_AFTER_S and now >= self._next:
            say(in_words(state))
            self._next = now + _SAY_EVERY_S


def in_words(state: StepState) -> str:
    """One line: "take in: 12 of 50 tasks, 530,000 records a second, about 23 s left"."""
    parts = [f"{state.tasks_done} of {state.tasks} tasks"] if state.tasks else []
    if state.records:
        parts.append(f"{state.records_per_s:,.0f} records a second")
    if state.tasks and state.left_s is not None:
        parts.append(f"about {state.left_s:.0f} s left")
    return f"{state.name}: {', '.join(parts) or f'{state.seconds:.0f} s so far'}"

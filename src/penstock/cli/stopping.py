"""When a run that could go on for ever ends: its time is up, Ctrl-C, or SIGTERM."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from penstock.cli.output import say

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass
class Stop:
    """Asked again and again by a run whether to end after the current batch.

    Time and signals count from the first time it is asked. A signal before that, while Spark
    starts, goes to whoever dealt with it before, and ends the command at once: there is nothing to
    save. So does a second one.
    """

    seconds: float | None
    clock: Callable[[], float] = time.monotonic
    #: The signal that asked for the end.
    received: int | None = None
    handlers_before: dict[int, Any] = field(default_factory=dict)
    _asked_at: float | None = None

    def __call__(self) -> bool:
        now = self.clock()
        if self._asked_at is None:
            self._asked_at = now
        is_late = self.seconds is not None and now - self._asked_at >= self.seconds
        return is_late or self.received is not None

    @property
    def exit_code(self) -> int | None:
        """The exit code of a command that a signal ended; none otherwise."""
        return None if self.received is None else 128 + self.received

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._asked_at is None or self.received is not None:
            self._cut_off(number, frame)
        self.received = number
        say("ending after this batch; Ctrl-C again to give up")

    def _cut_off(self, number: int, frame: FrameType | None) -> None:
        before = self.handlers_before.get(number)
        if callable(before):
            before(number, frame)
        if number == signal.SIGINT:  # also where it was ignored before, as in a background job
            raise KeyboardInterrupt
        sys.exit(128 + number)


@contextmanager
def stoppable(seconds: float | None = None) -> Iterator[Stop]:
    """Says when the run in the block is to end."""
    stop = Stop(seconds)
    for number in _SIGNALS:
        stop.handlers_before[number] = signal.signal(number, stop.on_signal)
    try:
        yield stop
    finally:
        for number in _SIGNALS:
            signal.signal(number, stop.handlers_before[number])

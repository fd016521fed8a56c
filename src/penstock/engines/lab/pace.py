"""How much CPU the same piece of work takes, from moment to moment.

A lab gives its machines so many seconds of CPU in every second. What such a second is worth changes
on a computer that others share, and on cores that were asleep (see ``cpu_keepalive.py``). Figures
from two stretches of time are better compared by someone who knows the pace in both. It is a hint,
not a measure: other work may find the computer faster or slower than this loop does.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

_EVERY_S = 0.5
#: Two to four milliseconds: long against the clock's grain, less than a hundredth of a core.
_ROUNDS = 30_000


def _work() -> None:
    total = 0
    for i in range(_ROUNDS):
        total += i * i % 7


@dataclass
class PaceMeter:
    """Times the same work again and again; the CPU it took, not the clock, counts."""

    work: Callable[[], None] = _work
    #: When a piece ended, by the time of day, and the CPU it took.
    seen: list[tuple[float, float]] = field(default_factory=list)

    def measure(self) -> None:
        before = time.thread_time()
        self.work()
        self.seen.append((time.time(), time.thread_time() - before))

    def usual_s(self, began: float, ended: float) -> float:
        """CPU that a piece usually took between two times of day; NaN if none ended there.

        The median: a few pieces that somebody disturbed say nothing about the work of a minute.
        """
        taken = [cpu_s for at, cpu_s in self.seen if began <= at <= ended]
        return statistics.median(taken) if taken else float("nan")


@contextmanager
def pace_measured(every_s: float = _EVERY_S) -> Iterator[PaceMeter]:
    """A meter that runs beside whatever the block does."""
    meter, ended = PaceMeter(), threading.Event()

    def run() -> None:
        while not ended.wait(every_s):
            meter.measure()

    thread = threading.Thread(target=run, name="pace", daemon=True)
    thread.start()
    try:
        yield meter
    finally:
        ended.set()
        thread.join()

"""What a live run did, second by second, and what it is judged by."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise

from penstock.errors import PenstockError
from penstock_bench.benchmarks.watch.stepped_load import SteppedLoad, Stretch

_LOOKS_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class LoggedMoment:
    """Totals since the run began."""

    at_s: float
    offered: float
    #: Done for good: acked, or in a batch that counts.
    done: float
    #: Machines that have an instance.
    machines: frozenset[str]


@dataclass
class LiveLog:
    """Moments of a run, in order; times count from when the load began."""

    load: SteppedLoad
    moments: list[LoggedMoment] = field(default_factory=list)

    def carried(self, stretch: Stretch) -> float:
        """The part that was done of what was offered in a stretch."""
        inside = self._inside(stretch)
        offered = inside[-1].offered - inside[0].offered
        return (inside[-1].done - inside[0].done) / offered if offered else 1.0

    def waits_s(self, stretch: Stretch) -> float:
        """At its end: seconds of what is offered that wait or are under way."""
        last = self._inside(stretch)[-1]
        rate = self._rate(stretch)
        return max(0.0, last.offered - last.done) / rate if rate else 0.0

    @property
    def least_carried(self) -> float:
        return min(map(self.carried, self.load.stretches))

    @property
    def longest_wait_s(self) -> float:
        return max(map(self.waits_s, self.load.stretches))

    @property
    def machine_s(self) -> float:
        """Machines in use, added up over the load."""
        return sum(
            len(before.machines) * (after.at_s - before.at_s)
            for before, after in pairwise(self._during())
        )

    def _during(self) -> list[LoggedMoment]:
        return [m for m in self.moments if 0.0 <= m.at_s <= self.load.seconds]

    def _inside(self, stretch: Stretch) -> list[LoggedMoment]:
        inside = [m for m in self.moments if stretch.begin_s <= m.at_s <= stretch.end_s]
        if len(inside) < 2:
            raise PenstockError(f"nobody looked at the run during {stretch.name}")
        return inside

    def _rate(self, stretch: Stretch) -> float:
        inside = self._inside(stretch)
        return (inside[-1].offered - inside[0].offered) / (inside[-1].at_s - inside[0].at_s)


@contextmanager
def logged(
    load: SteppedLoad, began_s: float, look: Callable[[float], tuple[float, float, frozenset[str]]]
) -> Iterator[LiveLog]:
    """A log that is written while the block runs; ``look`` gets the time of day.

    A look that fails is left out: what runs may be away for a moment.
    """
    log, ended = LiveLog(load), threading.Event()

    def run() -> None:
        while not ended.wait(_LOOKS_EVERY_S):
            now = time.time()
            try:
                offered, done, machines = look(now)
            except PenstockError:
                continue
            log.moments.append(LoggedMoment(now - began_s, offered, done, machines))

    thread = threading.Thread(target=run, name="live log", daemon=True)
    thread.start()
    try:
        yield log
    finally:
        ended.set()
        thread.join()

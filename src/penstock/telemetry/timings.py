"""How long each step of a run over telemetry took, and how many records it read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field


@dataclass(frozen=True)
class StepTime:
    """One step."""

    name: str
    seconds: float
    #: Records or windows read.
    rows: int = 0

    @property
    def rows_per_s(self) -> float:
        return self.rows / self.seconds if self.seconds > 0 else 0.0

    def to_dict(self) -> dict[str, object]:
        return {"pass": self.name, "rows": self.rows, "seconds": round(self.seconds, 3)}


@dataclass
class _RowsRead:
    rows: int = 0


@dataclass
class Timings:
    """The steps of a run, in the order in which they ended."""

    clock: Callable[[], float] = time.monotonic
    #: Looks on while the step of this name runs.
    watch: Callable[[str], AbstractContextManager[object]] = nullcontext
    steps: list[StepTime] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[_RowsRead]:
        """Time a block; what it sets as ``rows`` is what it read."""
        read, began = _RowsRead(), self.clock()
        with self.watch(name):
            yield read
        self.steps.append(StepTime(name, self.clock() - began, read.rows))

    def by_name(self) -> tuple[StepTime, ...]:
        """Steps of one name added up, in the order in which they first came."""
        return added_up(self.steps)


def added_up(steps: Sequence[StepTime]) -> tuple[StepTime, ...]:
    totals: dict[str, StepTime] = {}
    for step in steps:
        before = totals.get(step.name, StepTime(step.name, 0.0))
        seconds, rows = before.seconds + step.seconds, before.rows + step.rows
        totals[step.name] = StepTime(step.name, seconds, rows)
    return tuple(totals.values())

"""How far a step is while Spark works on it: tasks that are done, and records they have read."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOOKS_EVERY_S = 1.0


@dataclass(frozen=True)
class StepState:
    """A step that is under way."""

    name: str
    seconds: float
    #: Of what Spark works on now; none where the driver works alone.
    tasks_done: int
    tasks: int
    #: Since these tasks began.
    tasks_s: float
    #: Read by tasks of this step that have ended.
    records: int

    @property
    def records_per_s(self) -> float:
        return self.records / self.seconds if self.seconds > 0 else 0.0

    @property
    def left_s(self) -> float | None:
        """What the rest of the tasks will take at the pace so far; unknown before the first."""
        if not self.tasks_done:
            return None
        return self.tasks_s * (self.tasks - self.tasks_done) / self.tasks_done


@dataclass
class StepWatch:
    """Looks at Spark once a second while a step runs, and says how far that is."""

    spark: SparkSession
    tell: Callable[[StepState], None]
    every_s: float = _LOOKS_EVERY_S
    clock: Callable[[], float] = time.monotonic
    #: Added to by tasks; Spark brings it here when a task has ended.
    _records: Any = field(init=False)
    _stages: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._records = self.spark.sparkContext.accumulator(0)

    @property
    def count(self) -> Callable[[int], None]:
        """For tasks to call with the number of records they have read."""
        counted: Callable[[int], None] = self._records.add
        return counted

    @contextmanager
    def during(self, step: str) -> Iterator[None]:
        ended = threading.Event()
        looking = threading.Thread(target=self._look, args=(step, ended), daemon=True)
        looking.start()
        try:
            yield
        finally:
            ended.set()
            looking.join()

    def _look(self, step: str, ended: threading.Event) -> None:
        began, before = self.clock(), int(self._records.value)
        while not ended.wait(self.every_s):
            # Spark may be ending; what it is doing then is nobody's concern.
            with suppress(Exception):
                self.tell(self._state(step, began, before))

    def _state(self, step: str, began: float, before: int) -> StepState:
        tracker, now = self.spark.sparkContext.statusTracker(), self.clock()
        done = tasks = 0
        oldest = now
        for number in tracker.getActiveStageIds():
            stage = tracker.getStageInfo(number)
            if stage is not None:
                done, tasks = done + stage.numCompletedTasks, tasks + stage.numTasks
                oldest = min(oldest, self._stages.setdefault(number, now))
        records = int(self._records.value) - before
        return StepState(step, now - began, done, tasks, now - oldest, records)

"""What a scheduler is: a frozen value of parameters with one method, ``solve``."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np

    from penstock.model.outcome import Outcome
    from penstock.model.problem import Problem

#: More kinds of lost machines than this are not worked out unasked.
MOST_KINDS = 60


@dataclass(frozen=True, slots=True)
class Looks:
    """What a scheduler looks at; shown by ``penstock schedulers --details``.

    All of them decide placement and handle several topologies, one after the other unless
    ``topologies_together`` says that it weighs them against each other.
    """

    counts: bool = False
    unlike_machines: bool = False
    memory: bool = False
    network: bool = False
    latency: bool = False
    energy: bool = False
    grouping: bool = False
    topologies_together: bool = False


@runtime_checkable
class Scheduler(Protocol):
    """Parameters are dataclass fields, each with a default and ``metadata={"help": ...}``."""

    name: ClassVar[str]
    #: One sentence for ``penstock schedulers``.
    summary: ClassVar[str]
    #: Paper and algorithm it follows, empty for our own.
    paper: ClassVar[str]
    looks: ClassVar[Looks]

    def solve(self, problem: Problem, budget: Budget, rng: np.random.Generator) -> Outcome:
        """Place the problem, without touching it. The same inputs give the same outcome."""
        ...


class Budget:
    """How long a scheduler may search: rounds (deterministic), seconds, or until told to stop."""

    def __init__(
        self,
        iterations: int | None = None,
        seconds: float | None = None,
        stop: Callable[[], bool] | None = None,
        clock: Callable[[], float] = time.monotonic,
        on_progress: Callable[[float, float | None], None] = lambda _scale, _bound: None,
    ) -> None:
        self._iterations = iterations
        self._stop = stop
        self._clock = clock
        self._deadline = None if seconds is None else clock() + seconds
        #: Told the scale of the best plan so far and the bound proved so far.
        self.found = on_progress

    @property
    def seconds_left(self) -> float | None:
        """Time until it must return, for solvers that keep their own clock; ``None``: no limit."""
        return None if self._deadline is None else max(0.0, self._deadline - self._clock())

    def spent(self, iterations: int) -> bool:
        """Whether a scheduler that has done so many rounds must return its best so far."""
        if self._iterations is not None and iterations >= self._iterations:
            return True
        if self._deadline is not None and self._clock() >= self._deadline:
            return True
        return self._stop is not None and self._stop()

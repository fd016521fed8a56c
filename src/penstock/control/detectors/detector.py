"""What a detector is: a frozen value of parameters that looks at blocks of telemetry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from penstock.model.arrays import BoolVector, FloatVector
from penstock.model.placement import Placement
from penstock.model.problem import Problem

#: Samples are averaged over so long: neighbours resemble each other, means of blocks far less.
BLOCK_S = 30.0


@dataclass(frozen=True, slots=True)
class TelemetryBlock:
    """Means over one stretch in which the same placement ran on the same machines."""

    #: When it ended, and how long it was.
    time_s: float
    seconds: float
    placement: Placement
    alive: BoolVector
    #: Logarithm of CPU in use over what the cost model says at the rate processed, (machines,);
    #: NaN where nothing is known or next to nothing runs.
    log_cpu: FloatVector
    #: Part of the time in which spouts were kept from emitting; NaN where not known.
    held_back: float
    #: Logarithm of the busiest instance's input over its expected part, (components,), or NaN.
    log_busiest: FloatVector

    @property
    def is_whole(self) -> bool:
        """Whether it is long enough to judge by; changes cut blocks short."""
        return self.seconds >= BLOCK_S / 2


def median_of(values: FloatVector) -> float:
    """The median, without the checks that take numpy's ten times as long on a few machines."""
    ordered, half = np.sort(values), len(values) // 2
    middle = ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2
    return float(middle)


@dataclass(frozen=True, slots=True)
class Detection:
    """Something that began, or is over."""

    time_s: float
    #: The detector's name.
    kind: str
    #: Machine, machine type, component; empty: the whole.
    subject: str
    #: How bad it is, in the detector's own unit; ``why`` says which.
    value: float
    why: str
    is_over: bool = False


@runtime_checkable
class Detector(Protocol):
    """Parameters are dataclass fields; what it remembers is a value it returns and gets back."""

    name: ClassVar[str]

    def start(self, problem: Problem) -> Any:
        """What it remembers before the first block."""
        ...

    def look(
        self, block: TelemetryBlock, memory: Any, problem: Problem
    ) -> tuple[tuple[Detection, ...], Any]:
        """What began or ended with this block, and what to remember."""
        ...

"""The fingerprint of a machine: how much of each kind of work a core does, alone and among all.

Counted per second of CPU, not of time: what others do on the machine meanwhile takes time from us,
but little of the speed. Short slices are repeated, and the median of them is the figure, so that a
disturbance of some of them is none of the result.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from penstock.calibration.kernels import KERNELS, Kernel

#: CPU of one slice: long against the clock's grain of a few milliseconds.
_SLICE_S = 0.1
_LEAST_SLICES = 3
#: Of normally scattered values, the standard deviation is so many times the median deviation.
_NORMAL = 1.4826
#: What the median of a normal sample scatters more than its mean.
_MEDIAN_LOSS = 1.2533


@dataclass(frozen=True, slots=True)
class KernelSpeed:
    """One kind of work: per second of CPU on one core, and on each of all cores at once."""

    kind: str
    one_per_s: float
    #: Standard error, of the same unit.
    one_error: float
    all_per_s: float


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What was measured. All cores together are worth ``cores_worth`` times one alone."""

    speeds: tuple[KernelSpeed, ...]
    processors: int

    @property
    def cores_worth(self) -> float:
        """The geometric mean over the kinds of work."""
        parts = [speed.all_per_s / speed.one_per_s for speed in self.speeds]
        return self.processors * statistics.geometric_mean(parts)


def measure(
    seconds: float,
    processors: int | None = None,
    say: Callable[[str], None] = lambda _text: None,
    cpu_clock: Callable[[], float] = time.process_time,
) -> Fingerprint:
    """Fingerprint this machine in about so many seconds: half of it one core, half all."""
    number = processors or len(os.sched_getaffinity(0))
    each_s = seconds / (2 * len(KERNELS))
    ones = {}
    for kind, prepare in KERNELS.items():
        say(f"{kind.replace('_', ' ')} on one core")
        ones[kind] = rates(prepare(), each_s, cpu_clock)
    # Spawned, not forked: nothing of this process is in the way of the measurement.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(number, mp_context=context) as pool:
        alls = {}
        for kind in KERNELS:
            say(f"{kind.replace('_', ' ')} on {number} cores")
            alls[kind] = list(pool.map(_rate_of, [kind] * number, [each_s] * number))
    speeds = tuple(
        KernelSpeed(
            kind,
            statistics.median(ones[kind]),
            standard_error(ones[kind]),
            statistics.median(alls[kind]),
        )
        for kind in KERNELS
    )
    return Fingerprint(speeds, number)


def _rate_of(kind: str, seconds: float) -> float:
    return statistics.median(rates(KERNELS[kind](), seconds, time.process_time))


def rates(work: Kernel, seconds: float, cpu_clock: Callable[[], float]) -> list[float]:
    """Units of work per second of CPU, slice by slice; what warms up is not counted."""
    work()
    units = 1
    slices: list[float] = []
    began = cpu_clock()
    while cpu_clock() - began < seconds or len(slices) < _LEAST_SLICES:
        start = cpu_clock()
        for _ in range(units):
            work()
        used = cpu_clock() - start
        if used < _SLICE_S / 2:
            units *= 2
            continue
        slices.append(units / used)
    return slices


def standard_error(values: Sequence[float]) -> float:
    """Of the median, from how far the values scatter, whatever a few of them do."""
    middle = statistics.median(values)
    scatter = _NORMAL * statistics.median(abs(value - middle) for value in values)
    return float(_MEDIAN_LOSS * scatter / len(values) ** 0.5)

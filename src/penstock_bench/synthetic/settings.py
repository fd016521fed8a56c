"""What is recorded, how noisily, and what goes wrong meanwhile. By default nothing does."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from penstock.model.arrays import FloatVector
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.model.telemetry import Counters

#: 2026-01-01, midnight UTC.
_START_MS = 1_767_225_600_000


@dataclass(frozen=True, kw_only=True)
class Noise:
    """How far what is measured is from what is meant."""

    #: Standard deviation of CPU, as a share of its value and in points on top.
    cpu_relative: float = 0.0
    cpu_points: float = 0.0
    #: Standard deviation of memory and of the wall-clock times, as a share of the value.
    memory_relative: float = 0.0
    wall_clock_relative: float = 0.0
    #: Tuples come as a Poisson process in place of the exact rate.
    poisson: bool = False
    #: Share of tuples that is counted and scaled up, as Storm's even sampler does (its default
    #: is 0.05): of each 1/p tuples in a row one, chosen at random, counts for all.
    sample_rate: float = 1.0


@dataclass(frozen=True, kw_only=True)
class InjectedDrift:
    """From a moment on, a tuple of one component costs this many times as much."""

    component: str
    factor: float
    from_ms: int


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """Where CPU is truly not ``e * rate + met``."""

    #: Idle executors spin: this many points at rate 0, falling to none at ``spin_ends_per_s``.
    spin_points: float = 0.0
    spin_ends_per_s: float = 1.0
    #: Machine load u shows as u / (1 + u^p)^(1/p); the larger p, the later it bends. 0 is off.
    saturation_order: float = 0.0
    drifts: tuple[InjectedDrift, ...] = ()


@dataclass(frozen=True, kw_only=True)
class InjectedFaults:
    """What goes wrong; shares are of all records, or of windows times workers for restarts."""

    #: CPU of the task read several times too high, or as 0 for ``zero_outliers`` of them.
    outliers: float = 0.0
    outlier_factor: tuple[float, float] = (3.0, 10.0)
    zero_outliers: float = 0.25
    #: A worker restarts at the window's start; all its tasks begin anew.
    restarts: float = 0.0
    #: A young worker compiles: everything costs this many times as much for so long.
    warm_up_s: float = 60.0
    warm_up_factor: float = 2.0
    #: Written twice, the same bytes; moved within its file; moved to the next file; not written.
    duplicates: float = 0.0
    out_of_order: float = 0.0
    late: float = 0.0
    lost: float = 0.0
    #: Each host's clock is wrong by up to this much, either way.
    clock_skew_ms: int = 0


@dataclass(frozen=True, kw_only=True)
class Recording:
    """A topology on a placement, offered a load that changes from window to window."""

    problem: Problem
    placement: Placement
    #: Scale of the input in each window, shape (windows,).
    scale: FloatVector
    window_ms: int = 10_000
    #: Start of the first window.
    start_ms: int = _START_MS
    #: Age of the workers at that moment.
    uptime_s: float = 3600.0
    counters: Counters = Counters.DELTA
    #: Tell inputs by source task, as our own reporter does; else by component and stream.
    by_task: bool = False
    #: What a worker process itself costs, where the cluster's machine type does not say.
    worker_cpu_points: float = 0.0
    #: Name of this submission; made from topology and start unless given.
    run: str = ""
    noise: Noise = field(default_factory=Noise)
    faults: InjectedFaults = field(default_factory=InjectedFaults)
    behaviour: Behaviour = field(default_factory=Behaviour)

    def __post_init__(self) -> None:
        shares = ("outliers", "restarts", "duplicates", "out_of_order", "late", "lost")
        wrong = [name for name in shares if not 0 <= getattr(self.faults, name) <= 1]
        if wrong:
            raise ValueError(f"faults are shares from 0 to 1: {', '.join(wrong)}")
        if not 0 < self.noise.sample_rate <= 1:
            raise ValueError(f"sample_rate must be above 0 and at most 1: {self.noise.sample_rate}")
        if self.window_ms < 1 or not len(self.scale):
            raise ValueError("a recording needs at least one window of at least 1 ms")

    @property
    def windows(self) -> int:
        return len(self.scale)

    @property
    def records(self) -> int:
        """Records before faults."""
        return self.windows * len(self.placement)

    @property
    def window_s(self) -> float:
        return self.window_ms / 1000.0


def levels(
    most: float,
    windows: int,
    rng: np.random.Generator,
    *,
    low: float = 0.1,
    high: float = 0.9,
    hold: int = 5,
) -> FloatVector:
    """Load in steps between two shares of the largest scale, each held for some windows.

    The steps are spread evenly and shuffled, so that even a short series covers the whole range.
    """
    steps = -(-windows // hold)
    share = rng.permutation((np.arange(steps) + rng.random(steps)) / steps)
    return most * (low + (high - low) * np.repeat(share, hold)[:windows])


def random_walk(
    most: float,
    windows: int,
    rng: np.random.Generator,
    *,
    low: float = 0.1,
    high: float = 0.9,
    step: float = 0.05,
) -> FloatVector:
    """Load that wanders between two shares of the largest scale and is thrown back at the ends."""
    width = high - low
    path = rng.uniform(0.0, width) + np.cumsum(rng.normal(0.0, step, windows))
    folded = np.abs((path + width) % (2.0 * width) - width)
    return most * (low + folded)

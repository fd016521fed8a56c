"""The offered rate over time, as a factor in steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from penstock.model.arrays import FloatVector

#: A wave is drawn with so many steps.
_STEPS_OF_A_WAVE = 96


@dataclass(frozen=True, slots=True)
class Steady:
    """Always the same."""

    def steps(self, duration_s: float) -> tuple[FloatVector, FloatVector]:
        return np.array([0.0]), np.array([1.0])


@dataclass(frozen=True, slots=True)
class Steps:
    """(from this second, this factor), in order; the first begins at 0."""

    levels: tuple[tuple[float, float], ...]

    def steps(self, duration_s: float) -> tuple[FloatVector, FloatVector]:
        times, factors = zip(*self.levels, strict=True)
        return np.array(times), np.array(factors)


@dataclass(frozen=True, slots=True)
class Wave:
    """A day: lowest at the beginning of each period, highest in its middle."""

    period_s: float
    low: float
    high: float = 1.0

    def steps(self, duration_s: float) -> tuple[FloatVector, FloatVector]:
        step_s = self.period_s / _STEPS_OF_A_WAVE
        times = np.arange(0.0, max(duration_s, step_s), step_s)
        middle = 2 * np.pi * (times + step_s / 2) / self.period_s
        return times, self.low + (self.high - self.low) * (1 - np.cos(middle)) / 2


@dataclass(frozen=True, slots=True)
class Bursts:
    """Every so often, for so long, so many times as much."""

    every_s: float
    for_s: float
    factor: float

    def steps(self, duration_s: float) -> tuple[FloatVector, FloatVector]:
        begins = np.arange(self.every_s, duration_s, self.every_s)
        times = np.concatenate([[0.0], np.column_stack([begins, begins + self.for_s]).ravel()])
        factors = np.concatenate([[1.0], np.tile([self.factor, 1.0], len(begins))])
        return times, factors


Pattern: TypeAlias = Steady | Steps | Wave | Bursts


def most_steps(pattern: Pattern, duration_s: float) -> float:
    """How many steps a pattern takes at most in that time, known before they are made."""
    if isinstance(pattern, Wave):
        return _STEPS_OF_A_WAVE * (duration_s / pattern.period_s + 1)
    if isinstance(pattern, Bursts):
        return 2 * duration_s / pattern.every_s + 1
    return len(pattern.levels) if isinstance(pattern, Steps) else 1

"""Mean and percentiles of latency, tuples that are stuck included.

A stretch of time counts the tuples completed in it, and those that became due in it and are not
finished at its end, each as old as it is then. For the latter an age is the least the latency can
be (a censored observation): the median is known as long as fewer than half are stuck, and a p99
that falls among them is a lower bound. They never lower a figure: young tuples in flight are no
sign of speed, so where the completed ones alone give more, that is the figure.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isnan, nan

import numpy as np

from penstock.model.arrays import IntVector
from penstock.simulate.histogram import middles_s, percentile_s

#: Name and part of all tuples, as figures have them: ``latency_p99_ms``.
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
#: A percentile is told if so many tuples are expected beyond it.
_BEYOND = 10
#: Tuples that follow one another wait in the same queues: thousands of them in one second are
#: hardly more than one observation of what happens once in a thousand.
_LEAST_SECONDS = {"p999": 10.0}
#: More than the error of the histogram.
_NOTICEABLE = 1.02


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds; NaN where there are too few tuples to tell."""

    mean_ms: float
    p50_ms: float
    p90_ms: float
    p99_ms: float
    p999_ms: float
    #: Which of them are lower bounds: ``latency_ms`` (the mean), ``latency_p99_ms``.
    at_least: tuple[str, ...]


def tuples_needed(percentile: str) -> int:
    """How many tuples a percentile needs: 1,000 for p99."""
    return round(_BEYOND / (1.0 - PERCENTILES[percentile]))


def seconds_needed(percentile: str) -> float:
    return _LEAST_SECONDS.get(percentile, 0.0)


def is_told(percentile: str, tuples: int, seconds: float) -> bool:
    """Whether so many tuples in so much time say anything about a percentile."""
    return tuples >= tuples_needed(percentile) and seconds > seconds_needed(percentile) - 1e-9


def latency_of(
    completed: float, sum_s: float, histogram: IntVector, ages: IntVector, seconds: float
) -> Latency:
    """Of a stretch of so many seconds.

    Given the number of completed tuples, the sum of their latencies and their histogram, and how
    old all unfinished tuples are at the end, also those that were due before the stretch began.
    """
    unfinished = np.where(middles_s() <= seconds, ages, 0)
    waiting, total = int(unfinished.sum()), int(histogram.sum()) + int(unfinished.sum())
    mean_s = _or_nan(sum_s, completed)
    aged_s = _or_nan(sum_s + float(unfinished @ middles_s()), completed + waiting)
    figures = {"latency_ms": _figure(mean_s, aged_s, inf)}
    never = histogram.copy()
    never[-1] += waiting
    for name, part in PERCENTILES.items():
        figures[f"latency_{name}_ms"] = (
            _figure(*(percentile_s(h, part) for h in (histogram, histogram + unfinished, never)))
            if is_told(name, total, seconds)
            else (nan, False)
        )
    mean_ms, p50_ms, p90_ms, p99_ms, p999_ms = (1e3 * value_s for value_s, _ in figures.values())
    lower_bounds = tuple(name for name, (_, at_least) in figures.items() if at_least)
    return Latency(mean_ms, p50_ms, p90_ms, p99_ms, p999_ms, lower_bounds)


def _figure(
    completed_s: float | None, aged_s: float | None, never_s: float | None
) -> tuple[float, bool]:
    """A figure, and whether it is only a lower bound.

    Given that of the completed tuples alone; with the unfinished ones at their age; and if these
    never finished. It is known, however long they take, where the last two are the same.
    """
    if aged_s is None or never_s is None or isnan(aged_s):
        return nan, False
    if completed_s is None or isnan(completed_s):
        return aged_s, True
    raised = aged_s > _NOTICEABLE * completed_s
    return max(completed_s, aged_s), raised and never_s > _NOTICEABLE * aged_s


def _or_nan(total: float, number: float) -> float:
    return total / number if number else nan

"""Latencies in buckets: 64 to each power of two, so a percentile is 0.8 % off at most.

From a nanosecond to some days; what is outside counts in the first or the last bucket.
"""

from __future__ import annotations

import numpy as np

PARTS = 64
LOWEST, _HIGHEST = -30, 18
BUCKETS = (_HIGHEST - LOWEST) * PARTS


def middles_s() -> np.ndarray:
    """The middle of each bucket in seconds; the first stands for no time at all."""
    at = np.arange(BUCKETS)
    middle = np.ldexp(1.0 + (at % PARTS + 0.5) / PARTS, at // PARTS + LOWEST)
    middle[0] = 0.0
    return middle


def percentile_s(counts: np.ndarray, part: float) -> float | None:
    """The latency that a part of the counted tuples do not exceed; ``None`` without tuples."""
    total = int(counts.sum())
    if total == 0:
        return None
    at = int(np.searchsorted(np.cumsum(counts), part * total))
    return float(middles_s()[min(at, BUCKETS - 1)])

"""The histogram's bucket of a latency, in compiled code."""

from __future__ import annotations

import math

from penstock.simulate.compiled import compiled
from penstock.simulate.histogram import BUCKETS, LOWEST, PARTS


@compiled
def bucket(seconds):
    """The bucket of a latency."""
    if seconds <= 0.0:
        return 0
    fraction, power = math.frexp(seconds)
    at = (power - 1 - LOWEST) * PARTS + int((2.0 * fraction - 1.0) * PARTS)
    return min(max(at, 0), BUCKETS - 1)

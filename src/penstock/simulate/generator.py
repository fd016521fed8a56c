"""Random numbers inside compiled code: xoshiro256++ (Blackman, Vigna), one state per user of it.

numba's own generator is one per thread, for all who call it; here every source and every instance
has its own state, so that one seed gives one result whatever else runs.
"""

from __future__ import annotations

import math

import numpy as np

from penstock.simulate.compiled import compiled
from penstock.simulate.records import GENERATOR, Records
from penstock.simulate.tables import generator_at


def generators(seed: np.random.SeedSequence, count: int) -> Records:
    """Independent states, shape (count,)."""
    words = seed.generate_state(4 * count, np.uint64)
    return np.ascontiguousarray(words).view(GENERATOR)


@compiled
def uniform(w, row):
    """A number of at least 0 and below 1."""
    state = generator_at(w.generators, row)
    s0, s1, s2, s3 = state.s0, state.s1, state.s2, state.s3
    total = s0 + s3
    result = ((total << np.uint64(23)) | (total >> np.uint64(41))) + s0
    shifted = s1 << np.uint64(17)
    s2 ^= s0
    s3 ^= s1
    state.s1 = s1 ^ s2
    state.s0 = s0 ^ s3
    state.s2 = s2 ^ shifted
    state.s3 = (s3 << np.uint64(45)) | (s3 >> np.uint64(19))
    return float(result >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def exponential(w, row):
    """A number with mean 1."""
    return -math.log(1.0 - uniform(w, row))


@compiled
def normal(w, row):
    """A number with mean 0 and deviation 1 (Box and Muller)."""
    radius = math.sqrt(2.0 * exponential(w, row))
    return radius * math.cos(2.0 * math.pi * uniform(w, row))

"""Five kinds of work that stream components are made of, each a function that does a little of it.

They do the same on every machine, whatever its time: the same numbers by the same rule, made once
before the measurement. How many of them a second of CPU does is the machine's *fingerprint*. Only
ratios between machines mean anything, and only where Python and numpy are the same versions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

#: Does one unit of work.
Kernel: TypeAlias = Callable[[], object]

_STEPS = 20_000
#: Fits into the nearest cache of any processor.
_NEAR = 2_048
#: Eight bytes each: 64 MB, more than caches hold.
_FAR = 8_000_000
_GATHERED = 200_000
_BLOCK = bytes(range(256)) * 4
_BLOCKS = 500
_RECORDS = 100


def _integer() -> Kernel:
    """Integer arithmetic and branches, step by step, as an interpreter or a parser does them."""

    def work() -> int:
        state, taken = 12_345, 0
        for _ in range(_STEPS):
            state = (state * 1_103_515_245 + 12_345) & 0x7FFF_FFFF
            if state & 0x40:
                taken += state >> 7
        return taken

    return work


def _floating_point() -> Kernel:
    """Multiplications, additions and roots on numbers in the nearest cache."""
    values = np.linspace(0.1, 0.9, _NEAR)

    def work() -> float:
        result = values
        for _ in range(50):
            result = np.sqrt(result * values + 0.25) * 0.7 + values
        return float(result[0])

    return work


def _memory() -> Kernel:
    """Reading from far memory in no order: what look-ups in large state are."""
    places = np.random.default_rng(0).integers(0, _FAR, _GATHERED)
    values = np.arange(_FAR, dtype=np.int64)
    return lambda: int(values[places].sum())


def _hashing() -> Kernel:
    """Digests of a kilobyte each, as keys and records are hashed."""

    def work() -> bytes:
        digest = b""
        for _ in range(_BLOCKS):
            digest = hashlib.blake2b(_BLOCK + digest, digest_size=16).digest()
        return digest

    return work


def _serialising() -> Kernel:
    """Records to text and back."""
    record = {"user": "u-123456", "url": "https://example.org/a/b?c=d", "at": 1_790_000_000_000,
              "tags": ["a", "b", "c"], "score": 0.123456789}  # fmt: skip

    def work() -> int:
        return sum(len(json.loads(json.dumps(record | {"n": n}))) for n in range(_RECORDS))

    return work


#: Makes each kind of work ready, by its name.
KERNELS: Mapping[str, Callable[[], Kernel]] = {
    "integer": _integer,
    "floating_point": _floating_point,
    "memory": _memory,
    "hashing": _hashing,
    "serialising": _serialising,
}

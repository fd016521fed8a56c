"""Spark's ``xxhash64``, so that what a hash chooses is the same here and in SQL.

https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md, XXH64; a row of several values is
hashed one after the other, each with the hash so far as its seed, and 42 to begin with.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

_SEED = 42
_MASK = (1 << 64) - 1
_P1 = 0x9E3779B185EBCA87
_P2 = 0xC2B2AE3D27D4EB4F
_P3 = 0x165667B19E3779F9
_P4 = 0x85EBCA77C2B2AE63
_P5 = 0x27D4EB2F165667C5


@lru_cache(maxsize=65_536)
def hash_text(text: str, seed: int = _SEED) -> int:
    """XXH64 of a text's UTF-8."""
    data = text.encode()
    length, at = len(data), 0
    if length >= 32:
        lanes = [seed + _P1 + _P2, seed + _P2, seed, seed - _P1]
        lanes = [lane & _MASK for lane in lanes]
        while at <= length - 32:
            for n in range(4):
                word = int.from_bytes(data[at + 8 * n : at + 8 * n + 8], "little")
                lanes[n] = _rotated((lanes[n] + word * _P2) & _MASK, 31) * _P1 & _MASK
            at += 32
        value = sum(_rotated(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True))
        for lane in lanes:
            value = ((value & _MASK) ^ (_rotated(lane * _P2 & _MASK, 31) * _P1 & _MASK)) * _P1 + _P4
    else:
        value = seed + _P5
    value = (value + length) & _MASK
    while at <= length - 8:
        word = int.from_bytes(data[at : at + 8], "little")
        value ^= _rotated(word * _P2 & _MASK, 31) * _P1 & _MASK
        value = (_rotated(value, 27) * _P1 + _P4) & _MASK
        at += 8
    if at <= length - 4:
        value ^= int.from_bytes(data[at : at + 4], "little") * _P1 & _MASK
        value = (_rotated(value, 23) * _P2 + _P3) & _MASK
        at += 4
    for byte in data[at:]:
        value = _rotated(value ^ (byte * _P5 & _MASK), 11) * _P1 & _MASK
    value = (value ^ (value >> 33)) * _P2 & _MASK
    value = (value ^ (value >> 29)) * _P3 & _MASK
    return value ^ (value >> 32)


def hash_whole(numbers: NDArray[np.int64], seeds: Hashes) -> Hashes:
    """XXH64 of whole numbers, each with the hash so far as its seed."""
    words = numbers.astype(np.uint64) * np.uint64(_P2)
    value = seeds + np.uint64((_P5 + 8) & _MASK)
    value = value ^ (_rotated(words, 31) * np.uint64(_P1))
    return _mixed(_rotated(value, 27) * np.uint64(_P1) + np.uint64(_P4))


def _mixed(value: Hashes) -> Hashes:
    value = (value ^ (value >> np.uint64(33))) * np.uint64(_P2)
    value = (value ^ (value >> np.uint64(29))) * np.uint64(_P3)
    return value ^ (value >> np.uint64(32))


def _rotated(value: Any, by: int) -> Any:
    if isinstance(value, int):
        return ((value << by) | (value >> (64 - by))) & _MASK
    return (value << np.uint64(by)) | (value >> np.uint64(64 - by))


def places(hashes: Hashes, buckets: int) -> NDArray[np.int64]:
    """Which bucket each hash falls into; hashes are signed in SQL."""
    return np.asarray(np.mod(hashes.view(np.int64), buckets))

"""Spark's hash of a whole number, to know beforehand which partition a key goes to.

Murmur3 (x86, 32 bit, seed 42) over the four bytes of the number, as ``hash()`` of Spark SQL has it.
Only how evenly slots are dealt depends on it, not what is computed.
"""

from __future__ import annotations

_MASK = 0xFFFFFFFF
_SEED = 42


def hash_of_int(value: int) -> int:
    """``hash(value)`` of Spark SQL for an int, as a signed number of 32 bits."""
    mixed = (value & _MASK) * 0xCC9E2D51 & _MASK
    mixed = _rotated(mixed, 15) * 0x1B873593 & _MASK
    mix = _rotated(_SEED ^ mixed, 13) * 5 + 0xE6546B64 & _MASK
    mix ^= 4  # the length in bytes
    mix = (mix ^ mix >> 16) * 0x85EBCA6B & _MASK
    mix = (mix ^ mix >> 13) * 0xC2B2AE35 & _MASK
    mix ^= mix >> 16
    return mix - (1 << 32) if mix & 0x80000000 else mix


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> 32 - bits) & _MASK

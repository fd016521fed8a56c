"""Floating-point operations per cycle of one core, from the flags of its processor.

Double precision, a fused multiply-add counted as two. What flags do not tell is how many units a
core has: two of 128 or 256 bits are usual since Sandy Bridge, Zen and Neoverse N1. A second unit of
512 bits is not: server processors have it, many others not. So AVX-512 counts as two units of 256
bits or one of 512, which is the same. The thesis takes the figure from data sheets; where yours has
another, write it into the metadata or the cluster file, which go before what is measured.
"""

from __future__ import annotations

from collections.abc import Collection

#: Flags that all must be there, and what a core then does per cycle; the first that fits counts.
_BY_FLAGS: tuple[tuple[frozenset[str], float], ...] = (
    # 8 doubles x 2 (multiply-add) x 1 unit
    (frozenset({"avx512f"}), 16.0),
    # 4 doubles x 2 (multiply-add) x 2 units
    (frozenset({"avx2", "fma"}), 16.0),
    # Bulldozer: 4 doubles x 2 (multiply-add), one unit shared by two cores counted to both
    (frozenset({"avx", "fma4"}), 8.0),
    # 4 doubles x (one multiplication and one addition)
    (frozenset({"avx"}), 8.0),
    # 2 doubles x (one multiplication and one addition)
    (frozenset({"sse2"}), 4.0),
    # ARM with 128 bits: 2 doubles x 2 (multiply-add) x 2 units
    (frozenset({"asimd"}), 8.0),
)


def flops_per_cycle(flags: Collection[str]) -> float | None:
    """``None`` for processors whose flags we know nothing of."""
    there = set(flags)
    return next((flops for needed, flops in _BY_FLAGS if needed <= there), None)

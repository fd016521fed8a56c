"""Can machines hold exactly these instances? Every way is tried, many at once.

The count vectors that the first m machines can hold together are the bits of one long integer:
another machine shifts it by each of its fillings and joins the results. Machines of a kind are
interchangeable, so their order does not matter and none is tried twice.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.model.arrays import IntMatrix, IntVector


def pack_counts(
    fitting: Sequence[IntMatrix], counts: IntVector, machines: IntVector
) -> list[IntVector] | None:
    """A filling for every machine, kinds one after the other, that together hold these counts.

    ``fitting[k]`` are the fillings of a machine of kind k, none with more than the counts;
    ``None`` if there is no way.
    """
    # Twice the range per component, so that a shift never carries into the next one.
    strides = _strides(2 * counts + 1)
    target = int(counts @ strides)
    valid = _box_bits(counts, strides)
    by_kind = [[int(code) for code in rows @ strides] for rows in fitting]
    kinds = [k for k, number in enumerate(machines.tolist()) for _ in range(number)]
    reached = [1]  # before the first machine, nothing is held
    for kind in kinds[:-1]:
        before, after = reached[-1], 0
        for code in by_kind[kind]:
            after |= before << code
        reached.append(after & valid)
        if reached[-1] >> target & 1:
            break
    chosen: list[IntVector] = []
    left = target
    # Walk back: which filling of the last machine leaves what the others can hold?
    for position in range(len(kinds) - 1, -1, -1):
        if position >= len(reached):
            chosen.append(np.zeros(len(counts), dtype=np.int64))  # not needed any more
            continue
        kind = kinds[position]
        for code, filling in zip(by_kind[kind], fitting[kind], strict=True):
            if code <= left and reached[position] >> (left - code) & 1:
                chosen.append(filling)
                left -= code
                break
        else:
            return None
    return chosen[::-1]


def packing_effort(rows: float, counts: IntVector, machines: float) -> float:
    """Work of packing these counts, about the number of shifts times their length."""
    words = float(np.prod(2.0 * counts + 1.0)) / 64
    return rows * machines * (1.0 + words / 256)


def _strides(sizes: IntVector) -> NDArray[np.object_]:
    """Place values of a number system with these digits; Python integers, they may be huge."""
    strides = [1]
    for size in sizes.tolist()[:-1]:
        strides.append(strides[-1] * size)
    return np.array(strides, dtype=object)


def _box_bits(counts: IntVector, strides: NDArray[np.object_]) -> int:
    """The bits of all vectors that are at most ``counts`` in every component."""
    bits = 1
    for count, stride in zip(counts.tolist(), strides.tolist(), strict=True):
        bits = sum(bits << (n * stride) for n in range(count + 1))
    return bits

"""Unbounded knapsacks over a grid of cells, for the patterns that prices ask for."""

from __future__ import annotations

import numpy as np

from penstock.model.arrays import BoolVector, FloatMatrix, IntMatrix


def fill(cells: IntMatrix, value: FloatMatrix, size: int) -> IntMatrix:
    """Unbounded knapsacks of ``size`` cells, one per row: how many of each item."""
    chosen = np.zeros(cells.shape, dtype=np.int64)
    for row in range(len(cells)):
        best = np.zeros(size + 1)
        steps: list[tuple[int, int, BoolVector]] = []
        for item, (width, worth) in enumerate(zip(cells[row].tolist(), value[row], strict=True)):
            copies = 1
            # 1, 2, 4, ... copies: any number of them is a sum of some.
            while worth > 0 and copies * width <= size:
                offered = best[: -copies * width] + copies * worth
                better = offered > best[copies * width :]
                best[copies * width :][better] = offered[better]
                steps.append((item, copies, better))
                copies *= 2
        at = size
        for item, copies, better in reversed(steps):
            width = copies * int(cells[row, item])
            if at >= width and better[at - width]:
                chosen[row, item] += copies
                at -= width
    return chosen

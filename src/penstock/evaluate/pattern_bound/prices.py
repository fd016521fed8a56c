"""Prices of input that prove most: the configuration programme, solved by column generation.

A small revised simplex of our own: the programme has a row for each component and each kind of
machine, a few columns, and is solved anew tens of times a box, which a general solver's start-up
would dominate. Whatever it returns is only a proposal: prices are proved by pricing all fillings.
"""

from __future__ import annotations

import numpy as np

from penstock.model.arrays import FloatMatrix, FloatVector, IntVector

#: Input is asked for this unevenly much more, against endless degenerate steps.
_PERTURBED = 1e-10
_TOLERANCE = 1e-11
_MOST_STEPS = 400
_ROOM = 64


class FillingProgramme:
    """max theta: fillings times machines take in theta times all input. Columns are added."""

    def __init__(self, needed: FloatVector, machines: FloatVector) -> None:
        self.needed, self.machines = needed, machines
        inputs, kinds = len(needed), len(machines)
        self.rows = inputs + kinds
        self._inputs = inputs
        spread = _PERTURBED * (1.0 + np.arange(inputs) / inputs)
        self._right = np.concatenate([needed * spread, machines])
        # Columns: theta, a slack for each row, then fillings.
        self._columns = np.zeros((self.rows, 1 + self.rows + _ROOM))
        self._columns[:inputs, 0] = needed
        self._columns[:, 1 : 1 + self.rows] = np.eye(self.rows)
        self._number = 1 + self.rows
        self._basis = 1 + np.arange(self.rows)
        self._inverse = np.eye(self.rows)

    def add(self, inputs: FloatMatrix, kinds: IntVector) -> None:
        """Fillings of machines of these kinds, with their input, shape (columns, inputs)."""
        start, end = self._number, self._number + len(kinds)
        if end > self._columns.shape[1]:
            self._columns = np.hstack([self._columns, np.zeros((self.rows, end + _ROOM))])
        self._columns[: self._inputs, start:end] = -inputs.T
        self._columns[self._inputs + kinds, np.arange(start, end)] = 1.0
        self._number = end

    def solve(self) -> tuple[float, FloatVector]:
        """Theta and the prices of input, which add up to 1 over all input."""
        columns = self._columns[:, : self._number]
        prices = np.zeros(self.rows)
        for step in range(_MOST_STEPS):
            at = self._basis == 0
            prices = self._inverse[at].sum(axis=0)
            gain = -(prices @ columns)
            gain[0] += 1.0
            entering = int(gain.argmax()) if step < _MOST_STEPS // 2 else _first(gain)
            if entering < 0 or gain[entering] <= _TOLERANCE:
                break
            if not self._enter(entering, columns[:, entering]):
                break
        values = self._inverse @ self._right
        theta = float(values[self._basis == 0].sum())
        return theta, np.maximum(prices[: self._inputs], 0.0)

    def in_use(self) -> tuple[IntVector, FloatVector]:
        """Fillings of the solution by the order they were added in, and machines of each."""
        values = self._inverse @ self._right
        number = self._basis - 1 - self.rows
        used = (number >= 0) & (values > _TOLERANCE)
        return number[used], values[used]

    def _enter(self, entering: int, column: FloatVector) -> bool:
        direction = self._inverse @ column
        values = np.maximum(self._inverse @ self._right, 0.0)
        can = direction > _TOLERANCE
        if not can.any():
            return False
        ratio = np.divide(values, direction, out=np.full(self.rows, np.inf), where=can)
        least = ratio.min()
        # Of equals the largest pivot, for the sake of rounding.
        ties = ratio <= least * (1 + 1e-9) + 1e-15
        leaving = int(np.where(ties, direction, -1.0).argmax())
        pivot = self._inverse[leaving] / direction[leaving]
        self._inverse = self._inverse - direction[:, None] * pivot
        self._inverse[leaving] = pivot
        self._basis[leaving] = entering
        return True


def _first(gain: FloatVector) -> int:
    """Bland's rule, which ends where the steepest step may go round in circles."""
    positive = np.flatnonzero(gain > _TOLERANCE)
    return int(positive[0]) if len(positive) else -1

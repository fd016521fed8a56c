"""Array types and the one way values become read-only."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

FloatVector = NDArray[np.float64]
FloatMatrix = NDArray[np.float64]
IntVector = NDArray[np.int64]
IntMatrix = NDArray[np.int64]
BoolVector = NDArray[np.bool_]
BoolMatrix = NDArray[np.bool_]

_A = TypeVar("_A", bound=NDArray[np.generic])


def frozen(array: _A) -> _A:
    """The same array, made read-only: what a model value holds never changes under its users."""
    array.setflags(write=False)
    return array


def scaled(values: FloatVector, scale: float) -> FloatVector:
    """``values * scale``, where nothing stays nothing however large the scale is."""
    return np.multiply(values, scale, out=np.zeros_like(values), where=values != 0)


def sum_by(index: IntVector, values: FloatVector, size: int) -> FloatVector:
    """Sum of the values with each index 0 .. size-1, shape (size,)."""
    return np.asarray(np.bincount(index, weights=values, minlength=size), dtype=np.float64)

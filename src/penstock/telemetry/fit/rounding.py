"""Figures of a profile as they are given."""

from __future__ import annotations

import numpy as np

#: The order in which Spark adds up shows in the sixteenth digit; nine are the same in every run.
_DIGITS = 9


def rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def finite(value: float | None) -> float | None:
    """Rounded, or nothing where there is no figure."""
    return None if value is None or not np.isfinite(value) else rounded(value)

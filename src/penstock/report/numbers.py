"""Numbers as people read them."""

from __future__ import annotations

import math

UNKNOWN = "–"


def rate(value: float | None) -> str:
    """Tuples per second: four figures, thousands separated."""
    if value is None:
        return UNKNOWN
    if math.isinf(value):
        return "unlimited"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def percent(value: float | None, digits: int = 1) -> str:
    return UNKNOWN if value is None else f"{100 * value:.{digits}f} %"


def seconds(value: float) -> str:
    if value < 1:
        return f"{1000 * value:.3g} ms"
    return f"{value:.3g} s"


def plain(value: float | None, digits: int = 4) -> str:
    return UNKNOWN if value is None else f"{value:.{digits}g}"


def counted(count: int, what: str) -> str:
    """``1 process``, ``12 processes``, ``2 topologies``."""
    if count == 1:
        return f"1 {what}"
    if what.endswith("logy"):
        return f"{count:,} {what[:-1]}ies"
    return f"{count:,} {what}{'es' if what.endswith('s') else 's'}"

"""Numbers as people read them."""

from __future__ import annotations

import math

from penstock.errors import quantity

UNKNOWN = "–"


def rate(value: float | None) -> str:
    """Tuples per second: four figures, thousands separated."""
    return "unlimited" if value is not None and math.isinf(value) else plain(value)


def percent(value: float | None, digits: int = 1) -> str:
    return UNKNOWN if value is None else f"{100 * value:z.{digits}f} %"


def seconds(value: float) -> str:
    if value < 1:
        return f"{1000 * value:.3g} ms"
    return f"{value:.3g} s"


def plain(value: float | None, digits: int = 4) -> str:
    """Any other quantity: so many figures, thousands separated."""
    return UNKNOWN if value is None else quantity(value, digits)


def count(value: int) -> str:
    """How many: thousands separated."""
    return f"{value:,}"


def points(value: float) -> str:
    """CPU points: one digit after the point."""
    return f"{value:,.1f}"


def counted(number: int, what: str) -> str:
    """``1 process``, ``12 processes``, ``2 topologies``."""
    if number == 1:
        return f"1 {what}"
    if what.endswith("logy"):
        return f"{number:,} {what[:-1]}ies"
    return f"{number:,} {what}{'es' if what.endswith(('s', 'ch')) else 's'}"

"""How a number reads, the same in every view for people."""

from __future__ import annotations

import math

from penstock.planning.numbers import UNKNOWN, plain, rate
from penstock.report.page.document import (
    MARKS,
    MEANINGS,
    Document,
    Number,
    Paragraph,
    Source,
    Tag,
    TypedCell,
)


def shown(number: Number, *, with_unit: bool) -> str:
    """The value with its spread and the mark of its source; the unit unless a heading has it."""
    if number.value is None:
        return UNKNOWN
    text = amount(number.value, number.unit, number.digits)
    if number.signed and number.value >= 0:
        text = f"+{text}"
    if number.low is not None and number.high is not None:
        low, high = (amount(end, number.unit, number.digits) for end in (number.low, number.high))
        text += f" ({low} to {high})" if low != high else ""
    if number.margin is not None and math.isfinite(number.margin):
        text += f" ± {_margin(number.margin)}"
    if with_unit and number.unit:
        text += f" {number.unit}"
    return text + MARKS[number.source]


def amount(value: float | int, unit: str = "", digits: int | None = None) -> str:
    """Counts in full, percent with a decimal, everything else with four figures."""
    if isinstance(value, int):
        return f"{value:,}"
    if not math.isfinite(value):
        return UNKNOWN if math.isnan(value) else "unlimited" if value > 0 else "-unlimited"
    if digits is not None:
        return f"{value:z,.{digits}f}"  # z: next to nothing below zero is 0.0, not -0.0
    if value < 0:
        return f"-{amount(-value, unit)}"
    if unit == "%":
        return f"{value:.1f}" if value >= 0.05 or value == 0 else f"{value:.1g}"
    return rate(value)


def _margin(width: float) -> str:
    """Of an uncertainty two figures say enough."""
    return f"{width:,.0f}" if width >= 10 else plain(width, 2)


def legend(page: Document) -> str:
    """What the marks mean; empty where there are none."""
    marks = [f"{MARKS[s]} {MEANINGS[s]}" for s in page.sources if s is not Source.RUN]
    rest = f"all other numbers are {MEANINGS[Source.RUN]}"
    return "; ".join([*marks, rest]) + "." if marks else ""


def words(paragraph: Paragraph) -> str:
    """A paragraph as plain text."""
    return "".join(part_text(part) for part in paragraph.parts)


def cell_text(cell: TypedCell) -> str:
    """A cell under a heading that has the unit."""
    return shown(cell, with_unit=False) if isinstance(cell, Number) else part_text(cell)


def part_text(part: TypedCell) -> str:
    if isinstance(part, Paragraph):
        return words(part)
    if isinstance(part, Number):
        return shown(part, with_unit=True)
    return part.text if isinstance(part, Tag) else part

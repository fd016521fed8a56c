"""How values are written on the command line: fractions and lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from penstock.errors import InputError


def fraction_of(option: str) -> Callable[[str], float]:
    """Reads ``20%`` and ``0.2`` alike for an option; ``20`` might be a slip and is refused."""

    def fraction(text: str) -> float:
        number, percent, rest = text.strip().partition("%")
        try:
            value = float(number) / (100 if percent else 1)
        except ValueError:
            value = float("nan")
        if not rest and 0 <= value < 1:
            return value
        if not percent and 1 <= value < 100:
            raise InputError(f"{option} {text}: write {text}% or {value / 100:g}")
        raise InputError(f'{option} takes a part of all, as in 20% or 0.2, not "{text}"')

    return fraction


def listed(texts: Iterable[str] | None) -> list[str]:
    """``-x a,b -x c`` and ``-x a -x b -x c`` are the same."""
    return [part.strip() for text in texts or () for part in text.split(",") if part.strip()]

"""Penstock plans how many instances of each streaming component run on which machine."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

#: The Python interface, loaded on first use so that ``import penstock`` costs nothing.
_PUBLIC = (
    "Comparison",
    "Planned",
    "compare",
    "load",
    "load_curve",
    "plan",
    "problem",
    "profile",
    "simulate",
)

if TYPE_CHECKING:
    from penstock.app import (
        Comparison,
        Planned,
        compare,
        load,
        load_curve,
        plan,
        problem,
        profile,
        simulate,
    )

__all__ = [
    "Comparison",
    "Planned",
    "__version__",
    "compare",
    "load",
    "load_curve",
    "plan",
    "problem",
    "profile",
    "simulate",
]


def __getattr__(name: str) -> object:
    if name in _PUBLIC:
        return getattr(import_module("penstock.app"), name)
    raise AttributeError(f"module 'penstock' has no attribute {name!r}")

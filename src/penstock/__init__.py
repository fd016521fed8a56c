"""Penstock plans how many instances of each streaming component run on which machine."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

#: The Python interface, loaded on first use so that ``import penstock`` costs nothing.
_API = ("Comparison", "Planned", "compare", "load", "plan", "problem")

if TYPE_CHECKING:
    from penstock.api import Comparison, Planned, compare, load, plan, problem

__all__ = ["Comparison", "Planned", "__version__", "compare", "load", "plan", "problem"]


def __getattr__(name: str) -> object:
    if name in _API:
        return getattr(import_module("penstock.api"), name)
    raise AttributeError(f"module 'penstock' has no attribute {name!r}")

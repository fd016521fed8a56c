"""Penstock plans how many instances of each streaming component run on which machine.

What is exposed here is the Python interface: one function per verb, with a typed result. See
:mod:`penstock.app`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from penstock import app as _app

if TYPE_CHECKING:
    from penstock.app import *  # noqa: F403

__version__ = "0.1.0"
if not TYPE_CHECKING:
    __all__ = ["__version__", *_app.NAMES]  # noqa: PLE0604

# ``penstock.simulate`` is the function. The package of that name would take its place whenever it
# is first loaded, so that is now.
import_module("penstock.simulate")
del globals()["simulate"]


def __getattr__(name: str) -> object:
    """What :mod:`penstock.app` offers, loaded on first use: ``import penstock`` costs nothing."""
    if name not in _app.NAMES:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    globals()[name] = value = getattr(_app, name)
    return value


def __dir__() -> list[str]:
    return [*globals(), *_app.NAMES]

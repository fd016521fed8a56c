"""How the engine's functions are compiled, and where the result is kept.

numba notices a change in the file of a compiled function, but not in the files of those it calls.
So everything compiled from one state of this room is kept in one folder, named by a hash of it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from penstock.errors import InputError
from penstock.system.private_folder import cache_folder, tampering_risk

_F = TypeVar("_F", bound=Callable[..., Any])


def has_numba() -> bool:
    return find_spec("numba") is not None


def require_numba() -> None:
    """An error that says how to get it, where numba is missing."""
    if not has_numba():
        raise InputError("numba is not installed: pip install 'penstock[simulate]'")


def compiled(function: _F) -> _F:
    """The function as machine code; compiled at its first call, then kept for later processes."""
    require_numba()
    from numba import config, njit

    # LLVM leaves calls between the small functions of an event; inlined, an event costs a quarter
    # less. That no function calls itself makes it possible.
    settings: dict[str, Any] = {"error_model": "numpy", "nogil": True, "forceinline": True}
    # numba makes its settings as it starts, out of sight of type checkers.
    settings_of_numba: Any = config
    before = settings_of_numba.CACHE_DIR
    # numba runs what it finds there.
    if not before and tampering_risk(_folder()):
        without: _F = njit(**settings)(function)
        return without
    # Only while numba looks for a place; what others compile is none of our business.
    settings_of_numba.CACHE_DIR = before or str(_folder())
    try:
        machine_code: _F = njit(cache=True, **settings)(_with_a_source(function))
    except (RuntimeError, OSError):  # no place to write to: compiled anew in every process
        machine_code = njit(**settings)(function)
    finally:
        settings_of_numba.CACHE_DIR = before
    return machine_code


def _with_a_source(function: _F) -> _F:
    """The function as it is, or with a copy of its source for numba to look at.

    On a Spark executor our code is in an archive, under another name in every session. numba keeps
    what it compiles by the source file's name, age and size.
    """
    origin = Path(function.__code__.co_filename)
    if not origin.is_file():
        copy = _folder() / "sources" / origin.name
        if not copy.is_file():
            source = (resources.files(__package__) / origin.name).read_bytes()
            copy.parent.mkdir(parents=True, exist_ok=True)
            draft = copy.with_name(f"{origin.name}.{os.getpid()}")
            draft.write_bytes(source)
            draft.replace(copy)
        function.__code__ = function.__code__.replace(co_filename=str(copy))
    return function


def is_compiled() -> bool:
    """Whether an earlier process has left the compiled loop, so that starting is quick."""
    return any(_folder().rglob("*.nbc"))


@cache
def _folder() -> Path:
    digest = hashlib.sha256()
    room = resources.files(__package__)
    for source in sorted(room.iterdir(), key=lambda file: file.name):
        if source.name.endswith(".py"):
            digest.update(source.read_bytes())
    return cache_folder() / f"compiled-{digest.hexdigest()[:16]}"

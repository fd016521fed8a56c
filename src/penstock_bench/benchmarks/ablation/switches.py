"""Parts of the scheduler switched off and constants changed, from outside and for a while.

The scheduler knows nothing of it: for the length of a ``with`` another value stands where a name is
looked up. So a part needs no flag, and what is measured is the code that people run.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from types import CodeType, FrameType, ModuleType
from typing import Any

import penstock.schedulers.penstock as package

_PACKAGE = package.__name__
#: Work that no clock and no busy machine changes: programmes solved, their simplex iterations or
#: nodes, plans evaluated in full.
_COUNTED = ("linprog", "solve_whole", "capacity")


@dataclass
class Work:
    """What a plan took."""

    programmes: int = 0
    iterations: int = 0
    evaluations: int = 0

    @property
    def total(self) -> float:
        """One figure: a programme costs about as much as forty iterations or ten evaluations."""
        return self.programmes + self.iterations / 40 + self.evaluations / 10


@dataclass(frozen=True)
class Switch:
    """A part, the name under which it is called, and what stands in its place when it is off."""

    name: str
    #: ``module:name`` or ``module:Class.name``, below the scheduler's package.
    target: str
    instead: Any = field(compare=False)

    @property
    def modules(self) -> str:
        return self.target.partition(":")[0]


def every_module() -> list[ModuleType]:
    """All modules of the scheduler, loaded."""
    modules = [package]
    for info in pkgutil.walk_packages(package.__path__, f"{_PACKAGE}."):
        modules.append(importlib.import_module(info.name))
    return modules


def resolved(target: str) -> tuple[Any, str]:
    """The object that holds a name, and the name."""
    module, _, path = target.partition(":")
    owner: Any = importlib.import_module(f"{_PACKAGE}.{module}")
    *outer, name = path.split(".")
    for step in outer:
        owner = getattr(owner, step)
    getattr(owner, name)  # there must be something to replace
    return owner, name


@contextmanager
def replaced(target: str, value: Any) -> Iterator[None]:
    owner, name = resolved(target)
    with _put(owner, name, value):
        yield


@contextmanager
def _put(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = owner.__dict__[name] if isinstance(owner, type) else getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextmanager
def constant(module: str, name: str, value: Any) -> Iterator[None]:
    """Another value of a constant, also where other modules imported it."""
    before = getattr(importlib.import_module(f"{_PACKAGE}.{module}"), name)
    with ExitStack() as stack:
        for one in every_module():
            if getattr(one, name, None) is before:
                stack.enter_context(_put(one, name, value))
        yield


@contextmanager
def counted() -> Iterator[Work]:
    """Count the work of what runs meanwhile."""
    work = Work()
    with ExitStack() as stack:
        for module in every_module():
            for name in _COUNTED:
                if hasattr(module, name):
                    solver = getattr(module, name)
                    stack.enter_context(_put(module, name, _counting(solver, name, work)))
        yield work


def _counting(call: Callable[..., Any], name: str, work: Work) -> Callable[..., Any]:
    @wraps(call)
    def counting(*arguments: Any, **options: Any) -> Any:
        result = call(*arguments, **options)
        if name == "capacity":
            work.evaluations += 1
        else:
            work.programmes += 1
            done = getattr(result, "nit", None) or getattr(result, "mip_node_count", None)
            work.iterations += int(done or 0)
        return result

    return counting


@contextmanager
def reached() -> Iterator[set[tuple[str, str]]]:
    """The functions of the scheduler that run meanwhile, as (module, qualified name)."""
    functions: set[tuple[str, str]] = set()
    codes: set[CodeType] = set()

    def watch(frame: FrameType, _event: str, _argument: Any) -> None:
        # For every call of the programme, so it does as little as can be.
        codes.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        yield functions
    finally:
        sys.setprofile(before)
        modules = {module.__file__: module.__name__ for module in every_module()}
        functions |= {
            (modules[code.co_filename].partition(_PACKAGE)[2].lstrip("."), code.co_qualname)
            for code in codes
            if code.co_filename in modules
        }

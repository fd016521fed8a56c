"""The constants that tune the scheduler, and other values of them to try.

They are read off its source: whatever number stands at the top of one of its modules under a name
in capitals. So a constant that somebody adds is tried from the next run on.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from math import isclose
from types import ModuleType
from typing import Any

from penstock_bench.benchmarks.ablation.switches import every_module

#: This near to 0 or 1, or this large, a constant keeps rounding out or stands for "any".
_ROUNDING, _ANY = 1e-5, 1e9


@dataclass(frozen=True)
class Constant:
    """A number, or several of them, at the top of a module of the scheduler."""

    module: str
    name: str
    value: Any

    @property
    def title(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def numbers(self) -> int:
        """How many numbers there are to choose."""
        return len(_flat(self.value))

    def others(self) -> Iterator[tuple[str, Any]]:
        """Half and twice as much; of several values the first alone."""
        if isinstance(self.value, tuple):
            if len(self.value) > 1:
                yield "only the first", self.value[:1]
            return
        for title, factor in (("half", 0.5), ("twice", 2.0)):
            other = _scaled(self.value, factor)
            if other != self.value:
                yield title, other


def tuning_constants() -> list[Constant]:
    """All of them, by module and in the order of its source."""
    return [one for module in every_module() for one in _constants_of(module)]


def _constants_of(module: ModuleType) -> Iterator[Constant]:
    short = module.__name__.partition("schedulers.penstock")[2].lstrip(".")
    for node in ast.parse(inspect.getsource(module)).body:
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = list(node.targets)
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        for name in (n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)):
            value = getattr(module, name, None)
            if name.upper() == name and _tunes(value):
                yield Constant(short, name, value)


def _tunes(value: Any) -> bool:
    """Numbers that are not all there to keep rounding out."""
    flat = _flat(value)
    return bool(flat) and not all(_keeps_rounding_out(number) for number in flat)


def _keeps_rounding_out(number: float) -> bool:
    near = isclose(number, 1.0, abs_tol=_ROUNDING, rel_tol=0.0)
    return near or abs(number) <= _ROUNDING or abs(number) >= _ANY


def _flat(value: Any) -> list[float]:
    """The numbers in a value; none where anything else is in it."""
    if isinstance(value, bool) or not isinstance(value, (int, float, tuple)):
        return []
    if not isinstance(value, tuple):
        return [value]
    parts = [_flat(one) for one in value]
    return [number for part in parts for number in part] if all(parts) else []


def _scaled(value: float, factor: float) -> float:
    if isinstance(value, int):
        return max(1, round(value * factor))
    # A part of the whole that is nearly 1 is meant as what it leaves.
    return 1.0 + (value - 1.0) * factor if 0.8 < value < 1.2 else value * factor

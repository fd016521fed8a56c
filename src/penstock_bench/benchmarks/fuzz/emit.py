"""Values as text that a careful writer would never write: keys twice, anchors, numbers of any size.

JSON in flow style is YAML too, so one writer serves both, but for NaN and infinity.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Raw:
    """Written as it is: ``1e999``, ``*alias``."""

    text: str


class Pairs(list[tuple[Any, Any]]):
    """A mapping in which a key may be there twice."""


def emit(value: Any, *, yaml: bool) -> str:
    """One value a line, so that messages can name the line."""
    return _text(value, 0, yaml) + "\n"


def _text(value: Any, depth: int, yaml: bool) -> str:
    if isinstance(value, Raw):
        return value.text
    if isinstance(value, (dict, Pairs)):
        pairs = value.items() if isinstance(value, dict) else value
        lines = [f"{_key(k, yaml)}: {_text(v, depth + 1, yaml)}" for k, v in pairs]
        return _block("{", lines, "}", depth)
    if isinstance(value, list):
        return _block("[", [_text(v, depth + 1, yaml) for v in value], "]", depth)
    if yaml and isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else f"{'-' * (value < 0)}.inf"
    return json.dumps(value, ensure_ascii=False, default=str)


def _key(key: Any, yaml: bool) -> str:
    return json.dumps(key) if isinstance(key, str) or not yaml else _text(key, 0, yaml)


def _block(opening: str, lines: list[str], closing: str, depth: int) -> str:
    if not lines:
        return opening + closing
    pad = "\n" + " " * min(depth + 1, 40)
    return opening + pad + f",{pad}".join(lines) + "\n" + " " * min(depth, 40) + closing

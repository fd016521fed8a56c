"""For measurements that take minutes: said as they go, and made once."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from penstock.errors import PenstockError

_P = ParamSpec("_P")
_R = TypeVar("_R")


def say(text: str) -> None:
    sys.stderr.write(f"  {text}\n")
    sys.stderr.flush()


def made_once(measure: Callable[_P, _R]) -> Callable[_P, _R]:
    """What it found, or why it failed, is kept: a failure that took minutes is not tried again."""

    results: dict[str, _R | PenstockError] = {}

    @wraps(measure)
    def found(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        asked = repr((args, kwargs))
        if asked not in results:
            try:
                results[asked] = measure(*args, **kwargs)
            except PenstockError as error:
                results[asked] = error
        answer = results[asked]
        if isinstance(answer, PenstockError):
            raise answer
        return answer

    return found

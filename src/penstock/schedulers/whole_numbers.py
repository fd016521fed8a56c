"""HiGHS for mixed-integer programmes, kept from writing where results go.

Some releases print a line of their own debugging on the C library's stdout when they repair a
solution; in ``penstock plan --json`` it would stand in front of the plan.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from scipy.optimize import milp

_ONE_AT_A_TIME = threading.Lock()


def solve_whole(*arguments: Any, **options: Any) -> Any:
    """:func:`scipy.optimize.milp`, silent."""
    # One at a time: each puts back what it found, which must not be another's silence.
    with _ONE_AT_A_TIME, _silent_stdout():
        return milp(*arguments, **options)


@contextmanager
def _silent_stdout() -> Iterator[None]:
    sys.stdout.flush()
    try:
        stdout_copy = os.dup(1)
    except OSError:  # closed by the caller: nothing can be written there
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        # What C holds back would come out after stdout is back.
        ctypes.CDLL(None).fflush(None)
        os.dup2(stdout_copy, 1)
        os.close(nowhere)
        os.close(stdout_copy)

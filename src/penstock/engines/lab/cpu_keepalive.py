"""Work for a computer that would otherwise stand idle between the pieces of what is measured.

A core that sleeps and wakes is cold and takes more CPU for the same work. At a low rate cores sleep
between tuples, in a flood they do not, and costs measured at the one say little about the other. It
takes something that keeps the cores awake, and steps aside at once for everybody else.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

#: Runs only where nothing else wants to, and ends with whoever started it, even if that is killed.
_SPIN = """
import os
starter = os.getppid()
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
while os.getppid() == starter:
    for _ in range(1_000_000):
        pass
"""


@contextmanager
def cpu_keepalive() -> Iterator[None]:
    """Every core has something to do while the block runs; nothing where that is unknown."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "SCHED_IDLE") else []
    spinning = [subprocess.Popen([sys.executable, "-P", "-S", "-c", _SPIN]) for _ in cores]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()

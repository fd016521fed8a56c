"""Is the machine idle enough to hold seconds against a goal?

A loop of known length on every core at once: where others use the cores too, it gets only a part of
them, and seconds measured beside it say more of the neighbours than of the code. Run as a program,
it prints the seconds of one loop and the CPU seconds that it got. Nothing of this package is
imported here, so that the program starts at once.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass

#: Additions of one loop: about 100 ms on an idle core of today.
_ADDITIONS = 2_000_000
#: Loops of one look, for a share that does not hang on one tick of the clock.
_ROUNDS = 5
#: Whoever gets less of the cores than this shares them.
LEAST_SHARE = 0.9


@dataclass(frozen=True)
class ReferenceLoop:
    """One look at the machine."""

    #: Mean over the cores.
    seconds: float
    #: Part of a core that each loop got, on average.
    share: float

    @property
    def is_idle(self) -> bool:
        return self.share >= LEAST_SHARE

    def __str__(self) -> str:
        share = f"{100 * self.share:.0f} % of a core"
        return f"reference loop {1e3 * self.seconds:.0f} ms, with {share}"


def loop_seconds() -> float:
    """One loop on this core."""
    began, total = time.perf_counter(), 0.0
    for i in range(_ADDITIONS):
        total += i * 0.5
    return time.perf_counter() - began


def look() -> ReferenceLoop:
    """On every core that this process may use."""
    program = [sys.executable, "-I", __file__]
    running = [
        subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
        for _ in os.sched_getaffinity(0)
    ]
    figures = [tuple(map(float, process.communicate()[0].split())) for process in running]
    wall, cpu = (sum(column) for column in zip(*figures, strict=True))
    return ReferenceLoop(wall / len(figures) / _ROUNDS, cpu / wall)


def _main() -> None:
    began, cpu_began = time.perf_counter(), time.process_time()
    for _ in range(_ROUNDS):
        loop_seconds()
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu_began
    sys.stdout.write(f"{wall} {cpu}\n")


if __name__ == "__main__":
    _main()

"""What a user may set about cleaning, and what fits where nothing is set."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nextafter

#: In a worker's first minute half of its CPU is the compiler's (measured on Storm).
USUAL_WARM_UP_S = 60.0


@dataclass(frozen=True)
class Settings:
    """What a user may set about cleaning."""

    #: Seconds of a worker that are left out; ``None``: a minute, or what fits a shorter run.
    warm_up_s: float | None = None
    #: Windows shorter than this are merged up to it; 0 leaves them as they came.
    window_s: float = 0.0


def fitting_warm_up_s(first_s: float | None, longest_s: float | None) -> float:
    """A minute; where no worker ran for two, half of the longest run, its first window at least.

    ``first_s`` is the least uptime at the end of a window, ``longest_s`` the most; ``None`` where
    no record has one. The first window has the start of the processes in it.
    """
    if first_s is None or longest_s is None or longest_s >= 2 * USUAL_WARM_UP_S:
        return USUAL_WARM_UP_S
    return min(USUAL_WARM_UP_S, max(longest_s / 2, nextafter(first_s, inf)))

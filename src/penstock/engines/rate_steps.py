"""What a source is offered over time, in a file of steps that may be written anew while it runs.

Lines of a time of day and a rate, ``1700000000.0 60``, in the order of time; a number alone is a
rate that holds since the file was written. The lab's Storm spouts read the same
(``penstock.storm.lab.OfferedLoad``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import Finding, InputError
from penstock.files.writer import write_text


@dataclass(frozen=True)
class RateSteps:
    """Tuples/s from one moment to the next, in order."""

    #: Time of day in seconds, and the rate from then on.
    steps: tuple[tuple[float, float], ...]

    def per_s(self, now_s: float) -> float:
        """Tuples/s at a time of day; nothing before the first step."""
        return next((rate for at, rate in reversed(self.steps) if at <= now_s), 0.0)

    def until(self, now_s: float) -> float:
        """Tuples that were offered until a time of day."""
        ends = [*(at for at, _ in self.steps[1:]), math.inf]
        return sum(
            rate * (min(end, now_s) - at)
            for (at, rate), end in zip(self.steps, ends, strict=True)
            if at < now_s
        )

    def between(self, began_s: float, ended_s: float) -> float:
        return self.until(ended_s) - self.until(began_s)

    def reached(self, tuples: float) -> float:
        """When so many tuples had been offered; infinity if never."""
        ends = [*(at for at, _ in self.steps[1:]), math.inf]
        left = tuples
        for (at, rate), end in zip(self.steps, ends, strict=True):
            if rate > 0 and left <= rate * (end - at):
                return at + left / rate
            left -= rate * (end - at) if rate > 0 else 0.0
        return math.inf


def write_rate_steps(path: Path, steps: Iterable[tuple[float, float]]) -> RateSteps:
    """A load for those that read the file, all of it or none."""
    load = RateSteps(tuple(steps))
    write_text(path, "".join(f"{at!r} {rate!r}\n" for at, rate in load.steps))
    return load


def read_rate_steps(path: Path) -> RateSteps:
    """The load in a file."""
    try:
        written_s = path.stat().st_mtime
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(Finding(f"cannot be read: {reason}", str(path))) from None
    steps: list[tuple[float, float]] = []
    for number, line in enumerate(lines, start=1):
        words = line.split()
        is_alone = len(words) == 1 and len(lines) == 1
        try:
            at, rate = (written_s, float(words[0])) if is_alone else map(float, words)
        except (ValueError, IndexError):
            raise InputError(Finding(_EXPECTED, str(path), number)) from None
        if not (math.isfinite(at) and math.isfinite(rate) and rate >= 0):
            raise InputError(Finding(_EXPECTED, str(path), number))
        if steps and at < steps[-1][0]:
            raise InputError(Finding("is earlier than the line before", str(path), number))
        steps.append((at, rate))
    if not steps:
        raise InputError(Finding("says no rate", str(path)))
    return RateSteps(tuple(steps))


_EXPECTED = "must be a time in seconds since 1970 and tuples/s, such as 1700000000 60"

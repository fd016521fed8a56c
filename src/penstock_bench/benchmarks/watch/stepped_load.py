"""A load in steps, with a machine that is lost in one of them: what a live run goes through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.control.recorded_load import RecordedLoad
from penstock.model.arrays import frozen

#: What is carried counts from so long after a step, and after a machine was lost.
AFTER_STEP_S, AFTER_LOSS_S = 60.0, 120.0
#: Steps of the load as a rehearsal takes it.
_RECORDED_S = 10.0


@dataclass(frozen=True, slots=True)
class Stretch:
    """Seconds of the run over which what is offered must be carried."""

    name: str
    begin_s: float
    end_s: float


@dataclass(frozen=True)
class SteppedLoad:
    """Rates one after the other, and when in the run a machine is killed, if one is."""

    rates_per_s: tuple[float, ...]
    step_s: tuple[float, ...]
    kill_at_s: float | None = None

    @classmethod
    def of(
        cls, base_per_s: float, factors: Sequence[float], step_s: float, first_s: float
    ) -> SteppedLoad:
        """Each factor for so long, the first for ``first_s``; a machine is lost during the last.

        That one goes on afterwards for as long as a loss is given and half a step more.
        """
        rates = tuple(base_per_s * factor for factor in factors)
        steps = [first_s, *[step_s] * (len(factors) - 1)]
        kill_at_s = sum(steps)
        steps[-1] += AFTER_LOSS_S + step_s / 2
        return cls(rates, tuple(steps), kill_at_s)

    @property
    def seconds(self) -> float:
        return sum(self.step_s)

    @property
    def begins_s(self) -> list[float]:
        return [sum(self.step_s[:i]) for i in range(len(self.step_s))]

    def from_time(self, began_s: float) -> list[tuple[float, float]]:
        """The steps by the time of day, and nothing after the last."""
        steps = zip(self.begins_s, self.rates_per_s, strict=True)
        return [*((began_s + at, rate) for at, rate in steps), (began_s + self.seconds, 0.0)]

    @property
    def stretches(self) -> list[Stretch]:
        """After each step once it had time, and after the loss."""
        ends = [*self.begins_s[1:], self.seconds]
        found = []
        for begin, end, rate in zip(self.begins_s, ends, self.rates_per_s, strict=True):
            name = f"×{rate / self.rates_per_s[0]:.2g}"
            last = end if self.kill_at_s is None or not begin < self.kill_at_s < end else None
            found.append(Stretch(name, begin + AFTER_STEP_S, last or self.kill_at_s or end))
            if last is None and self.kill_at_s is not None:
                found.append(Stretch(f"{name}, a machine lost", self.kill_at_s + AFTER_LOSS_S, end))
        return found

    def recorded(self) -> RecordedLoad:
        """As a rehearsal takes it."""
        rates = [
            rate
            for rate, seconds in zip(self.rates_per_s, self.step_s, strict=True)
            for _ in range(round(seconds / _RECORDED_S))
        ]
        return RecordedLoad("steps", frozen(np.array(rates)), _RECORDED_S)


def jittered(
    rate_per_s: float, part: float, seconds: float, every_s: float, seed: int
) -> SteppedLoad:
    """A steady load that is a part more or less by chance, anew every so many seconds."""
    rng = np.random.default_rng(seed)
    number = round(seconds / every_s)
    factors = 1.0 + part * (2.0 * rng.random(number) - 1.0)
    return SteppedLoad(tuple((rate_per_s * factors).tolist()), (every_s,) * number)

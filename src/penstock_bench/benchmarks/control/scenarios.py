"""Short loads that each ask one thing of ``penstock``, in the setting of the rehearsals."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from penstock.control.policies import registry
from penstock.control.recorded_load import RecordedLoad
from penstock.control.rehearsal import RehearsalResult, RehearsalSetting, rehearse
from penstock.model.arrays import FloatVector
from penstock_bench.benchmarks.control.rehearsals import planner

_STEP_AT_S = 5400.0
#: What a change explains: its pause, and until what waited is drained.
_CHANGE_S = 120.0


def run(rates: FloatVector, step_s: float, setting: RehearsalSetting) -> RehearsalResult:
    """``penstock`` on rates that are parts of the bound."""
    plans = planner()
    load = RecordedLoad("scenario", rates * plans.bound_per_s, step_s)
    return rehearse(load, registry.configured("penstock", {}), plans, setting)


@cache
def _step() -> RehearsalResult:
    return run(np.array([0.2] * 18 + [0.6] * 12), 300.0, RehearsalSetting())


def step_growths(repeats: int) -> Iterator[float]:
    """Changes that grow after the rate went up three times."""
    for _ in range(repeats):
        after = [d for d in _step().decisions if d.time_s > _STEP_AT_S and d.restarts]
        yield float(sum(d.rate_after_per_s > d.rate_before_per_s for d in after))


def step_minutes(repeats: int) -> Iterator[float]:
    """Minutes until latency is within the target and stays there for five."""
    for _ in range(repeats):
        series = _step().series
        after = series.end_s > _STEP_AT_S
        fine = np.flatnonzero(series.latency_s[after] <= 5.0)
        yield 5.0 * float(fine[0]) if len(fine) else float("inf")


@cache
def _daily_wave(days: float) -> RehearsalResult:
    t = np.arange(round(days * 288))
    return run(0.45 - 0.25 * np.cos(2 * np.pi * t / 288), 300.0, RehearsalSetting())


def daily_wave_over(
    repeats: int, days: float = 7.0, beside_changes: bool = True
) -> Iterator[float]:
    """Five-minute intervals from the third day on that are over the target.

    Every change is over it for its pause: without ``beside_changes`` those intervals are left out.
    """
    for _ in range(repeats):
        result = _daily_wave(days)
        ends, changed = result.series.end_s, [d.time_s for d in result.decisions if d.restarts]
        over = ~(result.series.latency_s <= 5.0) & (ends > 2 * 86_400.0)
        left = [
            end for end in ends[over].tolist() if beside_changes or not _explained(end, changed)
        ]
        yield float(len(left))


def _explained(end_s: float, changed_s: list[float]) -> bool:
    return any(at - 10.0 <= end_s and end_s - 300.0 <= at + _CHANGE_S for at in changed_s)


def jitter_changes(repeats: int, days: float = 7.0, step_s: float = 10.0) -> Iterator[float]:
    """Changes while the rate is off its mean by up to 15 % either way, by chance.

    A day of the same comes first: what runs at the beginning carries a third more than the rate,
    and giving that back is no answer to jitter.
    """
    for seed in range(repeats):
        steps = round((1.0 + days) * 86_400.0 / step_s)
        jitter = np.random.default_rng(seed).uniform(-0.15, 0.15, steps)
        jitter[0] = 0.0  # what runs at first is for the mean
        result = run(0.4 * (1.0 + jitter), step_s, RehearsalSetting())
        yield float(sum(d.restarts and d.time_s > 86_400.0 for d in result.decisions))


def calm_changes(repeats: int, trouble: str) -> Iterator[float]:
    """Changes from just before the trouble on, at a steady rate: telemetry missing, or a spike."""
    for _ in range(repeats):
        rates = np.full(720, 0.4)
        if trouble == "spike":
            rates[420:423] = 0.8
        silent = ((4200.0, 4800.0),) if trouble == "silence" else ()
        result = run(rates, 10.0, RehearsalSetting(silent=silent))
        yield float(sum(d.restarts for d in result.decisions if d.time_s > 4000.0))

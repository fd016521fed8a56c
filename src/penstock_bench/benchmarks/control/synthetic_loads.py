"""Loads of our own making, to develop policies on: the recorded ones are for the judging alone.

Each is a rate for every five minutes, with 1 near its middle. They span what a policy must cope
with: seasons, noise of several strengths with and without memory, levels that shift, bursts,
heavy-tailed spikes, trends, restless walks, and days cut out of all of these and mixed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from penstock.control.recorded_load import RecordedLoad
from penstock.model.arrays import FloatVector, frozen

DAY = 288


def _wave(t: FloatVector, depth: float, phase: float = 0.0) -> FloatVector:
    """A daily wave around 1."""
    return np.asarray(1.0 - depth * np.cos(2 * np.pi * (t / DAY - phase)))


def _noise(rng: np.random.Generator, bins: int, strength: float, memory: float) -> FloatVector:
    """Factors around 1: a first-order autoregressive process in the logarithm."""
    steps = rng.standard_normal(bins) * strength * np.sqrt(1.0 - memory**2)
    state, found = strength * rng.standard_normal(), np.empty(bins)
    for i, step in enumerate(steps.tolist()):
        state = memory * state + step
        found[i] = state
    return np.asarray(np.exp(found))


def _daily(rng: np.random.Generator, t: FloatVector) -> FloatVector:
    return _wave(t, 0.5) * _noise(rng, len(t), 0.02, 0.0)


def _weekly(rng: np.random.Generator, t: FloatVector) -> FloatVector:
    weekend = np.where((t // DAY) % 7 >= 5, 0.65, 1.0)
    second = 0.2 * np.cos(4 * np.pi * t / DAY)
    return (_wave(t, 0.45) + second) * weekend * _noise(rng, len(t), 0.04, 0.8)


def _deep_nights(rng: np.random.Generator, t: FloatVector) -> FloatVector:
    """Two peaks on working days, nearly nothing at night, as in a city's traffic."""
    hour = (t % DAY) / 12.0
    peaks = np.exp(-(((hour - 8.5) / 2.0) ** 2)) + 1.2 * np.exp(-(((hour - 18.5) / 3.0) ** 2))
    return (0.15 + peaks) * _noise(rng, len(t), 0.06, 0.5)


def _white(rng: np.random.Generator, t: FloatVector) -> FloatVector:
    return _noise(rng, len(t), 0.08, 0.0)


def _restless(rng: np.random.Generator, t: FloatVector) -> FloatVector:
    return _wave(t, 0.3) * _noise(rng, len(t), 0.12, 0.7)


def _walk(rng: np.random.Generator, t: FloatVector) -> FloatVector:
    return _noise(rng, len(t), 0.35, 0.993)


def _shifts(rng: np.random.Generator, t: FloatVector) -> FloatVector:
    level, found = 1.0, np.empty(len(t))
    for i in range(len(t)):
        if rng.random() < 1.0 / 96:
            level = float(np.exp(rng.normal(0.0, 0.4)))
        found[i] = level
    return found * _noise(rng, len(t), 0.03, 0.3)


def _bursts(rng: np.random.Generator, t: FloatVector) -> FloatVector:
    """Half an hour to three hours at up to three times the rate, at any time."""
    found, i = _wave(t, 0.25), 0
    while (i := i + 1 + int(rng.exponential(DAY / 3))) < len(t):
        length = int(rng.integers(6, 36))
        found[i : i + length] *= rng.uniform(1.3, 3.0)
        i += length
    return found * _noise(rng, len(t), 0.03, 0.5)


def _spikes(rng: np.random.Generator, t: FloatVector) -> FloatVector:
    """Of five or ten minutes, with heavy tails."""
    found = _wave(t, 0.4) * _noise(rng, len(t), 0.03, 0.5)
    for i in np.flatnonzero(rng.random(len(t)) < 1.0 / 60).tolist():
        found[i : i + int(rng.integers(1, 3))] *= 1.0 + min(2.0, 0.15 * rng.pareto(1.8))
    return found


def _trend(rng: np.random.Generator, t: FloatVector) -> FloatVector:
    return _wave(t, 0.4) * (0.5 + t / max(len(t), 1)) * _noise(rng, len(t), 0.05, 0.9)


def _blocks(rng: np.random.Generator, t: FloatVector) -> FloatVector:
    """Quarters of days cut out of the others."""
    quarter, parts = DAY // 4, []
    for i in range(-(-len(t) // quarter)):
        make = _SIMPLE[int(rng.integers(len(_SIMPLE)))]
        clock = np.arange(i * quarter, (i + 1) * quarter, dtype=np.float64)
        parts.append(make(rng, clock))
    return np.concatenate(parts)[: len(t)]


_SIMPLE = (_daily, _weekly, _white, _restless, _walk, _shifts, _bursts, _spikes)
_MAKERS: dict[str, Callable[[np.random.Generator, FloatVector], FloatVector]] = {
    "daily": _daily,
    "weekly": _weekly,
    "deep nights": _deep_nights,
    "white": _white,
    "restless": _restless,
    "walk": _walk,
    "shifts": _shifts,
    "bursts": _bursts,
    "spikes": _spikes,
    "trend": _trend,
    "blocks": _blocks,
}
SYNTHETIC = tuple(_MAKERS)


def synthetic_load(name: str, days: float, seed: int = 0) -> RecordedLoad:
    """So many days of one of them; the same seed gives the same."""
    rng = np.random.default_rng([seed, SYNTHETIC.index(name)])
    t = np.arange(round(days * DAY), dtype=np.float64)
    return RecordedLoad(name, frozen(np.maximum(_MAKERS[name](rng, t), 1e-3)))

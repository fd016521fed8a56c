"""The demand of the next hours: level, trend, daily and weekly season, as an interval.

Demand is cut into bins of five minutes. A few simple forecasters say what each of the next 48 bins
brings; each is weighted by how well it did lately at that distance (inverse squared error, Bates
and Granger 1969, doi:10.1057/jors.1969.103), so a season counts only once it has proved itself,
and a cold start is nothing special. How wrong the forecasts of the last days were, path by path and
in units of how restless demand was at the time, makes scenarios of what may come: no distribution
is assumed, and errors that last or pass by do so in the scenarios too.

A bin costs some hundred microseconds, whatever the length of the history.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from penstock.model.arrays import FloatMatrix, FloatVector, IntVector

BIN_S = 300.0
DAY, WEEK = 288, 2016
#: Bins looked ahead.
AHEAD = 48
#: Bins kept, past errors that scenarios are made of, and each how many-th of them is one.
_KEPT = 2 * WEEK
_ERRORS, _THIN = 3 * DAY, 4
#: Weight of the newest squared error: about a day is remembered.
_NEWEST = 1.0 / DAY
#: Bins over which restlessness is measured, and the least it is taken for.
_RESTLESS, _LEAST_RESTLESS = 48, 0.005
#: A standard deviation over the median of absolute values, where they are normal.
_DEVIATION = 1.4826
#: A trend is believed less with each bin.
_DAMPED = 0.85
_EXPERTS = 6
#: Before anything is known, how wrong forecasts are, growing over half an hour.
_PRIOR = np.linspace(-1.0, 4.0, 12)[:, None] * np.minimum(np.arange(1, AHEAD + 1) / 6, 1.0) ** 0.5


@dataclass(frozen=True)
class Forecast:
    """What is known of demand so far. Arrays are never changed in place."""

    #: Mean rate of past bins, the newest last.
    past: FloatVector
    #: What each forecaster said for the 48 bins after each of the last 48; (bin, expert, ahead).
    said: FloatMatrix
    #: Mean squared log error by expert and distance, and the weight behind it; (expert, ahead).
    error: FloatMatrix
    weight: float
    #: Forecasts and restlessness of the last 48 bins, (bin, ahead) and (bin,).
    paths: FloatMatrix
    restless: FloatVector
    #: How past forecasts were wrong, log of real over forecast in units of restlessness,
    #: (kept, ahead), NaN: none yet.
    wrong: FloatMatrix

    @classmethod
    def empty(cls) -> Forecast:
        nothing = np.full((AHEAD, _EXPERTS, AHEAD), np.nan)
        return cls(
            np.zeros(0),
            nothing,
            np.zeros((_EXPERTS, AHEAD)),
            0.0,
            np.full((AHEAD, AHEAD), np.nan),
            np.full(AHEAD, np.nan),
            np.full((0, AHEAD), np.nan),
        )

    @property
    def bins(self) -> int:
        return len(self.past)

    # -- learning -----------------------------------------------------------------------------

    def seen(self, rate_per_s: float) -> Forecast:
        """With one more bin. A bin without telemetry repeats the forecast: missing is not zero."""
        if not np.isfinite(rate_per_s):
            rate_per_s = float(self.path()[0]) if self.bins else 0.0
        rate_per_s = max(rate_per_s, 1e-9)
        learned = self._judged(rate_per_s)
        past = np.append(learned.past, rate_per_s)[-_KEPT:]
        learned = replace(learned, past=past)
        said = learned._ask()
        path = _combined(said, learned.error)
        return replace(
            learned,
            said=np.concatenate([learned.said[1:], said[None]]),
            paths=np.concatenate([learned.paths[1:], path[None]]),
            restless=np.append(learned.restless[1:], _restlessness(past)),
        )

    def _judged(self, rate_per_s: float) -> Forecast:
        """How far off they were, now that it is known."""
        # What was said h bins ago for h bins ahead, for all h: (expert, ahead).
        before = np.arange(AHEAD)
        told = self.said[AHEAD - 1 - before, :, before].T
        off = np.log(rate_per_s / np.maximum(told, 1e-9)) ** 2
        known = np.isfinite(off)
        step = max(_NEWEST, 1.0 / (self.weight + 1.0))
        error = np.where(known, self.error + step * (off - self.error), self.error)
        error = np.where(known & (self.error == 0.0), off, error)
        return replace(
            self,
            error=error,
            weight=self.weight + 1.0,
            wrong=self._wrong(rate_per_s),
        )

    def _wrong(self, rate_per_s: float) -> FloatMatrix:
        """With the forecast of 48 bins ago, of which all is known now."""
        if not np.isfinite(self.restless[0]):
            return self.wrong
        real = np.append(self.past[1 - AHEAD :], rate_per_s)
        newest = np.log(real / self.paths[0]) / self.restless[0]
        return np.concatenate([self.wrong[-_ERRORS:], newest[None]])

    # -- asking -------------------------------------------------------------------------------

    def path(self) -> FloatVector:
        """The next 48 bins."""
        return _combined(self._ask(), self.error)

    def scenarios(self) -> FloatMatrix:
        """Rates that may come, as past forecasts were wrong, (scenario, ahead)."""
        wrong = np.concatenate([self.wrong[::-1][::_THIN], _PRIOR])
        return np.asarray(self.paths[-1] * np.exp(wrong * self.restless[-1]))

    def _ask(self) -> FloatMatrix:
        """What each forecaster says for the next bins, NaN where it cannot; (expert, ahead)."""
        past = self.past
        ahead = np.arange(1, AHEAD + 1)
        said = np.full((_EXPERTS, AHEAD), np.nan)
        said[0] = past[-1]
        said[1] = past[-6:].mean()
        said[2] = _trend(past, ahead)
        for row, season in ((3, DAY), (4, WEEK)):
            if len(past) >= season + 6:
                # As it was a season ago, at today's height.
                height = past[-6:].mean() / past[-season - 6 : -season].mean()
                said[row] = height * past[len(past) - season + ahead - 1]
        if len(past) >= 3 * DAY + 6:
            # As on the days before, at most seven, at today's height.
            back = DAY * np.arange(1, min(7, (len(past) - 6) // DAY) + 1)[:, None]
            usual = past[len(past) - back + ahead - 1].mean(axis=0)
            height = past[len(past) - back - np.arange(1, 7)].mean()
            said[5] = usual * past[-6:].mean() / height
        return said


def _trend(past: FloatVector, ahead: IntVector) -> FloatVector:
    """The usual slope of the last bins goes on, less and less; one jump is no trend."""
    last = past[-6:]
    if len(last) < 2:
        return np.full(len(ahead), past[-1])
    slope = float(np.median(np.diff(last)))
    reach = _DAMPED * (1.0 - _DAMPED**ahead) / (1.0 - _DAMPED)
    return np.asarray(np.maximum(past[-1] + slope * reach, 0.1 * past[-1]))


def _combined(said: FloatMatrix, error: FloatMatrix) -> FloatVector:
    """Forecasts weighted by the inverse of their squared errors, squared: the best count most."""
    known = np.isfinite(said)
    trust = np.where(known, 1.0 / (error + 1e-6) ** 2, 0.0)
    # Who has no errors yet knows nothing, unless nobody has.
    proved = known & (error > 0.0)
    trust = np.where(proved | ~proved.any(axis=0), trust, 0.0)
    total = trust.sum(axis=0)
    return np.asarray((np.where(known, said, 0.0) * trust).sum(axis=0) / np.maximum(total, 1e-300))


def _restlessness(past: FloatVector) -> float:
    """The usual step from bin to bin, as a part: a median, for a jump says nothing of the rest."""
    recent = past[-_RESTLESS - 1 :]
    if len(recent) < 2:
        return 5 * _LEAST_RESTLESS
    steps = np.abs(np.diff(np.log(np.maximum(recent, 1e-9))))
    return float(max(_DEVIATION * np.median(steps), _LEAST_RESTLESS))

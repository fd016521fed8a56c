"""The demand of the next hours: level, trend, daily and weekly season, as an interval.

Demand is cut into bins of five minutes. A few simple forecasters say what each of the next 48 bins
brings; each is weighted by how well it did lately at that distance (inverse squared error, Bates
and Granger 1969, doi:10.1057/jors.1969.103), so a season counts only once it has proved itself,
and a cold start is nothing special. What a plan must carry is the *peak* until its end, so the
interval is one of peaks: the past ratios of real peak to forecast peak, in units of how restless
demand was at the time, and of them a quantile (split conformal prediction, Papadopoulos et al.
2002, doi:10.1007/3-540-36755-1_29). No distribution is assumed.

A bin costs some hundred microseconds, whatever the length of the history.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from penstock.model.arrays import FloatMatrix, FloatVector, IntVector

BIN_S = 300.0
DAY, WEEK = 288, 2016
#: Bins looked ahead, and the distances in bins up to which peaks are given.
AHEAD = 48
REACHES = (1, 2, 3, 6, 12, 24, 48)
#: Bins kept, and past peaks that the interval is made of.
_KEPT = 2 * WEEK
_PEAKS = 3 * DAY
#: Weight of the newest squared error: about a day is remembered.
_NEWEST = 1.0 / DAY
#: Bins over which restlessness is measured, and the least it is taken for.
_RESTLESS, _LEAST_RESTLESS = 48, 0.005
#: A trend is believed less with each bin.
_DAMPED = 0.85
_EXPERTS = 6
#: Before anything is known, real peaks over forecast ones, in units of restlessness.
_PRIOR = np.linspace(0.0, 4.0, 12)


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
    #: Forecast peaks and restlessness of the last 48 bins, (bin, reach) and (bin,).
    peaks: FloatMatrix
    restless: FloatVector
    #: Past ratios of real to forecast peak in units of restlessness, (kept, reach), NaN: none yet.
    ratios: FloatMatrix

    @classmethod
    def empty(cls) -> Forecast:
        nothing = np.full((AHEAD, _EXPERTS, AHEAD), np.nan)
        return cls(
            np.zeros(0),
            nothing,
            np.zeros((_EXPERTS, AHEAD)),
            0.0,
            np.full((AHEAD, len(REACHES)), np.nan),
            np.full(AHEAD, np.nan),
            np.full((_PEAKS, len(REACHES)), np.nan),
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
        peaks = np.maximum.accumulate(path)[np.array(REACHES) - 1]
        return replace(
            learned,
            said=np.concatenate([learned.said[1:], said[None]]),
            peaks=np.concatenate([learned.peaks[1:], peaks[None]]),
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
            ratios=np.concatenate([self.ratios[1:], self._peak_ratios(rate_per_s)[None]]),
        )

    def _peak_ratios(self, rate_per_s: float) -> FloatVector:
        recent = np.append(self.past[-AHEAD:], rate_per_s)
        found = np.full(len(REACHES), np.nan)
        for i, reach in enumerate(REACHES):
            forecast, restless = self.peaks[AHEAD - reach, i], self.restless[AHEAD - reach]
            if np.isfinite(forecast):
                found[i] = np.log(recent[-reach:].max() / forecast) / restless
        return found

    # -- asking -------------------------------------------------------------------------------

    def path(self) -> FloatVector:
        """The next 48 bins."""
        return _combined(self._ask(), self.error)

    def peaks_within(self, sure: Sequence[float]) -> FloatMatrix:
        """Rates that are not passed within each reach with each chance, (reach, chance)."""
        if not self.bins:
            return np.zeros((len(REACHES), len(sure)))
        found = np.empty((len(REACHES), len(sure)))
        for i in range(len(REACHES)):
            known = self.ratios[:, i]
            known = np.concatenate([known[np.isfinite(known)], _PRIOR])
            found[i] = self.peaks[-1, i] * np.exp(np.quantile(known, sure) * self.restless[-1])
        return np.asarray(np.maximum.accumulate(found, axis=0))

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
    """The slope of the last bins goes on, less and less."""
    last = past[-4:]
    if len(last) < 2:
        return np.full(len(ahead), past[-1])
    slope = (last[-1] - last[0]) / (len(last) - 1)
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
    """Root mean square of the steps from bin to bin, as parts."""
    recent = past[-_RESTLESS - 1 :]
    if len(recent) < 2:
        return 5 * _LEAST_RESTLESS
    steps = np.diff(np.log(np.maximum(recent, 1e-9)))
    return float(max(np.sqrt(np.mean(steps**2)), _LEAST_RESTLESS))

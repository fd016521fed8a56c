"""The demand of the next hours: level, trend, daily and weekly season, and how wrong that is.

Demand is cut into bins of five minutes. A few simple forecasters say what each of the next 48 bins
brings; each is weighted by how well it did lately at that distance (inverse squared error, Bates
and Granger 1969, doi:10.1057/jors.1969.103), so a season counts only once it has proved itself,
and a cold start is nothing special. How wrong forecasts were, by distance and in units of how
restless demand was at the time, says what may come. What passes by at once is told from what lasts
by how alike the errors of one forecast are one and two bins apart, as in a process with noise on
top of it; the shape of the news is that of past ones.

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
#: Bins kept, and bins whose errors are.
_KEPT = 2 * WEEK
_ERRORS = 3 * DAY
#: Weight of the newest squared error: about a day is remembered.
_NEWEST = 1.0 / DAY
#: Bins over which restlessness is measured, and the least it is taken for.
_RESTLESS, _LEAST_RESTLESS = 48, 0.005
#: A standard deviation over the median of absolute values, where they are normal.
_DEVIATION = 1.4826
#: A trend is believed less with each bin.
_DAMPED = 0.85
#: Bins of the long mean, to which demand may return.
_LONG = 36
_EXPERTS = 7
#: Part of what a bin's first moment is off by that its mean is, before anything is known, and how
#: many squares that is worth.
_HINT, _PRIOR_SQUARES = 0.5, 20.0
#: A product of errors, in squared units of restlessness, counts at most so much.
_MOST = 400.0
#: How many values stand for news that last, and for those that pass by.
_NEWS, _FEW = 48, 3
#: News before anything is known, in units of restlessness, with heavy tails.
_FIRST_NEWS = np.array(
    [-4.0, -2.0, -1.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0]
)
_PRIOR = np.tile(_FIRST_NEWS, 4)
#: Bins that what is believed at first counts for.
_PRIOR_WEIGHT = 12.0
#: Errors before anything is known: of a walk, and some that pass by.
_PRIOR_PRODUCT = np.arange(1, AHEAD + 1) - np.arange(3.0)[:, None]
_PRIOR_PRODUCT = np.maximum(_PRIOR_PRODUCT, 0.0) + np.array([[1.0], [0.0], [0.0]])


@dataclass(frozen=True)
class ForecastErrors:
    """Logs of real over forecast rates: a part that lasts and one that passes by at once."""

    #: Standard deviation of what lasts, (ahead,).
    lasting: FloatVector
    #: How alike it is to that of the bin before, a correlation, (ahead,).
    goes_on: FloatVector
    #: Equally likely news, of mean 0 and standard deviation 1.
    news: FloatVector
    #: Equally likely values of what passes by.
    passing: FloatVector

    @property
    def next_deviation(self) -> float:
        """Standard deviation of the error of the next bin."""
        return float(np.sqrt(self.lasting[0] ** 2 + np.var(self.passing)))

    @property
    def lasts(self) -> float:
        """Part of a first error that lasts."""
        return float(self.lasting[0]) ** 2 / max(self.next_deviation**2, 1e-12)


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
    #: Logs of the newest two rates over what was forecast for them, by how long ago, in units of
    #: restlessness, (2, ahead).
    off: FloatMatrix
    #: Mean products of errors of one forecast no, one and two bins apart, by distance, (3, ahead).
    product: FloatMatrix
    #: Errors of the forecasts for the next bin, in units of restlessness, the newest last.
    next_off: FloatVector
    #: Log of the first rate seen of the bin that begins over its forecast; and what such a moment
    #: says of its bin: products with the bin's own errors, and squares.
    hint: float = 0.0
    hint_products: float = _HINT * _PRIOR_SQUARES
    hint_squares: float = _PRIOR_SQUARES

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
            np.full((2, AHEAD), np.nan),
            _PRIOR_PRODUCT,
            _PRIOR,
        )

    @property
    def bins(self) -> int:
        return len(self.past)

    # -- learning -----------------------------------------------------------------------------

    def seen(self, rate_per_s: float, newest_per_s: float = np.nan) -> Forecast:
        """With one more bin, and the first rate of the next one.

        A bin without telemetry repeats the forecast: missing is not zero.
        """
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
            hint=float(np.log(newest_per_s / path[0])) if newest_per_s > 0 else 0.0,
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
        return replace(self._surprised(rate_per_s), error=error, weight=self.weight + 1.0)

    def _surprised(self, rate_per_s: float) -> Forecast:
        """How forecasts of before are wrong now, beside how they were in the two bins before."""
        before = np.arange(AHEAD)
        unit = self.restless[AHEAD - 1 - before]
        off = np.log(rate_per_s / self.paths[AHEAD - 1 - before, before]) / unit
        # The same forecast is older by a bin now; at its beginning it was not wrong.
        last = np.append(0.0, self.off[0, :-1])
        second = np.concatenate([[0.0, 0.0], self.off[1, :-2]])
        now = off * np.array([off, last, second])
        keep = 1.0 - max(_NEWEST, 1.0 / (self.weight + _PRIOR_WEIGHT))
        known = np.isfinite(now)
        newest = np.where(known, now, self.product).clip(-_MOST, _MOST)
        hint = self.hint / unit[0] if np.isfinite(unit[0]) else 0.0
        return replace(
            self,
            off=np.array([off, last]),
            product=keep * self.product + (1.0 - keep) * newest,
            next_off=np.append(self.next_off, off[0])[-_ERRORS:] if known[0, 0] else self.next_off,
            hint_products=keep * self.hint_products
            + (float(np.clip(hint * off[0], -_MOST, _MOST)) if known[0, 0] else 0.0),
            hint_squares=keep * self.hint_squares + min(hint**2, _MOST),
        )

    # -- asking -------------------------------------------------------------------------------

    def path(self) -> FloatVector:
        """The next 48 bins."""
        return _combined(self._ask(), self.error)

    @property
    def moment_tells(self) -> float:
        """Part of what a moment is off the forecast by that its bin is: 1 where rates are steady
        within bins, near 0 where they jitter."""
        return min(max(self.hint_products / self.hint_squares, 0.0), 1.0)

    def begun(self) -> float:
        """What the bin that has begun is off its forecast by, a log, as far as that can be seen."""
        return self.hint * self.moment_tells

    def errors(self) -> ForecastErrors:
        """How a path may go wrong from now on: what passes by and what lasts, told apart by how
        alike errors of one forecast are that lie one and two bins apart."""
        square, one, two = self.product
        # With noise that passes by, neighbours are alike in what lasts alone.
        alike = max(float(two[2:8].sum()), 1e-9) / max(float(one[1:7].sum()), 1e-9)
        passing = float((square[1:7] - one[2:8] / max(alike, 0.3)).mean())
        passing = min(max(passing, 0.0), 0.95 * float(square[0]))
        lasting = np.maximum.accumulate(np.maximum(square - passing, 0.05 * square))
        before = np.append(lasting[0], lasting[:-1])
        goes_on = (one / before * np.sqrt(before / lasting)).clip(0.0, 1.0)
        goes_on[0] = 0.0
        unit = float(self.restless[-1])
        news = np.array([part.mean() for part in np.array_split(np.sort(self.next_off), _NEWS)])
        news = (news - news.mean()) / max(float(news.std()), 1e-9)
        few = np.array([part.mean() for part in np.array_split(news, _FEW)])
        return ForecastErrors(
            unit * np.sqrt(lasting), goes_on, news, unit * passing**0.5 * few / few.std()
        )

    def _ask(self) -> FloatMatrix:
        """What each forecaster says for the next bins, NaN where it cannot; (expert, ahead)."""
        past = self.past
        ahead = np.arange(1, AHEAD + 1)
        said = np.full((_EXPERTS, AHEAD), np.nan)
        said[0] = past[-1]
        said[1] = past[-6:].mean()
        said[2] = _trend(past, ahead)
        if len(past) > 6:
            said[6] = past[-_LONG:].mean()
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

"""Evidence that a quantity is higher than it used to be, at a stated rate of false alarms.

Blocks of the quantity's own past say what is usual: each new block is worth

    E = exp(theta y) (n + 1) / (sum over the past of exp(theta y_i) + exp(theta B)),

where y is how far it is above the usual level, cut off at B either way. The last term stands for
the new block at its worst, so for blocks that could have come in any order E is 1 at most in the
mean: it is an e-value, whatever their distribution (Koning 2023, arXiv:2310.01153). Evidence is the
product since it was last below 1. It passes 1/a by chance once in 1/a blocks at most (e-detectors,
Shin, Ramdas and Rinaldo 2022, arXiv:2203.03532), so the threshold follows from the rate that is
allowed and from nothing else.

Where neighbouring blocks of the past resemble each other, E to the power 1/t is multiplied instead,
t being 1 and twice the sum of their autocorrelations: what the variance of long sums is over that
of independent blocks. From the new block, and not from the past, ``fine`` is taken off: what is
less above the usual is no fault, and slow swings up to it raise no alarm. Theta is the one of a few
under which a fault would have been found soonest in the past's own noise.

Subjects are worked out together; a block costs a few operations on them, and every hour some
thousand for each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from penstock.control.detectors.detector import BLOCK_S
from penstock.model.arrays import BoolVector, FloatMatrix, FloatVector, frozen

_DAY_S = 86_400.0
#: The past: blocks that count, blocks that are too new to, blocks without which nothing is judged.
_PAST, _TOO_NEW, _LEAST = 240, 20, 20
#: The usual is worked out again after so many blocks.
_AGAIN = 120
#: theta B, to choose from.
_GRID = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0)
#: Blocks farther apart than this are taken for independent.
_FARTHEST = 5
#: Differences that are smaller come from rounding.
_ROUNDING = 1e-9
#: Evidence is counted up to so many times the threshold: what is over soon counts as over.
MOST = 2.0


@dataclass(frozen=True)
class Evidence:
    """What is known of each subject; arrays are (subjects,)."""

    #: Blocks of the past, the newest last; NaN where a subject had none.
    past: tuple[FloatVector, ...]
    #: Blocks until the usual is worked out again.
    due: int
    level: FloatVector
    theta: FloatVector
    #: Logarithm of the mean of exp(theta y) over the past, the worst block included.
    log_mean: FloatVector
    #: 1/t; 0 for a subject of which not enough is known.
    power: FloatVector
    #: Logarithm of the evidence.
    log_e: FloatVector
    #: How far above the level it was since evidence was last below 1: sum and number of blocks.
    above: FloatVector
    blocks: FloatVector
    alarmed: BoolVector

    @property
    def mean_above(self) -> FloatVector:
        """How far each is above its usual level, the mean since evidence began."""
        return np.asarray(self.above / np.maximum(self.blocks, 1.0))


@dataclass(frozen=True, slots=True)
class EvidenceTest:
    """Whether subjects are above their usual level by more than ``fine``, as by ``fault``."""

    #: For each subject.
    false_alarms_per_day: float
    fine: float
    fault: float
    #: No level above this counts as usual, however long it has been so; ``None``: any may.
    usual_most: float | None = None

    @property
    def threshold(self) -> float:
        """Logarithm of the evidence that is an alarm: 1/a blocks between two false ones."""
        return float(np.log(_DAY_S / (BLOCK_S * self.false_alarms_per_day)))

    def start(self, subjects: int) -> Evidence:
        nothing = frozen(np.zeros(subjects))
        return Evidence(
            (), _LEAST + _TOO_NEW, nothing, nothing, nothing, nothing, nothing, nothing, nothing,
            frozen(np.zeros(subjects, dtype=np.bool_)),
        )  # fmt: skip

    def seen(self, values: FloatVector, before: Evidence) -> Evidence:
        """With one more block, NaN where nothing is known: that changes nothing."""
        known = np.isfinite(values) & (before.power > 0)
        excess = np.where(known, values - before.level, 0.0)
        log_e = self._after(before, excess, known)
        past = before.past[-(_PAST + _TOO_NEW - 1) :]
        going = log_e > 0
        if not going.any() and not before.blocks.any():  # as nearly always
            after = Evidence(
                (*past, values), before.due - 1, before.level, before.theta, before.log_mean,
                before.power, log_e, before.above, before.blocks, before.alarmed,
            )  # fmt: skip
            return after if after.due > 0 else self._calibrated(after)
        alarmed = (log_e >= self.threshold) | (before.alarmed & going)
        # What is under suspicion teaches nothing.
        learned = np.where(before.alarmed | alarmed, np.nan, values)
        after = Evidence(
            (*past, learned),
            before.due - 1,
            before.level,
            before.theta,
            before.log_mean,
            before.power,
            log_e,
            np.where(going, before.above + excess, 0.0),
            np.where(going, before.blocks + known, 0.0),
            alarmed,
        )
        return after if after.due > 0 else self._calibrated(after)

    def cleared(self, subjects: BoolVector, before: Evidence) -> Evidence:
        """Some of them as if nothing had been held against them."""
        return replace(
            before,
            log_e=np.where(subjects, 0.0, before.log_e),
            above=np.where(subjects, 0.0, before.above),
            blocks=np.where(subjects, 0.0, before.blocks),
            alarmed=before.alarmed & ~subjects,
        )

    def _after(self, before: Evidence, excess: FloatVector, known: BoolVector) -> FloatVector:
        most = self.fault - self.fine
        # As numpy's clip, which takes longer to begin than to do it.
        y = np.minimum(np.maximum(excess - self.fine, -most), most)
        gained = before.power * (before.theta * y - before.log_mean)
        log_e = before.log_e + np.where(known, gained, 0.0)
        return np.asarray(np.minimum(np.maximum(log_e, 0.0), MOST * self.threshold))

    # -- what is usual ------------------------------------------------------------------------

    def _calibrated(self, before: Evidence) -> Evidence:
        past = np.array(before.past[:-_TOO_NEW])
        number = np.isfinite(past).sum(axis=0)
        enough = number >= _LEAST
        filled = np.where(enough, past, 0.0)
        own = _medians(filled)
        y = np.where(np.isfinite(filled), filled - own, np.nan)
        y[np.abs(y) < _ROUNDING] = 0.0  # it resembles itself, and is no noise
        theta, log_mean = self._theta(y, number)
        level = own if self.usual_most is None else np.minimum(own, self.usual_most)
        # A subject that was away keeps what was known of it.
        return replace(
            before,
            due=_AGAIN if len(before.past) >= _PAST else _LEAST,
            level=np.where(enough, level, before.level),
            theta=np.where(enough, theta, before.theta),
            log_mean=np.where(enough, log_mean, before.log_mean),
            power=np.where(enough, 1.0 / _resembling(y, number), before.power),
        )

    def _theta(self, y: FloatMatrix, number: FloatVector) -> tuple[FloatVector, FloatVector]:
        """The one that would have found a fault soonest, and its mean of exp(theta y)."""
        most = self.fault - self.fine
        usual = np.clip(y, -most, most)
        faulty = np.nan_to_num(np.clip(y + most, -most, most)).sum(axis=0) / np.maximum(number, 1)
        best = np.full(y.shape[1], -np.inf)
        theta, log_mean = np.zeros(y.shape[1]), np.zeros(y.shape[1])
        for product in _GRID:
            each = product / most
            total = np.nan_to_num(np.exp(each * usual), nan=0.0).sum(axis=0)
            mean = np.log((total + np.exp(product)) / (number + 1))
            gained = each * faulty - mean
            better = gained > best
            best = np.where(better, gained, best)
            theta, log_mean = np.where(better, each, theta), np.where(better, mean, log_mean)
        return theta, log_mean


def _medians(values: FloatMatrix) -> FloatVector:
    """The median of each column, NaN left out; every column has a value."""
    ordered, number = np.sort(values, axis=0), np.isfinite(values).sum(axis=0)
    middle = [np.take_along_axis(ordered, n[None] // 2, axis=0)[0] for n in (number - 1, number)]
    return np.asarray((middle[0] + middle[1]) / 2)


def _resembling(y: FloatMatrix, number: FloatVector) -> FloatVector:
    """How many blocks are worth one that is independent of all others, at least 1."""
    filled = np.nan_to_num(y)
    variance = (filled**2).sum(axis=0)
    near = np.ones(y.shape[1], dtype=np.bool_)
    worth = np.ones(y.shape[1])
    for lag in range(1, min(_FARTHEST, len(y) - 1)):
        like = (filled[lag:] * filled[:-lag]).sum(axis=0) / np.maximum(variance, 1e-300)
        # Twice the standard error of a correlation where there is none.
        near &= like > 2.0 / np.sqrt(np.maximum(number, 1))
        worth += np.where(near, 2.0 * like, 0.0)
    return worth

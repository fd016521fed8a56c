"""How our numbers stand to the published ones.

*Reproduced*: as near as the row says is near enough, and not on the other side of "no difference".
*Same direction*: not so near, but on the same
side of "no difference"; for counts, in the same order. *Not reproduced*: neither. Where there is no
number of ours there is no verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from itertools import combinations

from penstock_bench.reproduce.paper_fields import Published, Row, neutral_of


class Verdict(StrEnum):
    REPRODUCED = "reproduced"
    SAME_DIRECTION = "same direction"
    NOT_REPRODUCED = "not reproduced"
    NOT_JUDGED = "no figure"


def judge(row: Row, ours: Sequence[tuple[float, ...]]) -> Verdict:
    """The verdict on a row, given our numbers in each of its settings."""
    if not ours or any(not values for values in ours):
        return Verdict.NOT_JUDGED
    numbers = [value for values in ours for value in values]
    published = row.published
    if published.sign is not None:
        neutral = neutral_of(row) or 0.0
        sign = 1 if published.sign == "more" else -1
        holds = all(_side(value, neutral) == sign for value in numbers)
        return Verdict.REPRODUCED if holds else Verdict.NOT_REPRODUCED
    if published.values:
        return _judge_several(row, published.values, numbers)
    if all(_within(row, published, value) for value in numbers) and not _opposed(row, numbers):
        return Verdict.REPRODUCED
    return _by_direction(row, published, numbers)


def _opposed(row: Row, numbers: Sequence[float]) -> bool:
    """Whether the paper says more and we have less: that is no small difference."""
    neutral, value = neutral_of(row), row.published.value
    if neutral is None or value is None:
        return False
    return any(_side(number, neutral) * _side(value, neutral) < 0 for number in numbers)


def _within(row: Row, published: Published, value: float) -> bool:
    if published.value is not None:
        return abs(value - published.value) <= slack(row, published.value)
    low = published.least is None or value >= published.least - slack(row, published.least)
    high = published.most is None or value <= published.most + slack(row, published.most)
    return low and high


def slack(row: Row, value: float) -> float:
    """How far off is near enough: the wider of both ways to say so."""
    return max(row.within or 0.0, (row.within_percent or 0.0) / 100.0 * abs(value))


def _judge_several(row: Row, wanted: Sequence[float], numbers: Sequence[float]) -> Verdict:
    if len(wanted) != len(numbers):
        return Verdict.NOT_REPRODUCED
    pairs = list(zip(wanted, numbers, strict=True))
    if all(abs(value - w) <= slack(row, w) for w, value in pairs):
        return Verdict.REPRODUCED
    # The same order: where the paper has more of one than of another, so have we.
    same = all(_side(w1, w2) == _side(v1, v2) for (w1, v1), (w2, v2) in combinations(pairs, 2))
    return Verdict.SAME_DIRECTION if same else Verdict.NOT_REPRODUCED


def _by_direction(row: Row, published: Published, numbers: Sequence[float]) -> Verdict:
    neutral = neutral_of(row)
    # What allows "no difference" (a loss of at most 4 %) points nowhere.
    ranged = published.value is None
    if neutral is None or (ranged and _within(row, published, neutral)):
        return Verdict.NOT_REPRODUCED
    ends = [e for e in (published.value, published.least, published.most) if e is not None]
    if _side(ends[0], neutral) == 0:
        return Verdict.NOT_REPRODUCED  # "the same" is no direction either
    same = all(_side(value, neutral) == _side(ends[0], neutral) for value in numbers)
    return Verdict.SAME_DIRECTION if same else Verdict.NOT_REPRODUCED


def _side(value: float, neutral: float) -> int:
    """On which side of ``neutral``; dust is on none."""
    if abs(value - neutral) <= 1e-9 * max(1.0, abs(neutral)):
        return 0
    return 1 if value > neutral else -1

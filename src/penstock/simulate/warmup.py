"""Where counting begins: the rule MSER-5 (White 1997).

A run starts empty, so its beginning is too good. The looks are averaged by fives, and the beginning
is cut where the standard error of what is left is smallest; never more than half is cut. What is
looked at is the number of tuples in the system, which is what an empty start gets wrong.
"""

from __future__ import annotations

import numpy as np

from penstock.model.arrays import FloatVector

_BY = 5


def looks_to_cut(present: FloatVector) -> int:
    """How many of the looks at the beginning are not counted."""
    by = _group_size(len(present))
    groups = len(present) // by
    means = present[: groups * by].reshape(groups, by).mean(axis=1)
    best, least = 0, np.inf
    for cut in range(groups // 2 + 1):
        rest = means[cut:]
        score = float(((rest - rest.mean()) ** 2).sum()) / len(rest) ** 2
        if score < least:
            best, least = cut, score
    return best * by


def most_looks_to_cut(looks: int) -> int:
    """The most that is ever cut of so many looks; a run that is cut there is too short."""
    by = _group_size(looks)
    return looks // by // 2 * by


def _group_size(looks: int) -> int:
    return _BY if looks >= 4 * _BY else 1

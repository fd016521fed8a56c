"""Plan and proof meet: where a box of counts is not refuted, a better plan may have its counts.

The bound for even shares (:mod:`penstock.evaluate.pattern_bound`) splits instance counts into boxes
and refutes them one by one. Those that it cannot refute tell the search where to look: their best
fillings have certain counts on average, and a plan with these counts is tried. What is found raises
the target, and with it more boxes are refuted.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from penstock.evaluate.pattern_bound.boxes import BoxNode, BoxSearch
from penstock.evaluate.pattern_bound.relaxed import RelaxedProblem
from penstock.model.arrays import FloatVector, IntMatrix
from penstock.schedulers.base import Budget
from penstock.schedulers.penstock.aggregate import AggregateProblem, MachineGroups
from penstock.schedulers.penstock.sizes import SizeSearch

#: Nothing nearer to the bound than this is worth proving.
_EQUAL = 5e-10
#: Each target is by this much nearer to the best plan, the more so where the last one was easy:
#: reached in less than this part of the rounds.
_STEP_DOWN, _LARGE_STEP_DOWN, _EASY = 0.65, 0.35, 0.03
#: Rounds between looks for better plans, and counts tried then.
_STEP, _TRIED = 100.0, 8
#: Rounds after which it ends where machines hold so much that no box has had its fillings listed.
_PATIENCE = 400.0


class ProofSearch:
    """Refutes boxes and tries plans in turn, until they meet or the rounds are used up."""

    def __init__(
        self,
        aggregate: AggregateProblem,
        bound: float,
        scale: float,
        sizes: SizeSearch | None,
        offer: Callable[[MachineGroups], float],
    ) -> None:
        """``offer`` takes a plan and says what the best one carries now."""
        self.aggregate, self.sizes, self._offer = aggregate, sizes, offer
        self._scale = scale
        #: How far above the best plan the target is.
        self._margin = max(bound / scale - 1.0, 0.0) if scale > 0 else np.inf
        self.boxes = BoxSearch(RelaxedProblem.of(aggregate.problem), bound, bound)
        self._tried: set[tuple[float, ...]] = set()

    @property
    def bound(self) -> float:
        """No plan that divides evenly what can be divided evenly carries more."""
        return max(self.boxes.bound, self._scale * (1.0 + _EQUAL))

    @property
    def _is_met(self) -> bool:
        return self.boxes.bound <= self._scale * (1.0 + _EQUAL)

    def run(self, rounds: float, budget: Budget) -> None:
        """Prove, in steps from the bound known before to the best plan."""
        step = _STEP_DOWN
        while np.isfinite(self._margin) and not self._is_met:
            before = self.boxes.rounds
            self._margin = max(_EQUAL, self._margin * step)
            self._aim()
            self._reach_target(rounds, budget)
            ended = not self.boxes.done or self._margin <= _EQUAL
            if ended or self.boxes.rounds >= rounds or budget.spent(int(self.boxes.rounds)):
                return
            easy = self.boxes.rounds - before < _EASY * rounds
            step = _LARGE_STEP_DOWN if easy else _STEP_DOWN

    def _aim(self) -> None:
        self.boxes.target = self._scale * (1.0 + self._margin)

    def _reach_target(self, rounds: float, budget: Budget) -> None:
        boxes = self.boxes
        while not boxes.done and boxes.rounds < rounds and not budget.spent(int(boxes.rounds)):
            boxes.run(min(_STEP, rounds - boxes.rounds))
            self._improve()
            if self.sizes is not None:
                boxes.dive()
                self._improve()
            if boxes.rounds >= _PATIENCE and not boxes.lists_fillings:
                return

    def _improve(self) -> None:
        """Better plans in the boxes looked at last; they raise the target."""
        for table in self.boxes.packings:
            self._scale = self._offer(_groups(self.aggregate, table))
        self._try(self.boxes.promising)
        self._aim()

    def _try(self, promising: list[BoxNode]) -> None:
        """Plans with the average counts of the smallest boxes that are not refuted."""
        if self.sizes is None:
            return
        smallest = sorted(promising, key=lambda n: float((n.box.most / n.box.least).max()))
        before = self.sizes.scale
        for node in smallest[:_TRIED]:
            assert node.counts is not None
            inside = np.clip(node.counts, node.box.least, node.box.most)
            counts: FloatVector = np.round(inside).astype(np.float64)
            key = tuple(counts.tolist())
            if key not in self._tried:
                self._tried.add(key)
                self.sizes.try_counts(counts)
        if self.sizes.groups is not None and self.sizes.scale > before:
            self._scale = self._offer(self.sizes.groups)


def _groups(aggregate: AggregateProblem, table: IntMatrix) -> MachineGroups:
    """The instances of every machine, kinds one after the other, as groups."""
    kind = np.repeat(np.arange(len(aggregate.kinds)), aggregate.machines)
    used = table.any(axis=1)
    rows, number = np.unique(np.column_stack([kind[used], table[used]]), axis=0, return_counts=True)
    return MachineGroups(rows[:, 0], number.astype(np.int64), rows[:, 1:].astype(np.int64))

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
from penstock.model.arrays import IntMatrix
from penstock.schedulers.base import Budget
from penstock.schedulers.penstock.aggregate import AggregateProblem, MachineGroups
from penstock.schedulers.penstock.sizes import SizeSearch

KIND = "whole instances on every machine, for all instance counts"
#: Nothing nearer to the bound than this is worth proving.
_EQUAL = 5e-10
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
        self.boxes = BoxSearch(RelaxedProblem.of(aggregate.problem), bound, self._target)
        self._tried: set[tuple[float, ...]] = set()

    @property
    def _target(self) -> float:
        return self._scale * (1.0 + _EQUAL)

    @property
    def bound(self) -> float:
        """No plan that divides evenly what can be divided evenly carries more."""
        return max(self.boxes.bound, self._target)

    def run(self, rounds: float, budget: Budget) -> None:
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
        self.boxes.target = self._target

    def _try(self, promising: list[BoxNode]) -> None:
        """Plans with the average counts of the smallest boxes that are not refuted."""
        if self.sizes is None:
            return
        open_ = [node for node in promising if node.scale > self._target]
        smallest = sorted(open_, key=lambda n: float((n.box.most / n.box.least).max()))
        before = self.sizes.scale
        for node in smallest[:_TRIED]:
            assert node.counts is not None
            counts = np.round(np.clip(node.counts, node.box.least, node.box.most))
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

"""Boxes with large counts: overheads alone say much, and machines need not hold whole instances.

The best a point of CPU can do on a kind of machine is the best of ``(y z + w) / (e R z + met)``
over components and sizes z, y the price of a tuple and w that of an instance of which a box has at
least so many. A ratio of linear functions is greatest at an end of the range of z.
"""

from __future__ import annotations

import numpy as np

from penstock.evaluate.pattern_bound.prices import FillingProgramme
from penstock.evaluate.pattern_bound.relaxed import CountBox, RelaxedProblem
from penstock.model.arrays import FloatMatrix, FloatVector

_NOTHING = 1e-12


class FluidBox:
    """One box at one scale, machines as points of CPU."""

    def __init__(self, relaxed: RelaxedProblem, box: CountBox, scale: float) -> None:
        self.relaxed, self.box = relaxed, box
        least, most = relaxed.sizes(box)
        cost = np.where(relaxed.may_run, relaxed.e, 1.0) * scale
        thread = np.maximum(relaxed.threads - relaxed.met, 0.0)
        allowed = np.divide(thread, cost, out=np.full(cost.shape, np.inf), where=cost > 0)
        at_most = np.minimum(allowed, most)
        fits = relaxed.may_run & (at_most >= least * (1.0 - 1e-9))
        self.sizes = np.stack([np.broadcast_to(least, cost.shape), np.maximum(at_most, least)])
        #: Points of an instance at either end of its range; infinite where it may not run.
        points = cost * self.sizes + relaxed.met
        self.points: FloatMatrix = np.where(fits, points, np.inf)
        #: Instances that cost nothing have no price, nor have those that get no input.
        self.counted = (relaxed.visits > 0) & (self.points > _NOTHING).all(axis=(0, 1))
        self.wanted = np.concatenate([relaxed.visits, np.where(self.counted, box.least, 0.0)])

    def value(self, prices: FloatVector) -> float:
        """What all machines are worth over what is wanted; below 1 nothing in the box can be."""
        worth = self._worth(prices)
        per_point = np.divide(
            worth, self.points, out=np.zeros(worth.shape), where=self.points > _NOTHING
        )
        if ((self.points <= _NOTHING) & (worth > 0)).any():
            return np.inf
        best = np.maximum(per_point.max(axis=(0, 2)), 0.0)
        wanted = float(self.wanted @ prices)
        total = float(self.relaxed.machines * self.relaxed.points @ best)
        return total / wanted if wanted > 0 else np.inf

    def prices(self) -> FloatVector:
        """Prices of the input of each component and of an instance of each, shape (2 C,)."""
        components = len(self.relaxed.visits)
        rows = np.flatnonzero(self.wanted > 0)
        programme = FillingProgramme(self.wanted[rows], self.relaxed.machines)
        end, kind, component = np.nonzero(np.isfinite(self.points) & (self.points > _NOTHING))
        number = self.relaxed.points[kind] / self.points[end, kind, component]
        inputs = np.zeros((len(kind), 2 * components))
        at = np.arange(len(kind))
        inputs[at, component] = number * self.sizes[end, kind, component]
        inputs[at, components + component] = number
        programme.add(inputs[:, rows], kind)
        prices = np.zeros(2 * components)
        prices[rows] = programme.solve()[1]
        return prices

    def _worth(self, prices: FloatVector) -> FloatMatrix:
        components = len(self.relaxed.visits)
        instance = np.where(self.counted, prices[components:], 0.0)
        return np.asarray(self.sizes * prices[:components] + instance)

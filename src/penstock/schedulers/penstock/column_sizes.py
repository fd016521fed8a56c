"""Sizes of instances for column generation: tuples/s that one instance of each component takes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penstock.evaluate.capacity import ROUNDING_POINTS
from penstock.model.arrays import FloatMatrix, FloatVector
from penstock.schedulers.penstock.aggregate import AggregateProblem

#: Just below what fills a thread, so that rounding never makes it too much.
_JUST_BELOW = 1.0 - 1e-12


@dataclass(frozen=True)
class Sizes:
    """Tuples/s of one instance of each component, and what follows from them."""

    aggregate: AggregateProblem
    #: Shape (C,).
    each: FloatVector

    @classmethod
    def first(cls, aggregate: AggregateProblem, ideal_rate: FloatMatrix, least: float) -> Sizes:
        """An instance fills its thread on the slowest type with so much of the ideal solution."""
        most = np.divide(
            _spare_points(aggregate),
            aggregate.e,
            out=np.full(aggregate.e.shape, np.inf),
            where=aggregate.e > 0,
        )
        used = ideal_rate > least * np.maximum(ideal_rate.sum(axis=1, keepdims=True), 1e-300)
        sizes = np.where(used, most, np.inf).min(axis=1)
        sizes = np.where(np.isfinite(sizes), sizes, np.maximum(most, 0.0).max(axis=1))
        limit = aggregate.visits * aggregate.bound
        return cls(aggregate, np.clip(sizes, 1e-9 * limit, limit) * _JUST_BELOW)

    def divided(self, by: float) -> Sizes:
        return Sizes(self.aggregate, self.each / by)

    def changed(self, relative: FloatVector) -> Sizes:
        limit = self.aggregate.visits * self.aggregate.bound
        return Sizes(self.aggregate, np.minimum(self.each * (1.0 + relative) * _JUST_BELOW, limit))

    def with_one(self, component: int, size: float) -> Sizes:
        each = self.each.copy()
        each[component] = size
        return Sizes(self.aggregate, each)

    def beside(self, component: int) -> list[float]:
        """The next larger and smaller size that fills a thread on some kind."""
        aggregate, now = self.aggregate, float(self.each[component])
        spare, e = _spare_points(aggregate)[component], aggregate.e[component]
        full = np.divide(spare, e, out=np.zeros(len(e)), where=e > 0) * _JUST_BELOW
        full = np.minimum(full, aggregate.visits[component] * aggregate.bound)
        larger = full[full > now * 1.001].tolist()
        smaller = full[(full < now * 0.999) & (full > 0)].tolist()
        return ([min(larger)] if larger else []) + ([max(smaller)] if smaller else [])

    @cached_property
    def work(self) -> FloatMatrix:
        """Points of an instance's tuples on each kind, shape (C, K)."""
        return self.aggregate.e * self.each[:, None]

    @cached_property
    def points(self) -> FloatMatrix:
        """Points of an instance, overhead included, on each kind; inf beyond its thread, (C, K)."""
        points = self.work + self.aggregate.met
        return np.where(points <= self.aggregate.threads + ROUNDING_POINTS, points, np.inf)

    @cached_property
    def gain(self) -> FloatVector:
        """Part of all that a component can have to do that one instance takes, shape (C,)."""
        most = self.aggregate.visits * self.aggregate.bound
        return np.divide(self.each, most, out=np.ones(len(most)), where=self.aggregate.visits > 0)

    @cached_property
    def enough(self) -> FloatVector:
        """Instances that carry all there can be, shape (C,)."""
        return np.clip(np.ceil(1.0 / np.maximum(self.gain, 1e-9) - 1e-9), 1.0, 1e6)


def _spare_points(aggregate: AggregateProblem) -> FloatMatrix:
    """Points for tuples of an instance that has a machine of each kind to itself, (C, K)."""
    points = np.minimum(aggregate.threads, aggregate.usable - aggregate.base - aggregate.worker)
    return np.asarray(points - aggregate.met)

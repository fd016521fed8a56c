"""How much each instance of a component takes in, for any number of instances.

Under shuffle all instances are alike. A keyed stream gives each instance the keys that hash to it,
so instances differ, and the one with the hottest key may be many times the mean. Instances of
about the same size are one class: a search by classes costs the same for ten and for thousands.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penstock.evaluate.division import divide_evenly, divide_stream
from penstock.model.arrays import FloatVector, IntVector
from penstock.model.problem import Problem
from penstock.model.topology import Kind

#: Instances of one class differ by at most this factor.
_ALIKE = 1.05
_MOST_CLASSES = 24


@dataclass(frozen=True)
class SizeClasses:
    """The instances of one component, the largest first. K classes."""

    component: int
    #: Instance numbers of all classes, one after the other, and where each class begins.
    instances: IntVector
    starts: IntVector
    #: Tuples/s of one instance at scale 1, mean and largest of the class, shape (K,).
    mean: FloatVector
    largest: FloatVector

    @cached_property
    def counts(self) -> IntVector:
        """Instances of each class, shape (K,)."""
        return np.diff(self.starts)

    @property
    def total(self) -> int:
        return len(self.instances)


def instance_inputs(problem: Problem, component: int, count: int) -> FloatVector:
    """Tuples/s of each of ``count`` instances at scale 1, as the cost model divides them."""
    inputs = np.zeros(count)
    no_shares = np.full(count, np.nan)
    target = problem.components[component]
    if target.kind is Kind.SPOUT:
        inputs += problem.spout_rate[component] * divide_evenly(target, count)
    for stream in problem.streams:
        if stream.target == component:
            flow = problem.visits[stream.source] * stream.selectivity
            inputs += flow * divide_stream(stream, target, no_shares)
    return inputs


def size_classes(problem: Problem, component: int, count: int) -> SizeClasses:
    """The instances of a component in classes of about the same size."""
    inputs = instance_inputs(problem, component, count)
    order = np.argsort(-inputs, kind="stable")
    ordered = inputs[order]
    alike = _ALIKE
    starts = _class_starts(ordered, alike)
    while len(starts) - 1 > _MOST_CLASSES:
        alike = 1.0 + 2.0 * (alike - 1.0)
        starts = _class_starts(ordered, alike)
    counts = np.diff(starts)
    mean = np.add.reduceat(ordered, starts[:-1]) / counts
    return SizeClasses(component, order, starts, mean, ordered[starts[:-1]])


def _class_starts(ordered: FloatVector, alike: float) -> IntVector:
    """Where each class of a list in falling order begins; one entry more marks the end."""
    starts = [0]
    while starts[-1] < len(ordered):
        first = ordered[starts[-1]]
        rest = ordered[starts[-1] :]
        # Sizes fall, so the first that is too small ends the class.
        smaller = int(np.searchsorted(-rest, -first / alike, side="right"))
        starts.append(starts[-1] + max(smaller, 1))
    return np.array(starts, dtype=np.int64)

"""Measurements of many groups, laid out for fits in bulk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from penstock.model.arrays import BoolVector, FloatVector, IntVector
from penstock.telemetry.fit.segments import Segments, stable_order


@dataclass(frozen=True)
class Points:
    """Measurements of components on machine types; a group is one of each."""

    #: Tuples/s, shape (n,).
    rate: FloatVector
    #: CPU points, shape (n,).
    cpu: FloatVector
    #: Variance of the error of ``rate``, shape (n,).
    rate_variance: FloatVector
    time_ms: IntVector
    task: IntVector
    #: Measurements of one cluster may depend on each other.
    cluster: IntVector
    #: Executors of the component at that time.
    instances: FloatVector

    def __len__(self) -> int:
        return len(self.rate)

    def where(self, chosen: BoolVector | IntVector) -> Points:
        return Points(*(getattr(self, column.name)[chosen] for column in fields(self)))


@dataclass(frozen=True)
class GroupedPoints:
    """Points of all groups, one group after another, by rising rate within each.

    The order decides which points share a slice, so equal rates need an order that is the same in
    every run, however the points came: by time, task and cluster.
    """

    points: Points
    groups: Segments
    #: Clusters numbered through, those of one group next to each other.
    cluster: IntVector
    #: Clusters of each group.
    clusters: Segments

    @staticmethod
    def of(points: Points, group: IntVector, number: int) -> GroupedPoints:
        """Of points of groups 0 to ``number`` - 1 in any order."""
        order = point_order(points, group)
        ordered, owner = points.where(order), group[order]
        cluster, clusters = _numbered(ordered.cluster, owner, number)
        groups = Segments(np.bincount(owner, minlength=number))
        return GroupedPoints(ordered, groups, cluster, clusters)

    def __len__(self) -> int:
        return len(self.groups)

    def where(self, chosen: BoolVector) -> GroupedPoints:
        """All groups, with only the chosen points."""
        cluster, owner = self.cluster[chosen], self.clusters.owner
        present = np.zeros(len(owner), dtype=bool)
        present[cluster] = True
        number = np.cumsum(present) - 1
        return GroupedPoints(
            self.points.where(chosen),
            self.groups.where(chosen),
            number[cluster],
            Segments(np.bincount(owner[present], minlength=len(self.groups))),
        )

    def only(self, chosen: BoolVector) -> GroupedPoints:
        """The chosen groups, with all their points."""
        if chosen.all():
            return self
        points = self.where(np.repeat(chosen, self.groups.counts))
        return replace(
            points,
            groups=Segments(self.groups.counts[chosen]),
            clusters=Segments(self.clusters.counts[chosen]),
        )

    def selections(self, chosen: Sequence[BoolVector]) -> GroupedPoints:
        """All groups with the points chosen first, then all with those chosen second, and so on."""
        parts = [self.where(points) for points in chosen]
        before = np.cumsum([0, *(int(part.clusters.counts.sum()) for part in parts)])
        every = np.concatenate([np.flatnonzero(points) for points in chosen])
        return GroupedPoints(
            self.points.where(every),
            Segments(np.concatenate([part.groups.counts for part in parts])),
            np.concatenate([p.cluster + b for p, b in zip(parts, before, strict=False)]),
            Segments(np.concatenate([part.clusters.counts for part in parts])),
        )

    def with_rate(self, rate: FloatVector) -> GroupedPoints:
        """With other rates, and in the order of those."""
        return GroupedPoints.of(
            replace(self.points, rate=rate), self.groups.owner, len(self.groups)
        )

    def with_cpu(self, cpu: FloatVector) -> GroupedPoints:
        return replace(self, points=replace(self.points, cpu=cpu))


def point_order(points: Points, group: IntVector) -> IntVector:
    """By group and rate, and always the same among equals."""
    return stable_order(group, points.rate, points.time_ms, points.task, points.cluster)


def _numbered(cluster: IntVector, owner: IntVector, groups: int) -> tuple[IntVector, Segments]:
    order = stable_order(owner, cluster)
    ordered, owners = cluster[order], owner[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (ordered[1:] != ordered[:-1]) | (owners[1:] != owners[:-1])
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.cumsum(first) - 1
    return numbers, Segments(np.bincount(owners[first], minlength=groups))

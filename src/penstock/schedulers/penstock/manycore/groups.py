"""From a solution over machine types to groups of like instances, and how many are on each type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from penstock.model.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector, sum_by
from penstock.schedulers.penstock.manycore.costs import Costs
from penstock.schedulers.penstock.manycore.deal import round_spread
from penstock.schedulers.penstock.manycore.machines import InstanceGroups
from penstock.schedulers.penstock.manycore.sizes import SizeClasses
from penstock.schedulers.penstock.manycore.type_programme import TypeSolution


class _LikeInstances(NamedTuple):
    """Instances of a component that are alike."""

    component: int
    #: What each takes in, and the largest of them, at scale 1.
    rate: float
    largest: float
    instances: IntVector
    by_type: IntVector


def instances_on_types(
    costs: Costs,
    options: list[list[SizeClasses]],
    solution: TypeSolution,
    most: FloatVector,
    spare: float,
) -> tuple[InstanceGroups, IntMatrix]:
    """Instances that are alike, and how many of each on every type.

    A component with shares gets ``spare`` times the instances that full threads would take, and no
    more than ``most``.
    """
    rows: list[_LikeInstances] = []
    for c, own in enumerate(options):
        if own:
            rows += _rows_of_option(own[0], solution.spread[c][0])
        else:
            rows += _rows_of_shares(costs, c, solution, float(most[c]), spare)
    component, rate, largest, instances, by_type = zip(*rows, strict=True)
    groups = InstanceGroups(
        costs,
        np.array(component, dtype=np.int64),
        np.array(rate),
        np.array(largest),
        tuple(instances),
    )
    return groups, np.array(by_type, dtype=np.int64)


def divided_by_parts(
    costs: Costs, solution: TypeSolution, parts: FloatMatrix, scale: float
) -> TypeSolution:
    """The solution with parts and instances of components with shares by :mod:`.parts`."""
    problem, cluster = costs.problem, costs.problem.cluster
    busy = (problem.instance_points - problem.met)[:, cluster.type_of]
    points = parts * problem.visits[:, None] * costs.e_on * scale
    instances = np.ceil(points / np.maximum(busy, 1e-9) - 1e-6)
    types = len(cluster.types)
    part, number = (
        np.stack([sum_by(cluster.type_of, row, types) for row in rows])
        for rows in (parts, instances)
    )
    return replace(solution, part=part, instances=number)


def _rows_of_shares(
    costs: Costs, c: int, solution: TypeSolution, most: float, spare: float
) -> Iterator[_LikeInstances]:
    """A component with shares: on each type as many instances as its part there needs."""
    part, first = solution.part[c], 0
    has_room = solution.memory_price <= 0
    wanted = np.ceil(solution.instances[c] * np.where(has_room, spare, 1.0) - 1e-6)
    number = np.minimum(np.nan_to_num(wanted, posinf=0.0), most).astype(np.int64)
    number = np.where(part > 1e-9, np.maximum(number, 1), 0)
    if not number.any():
        number[int(solution.instances[c].argmax())] = 1
    for t in np.flatnonzero(number).tolist():
        by_type = np.zeros(len(number), dtype=np.int64)
        by_type[t] = number[t]
        rate = float(part[t] * costs.problem.visits[c] / number[t])
        yield _LikeInstances(c, rate, rate, first + np.arange(number[t]), by_type)
        first += int(number[t])


def _rows_of_option(option: SizeClasses, spread: FloatMatrix) -> Iterator[_LikeInstances]:
    whole = round_spread(spread, option.counts)
    for k in range(len(option.mean)):
        instances = option.instances[option.starts[k] : option.starts[k + 1]]
        mean, largest = float(option.mean[k]), float(option.largest[k])
        yield _LikeInstances(option.component, mean, largest, instances, whole[k])

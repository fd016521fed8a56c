"""Keys in few instances: the largest bucket, where memory leaves room for few of them.

With n instances of a component, one of them gets the largest of n buckets of a keyed stream. How
many there can be at scale R the bound's programme says: N(R), the most instances of the component
in any solution that carries R, falls as R grows. So R can only be carried if the least largest
bucket of any n <= N(R) fits the fastest thread, and where that no longer holds is found by
bisection.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from penstock.evaluate.division import largest_bucket
from penstock.evaluate.programme import Programme
from penstock.model.arrays import FloatVector
from penstock.model.flat_stream import FlatStream
from penstock.model.problem import Problem

#: With more instances than this the largest bucket is little more than the hottest key.
_MANY = 300
#: Work of dealing keys, in keys times instances, that is not exceeded.
_MOST_WORK = 3e7
_HALVINGS = 14
#: Instances where nothing limits them.
_ANY = 1e9
#: Rounding must not leave a plan above the bound.
_JUST_ABOVE = 1.0 + 1e-9


def limit_by_buckets(
    problem: Problem, programme: Programme, bound: float
) -> tuple[float, int] | None:
    """The lowest scale above which some largest bucket fits no thread, and its component.

    ``None`` where no keyed component has so little room.
    """
    lowest: tuple[float, int] | None = None
    for stream in problem.streams:
        if _is_dealt(problem, stream):
            highest = bound if lowest is None else lowest[0]
            scale = _limit_of(problem, programme, stream, highest)
            if scale < highest:
                lowest = scale, stream.target
    return lowest


def _is_dealt(problem: Problem, stream: FlatStream) -> bool:
    """Whether its keys are dealt to as many buckets as there are instances."""
    return bool(
        stream.grouping.is_keyed
        and stream.keys
        and stream.key_skew > 0
        and stream.keys <= _MOST_WORK / _MANY
        and problem.components[stream.target].tasks is None
        and problem.visits[stream.source] * stream.selectivity > 0
    )


def _limit_of(problem: Problem, programme: Programme, stream: FlatStream, bound: float) -> float:
    flow = float(problem.visits[stream.source]) * stream.selectivity
    fastest = _fastest_thread(problem, stream.target)

    def is_open(scale: float) -> bool:
        number = most_instances(programme, stream.target, scale)
        if number > _MANY:
            return True
        most = max(int(np.floor(number)), 1)
        bucket = min(largest_bucket(stream.keys, stream.key_skew, n) for n in range(1, most + 1))
        return scale * flow * bucket <= fastest * _JUST_ABOVE

    if not np.isfinite(fastest) or is_open(bound):
        return bound
    below, above = 0.0, bound
    for _ in range(_HALVINGS):
        middle = 0.5 * (below + above)
        if is_open(middle):
            below = middle
        else:
            above = middle
    return above * _JUST_ABOVE


def _fastest_thread(problem: Problem, component: int) -> float:
    """Tuples/s that one instance takes in at most, on machines of any type."""
    there = problem.cluster.machines_per_type > 0
    e, room = problem.e[component], problem.instance_points[component] - problem.met[component]
    if (e[there] <= 0).any():
        return float("inf")
    return float(np.max(np.maximum(room[there], 0.0) / e[there]))


def most_instances(programme: Programme, component: int, scale: float) -> float:
    """No solution that carries the scale has more instances of a component.

    The solver is not trusted: weak duality with its prices, as everywhere in the bound.
    """
    if scale > programme.upper[-1]:
        return float("inf")
    pairs = len(programme.component)
    instances = slice(pairs, 2 * pairs)
    worth, lower = np.zeros_like(programme.upper), np.zeros_like(programme.upper)
    worth[instances] = programme.component == component
    lower[-1] = scale
    upper = programme.upper.copy()
    # Not what is sensible, as there, but whatever a type has room for.
    upper[instances] = _room_for_instances(programme)[instances]
    solved = linprog(
        -worth,
        A_ub=programme.matrix,
        b_ub=programme.right,
        bounds=np.stack([lower, upper], axis=1),
        method="highs",
    )
    if solved.x is None:
        return float("inf")
    prices = np.maximum(-solved.ineqlin.marginals, 0.0)
    reduced = worth - programme.matrix.T @ prices
    limits = np.where(reduced > 0, upper, lower)
    return float(programme.right @ prices + reduced @ limits) + 1e-6


def _room_for_instances(programme: Programme) -> FloatVector:
    """How many instances of each column alone a type's CPU and resources have room for."""
    room = np.full(len(programme.upper), _ANY)
    for rows in (programme.cpu_rows, *(rows for rows, _ in programme.resource_rows)):
        block = programme.matrix[rows].tocoo()
        row, column = block.coords
        each = np.full(len(block.data), _ANY)
        np.divide(programme.right[rows][row], block.data, out=each, where=block.data > 0)
        np.minimum.at(room, column, each)
    return room

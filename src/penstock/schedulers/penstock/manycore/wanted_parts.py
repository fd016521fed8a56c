"""Who should be where before there are instances, and how many instances that takes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.evaluate.bound import Bound
from penstock.evaluate.movement import can_matter
from penstock.model.arrays import FloatMatrix
from penstock.model.problem import Problem
from penstock.schedulers.penstock.manycore.options import Options
from penstock.schedulers.penstock.manycore.parts import PartsProgramme
from penstock.schedulers.penstock.manycore.sizes import SizeClasses

#: A machine that should have so much of an instance gets one.
_HALF = 0.5


def wanted_parts(problem: Problem, bound: Bound) -> list[FloatMatrix | None]:
    """The part of each component for each machine, (C, M); ``None`` where any division will do.

    Where instances with the hottest keys need their peers beside them: first with those there,
    then by machines alone, which is easier to pack.
    """
    if not can_matter(problem):
        return [None]
    programme = PartsProgramme.before_instances(problem)
    even = programme.even_parts()
    if not programme.movement_binds(even, bound.scale):
        return [None]
    ways = [programme]
    if programme.hot:
        ways.append(replace(programme, hot=()))
    return [way.within_slots(way.improved(even)) for way in ways]


def fit_where_wanted(
    options: Options, chosen: list[list[SizeClasses]], parts: FloatMatrix, scale: float
) -> list[list[SizeClasses]] | None:
    """So many instances that each fits the threads of all machines that should have some.

    Counts were chosen for the average machine of a type; ``None`` where they fit already.
    """
    problem, costs, finer = options.problem, options.costs, list(chosen)
    if problem.given_counts is not None:
        return None
    threads = (problem.instance_points - problem.met)[:, problem.cluster.type_of]
    for c, own in enumerate(chosen):
        if not own or options.keyed[c]:
            continue
        wanted = (parts[c] * own[0].total >= _HALF) & (threads[c] > 0)
        points = problem.visits[c] * scale * costs.e_on[c, wanted]
        needed = np.ceil((points / threads[c, wanted]).max(initial=0.0) - 1e-9)
        count = int(min(needed, options.most[c]))
        if count > own[0].total:
            finer[c] = [options.classes(c, count)]
    return None if all(a is b for a, b in zip(finer, chosen, strict=True)) else finer

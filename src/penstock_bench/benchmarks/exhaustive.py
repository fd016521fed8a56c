"""The plain exhaustive search: every count of every component on every machine, nothing clever.

Shuffle grouping, CPU only; the oracle that ``optimal`` must equal where both can run.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from penstock.model.arrays import FloatVector, IntMatrix
from penstock.model.problem import Problem


def patterns(components: int, most: int) -> IntMatrix:
    """Every way to put at most ``most`` instances on one machine."""
    ranges = product(range(most + 1), repeat=components)
    return np.array([p for p in ranges if sum(p) <= most], dtype=np.int64)


def best_scale(problem: Problem, per_machine: int) -> float:
    """The largest sustainable scale of any placement with so many instances per machine."""
    cluster = problem.cluster
    options = patterns(len(problem.components), per_machine)
    memory = options @ np.nan_to_num(problem.memory_mb)
    per_type = []
    for kind in cluster.types:
        limit = np.inf if kind.memory_mb is None else kind.memory_mb
        per_type.append(options[memory <= limit])
    choices = [per_type[t] for t in cluster.type_of.tolist()]
    best = 0.0
    # All patterns of the last machine at once, those of the others one by one.
    *outer, last = choices
    for picked in product(*(range(len(c)) for c in outer)):
        held = [c[i] for c, i in zip(outer, picked, strict=True)]
        counts = np.sum(held, axis=0) + last if held else last
        ok = (counts >= 1).all(axis=1) & (counts <= problem.most_instances).all(axis=1)
        if not ok.any():
            continue
        counts, mine = counts[ok], last[ok]
        scale = _machine_scales(problem, len(choices) - 1, mine, counts)
        for machine, pattern in enumerate(held):
            alone = np.broadcast_to(pattern, counts.shape)
            scale = np.minimum(scale, _machine_scales(problem, machine, alone, counts))
        best = max(best, float(scale.max()))
    return best


def _machine_scales(
    problem: Problem, machine: int, pattern: IntMatrix, counts: IntMatrix
) -> FloatVector:
    """The scale at which one machine is full, for each row."""
    kind = int(problem.cluster.type_of[machine])
    room = problem.cluster.types[kind].cpu_points - pattern @ problem.met[:, kind]
    slope = (pattern * (problem.e[:, kind] * problem.visits) / counts).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(slope > 0, room / slope, np.inf)
    return np.where(room < 0, 0.0, scale)

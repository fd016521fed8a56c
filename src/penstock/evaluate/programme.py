"""The linear programme behind the upper bound: its matrices and its solution by HiGHS.

What it says and why it bounds every plan is told in :mod:`penstock.evaluate.bound`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from penstock.evaluate.capacity import ROUNDING_POINTS
from penstock.evaluate.rates import visit_ratios
from penstock.model.arrays import FloatVector, IntVector, scaled
from penstock.model.problem import UNLIMITED, Problem

_INFEASIBLE = 2


@dataclass(frozen=True)
class Programme:
    """max scale  s.t.  A v <= b, 0 <= v <= u;  v = (x of each pair, n of each pair, ..., scale)."""

    #: Component and type of each pair that may run.
    component: IntVector
    kind: IntVector
    matrix: sparse.csr_array
    right: FloatVector
    upper: FloatVector
    #: Rows of the "all input is handled" and CPU constraints.
    handled_rows: slice
    cpu_rows: slice
    #: What one machine of each type adds to the right-hand side of the latter, shape (types,).
    cpu_per_machine: FloatVector
    #: The same of each hard resource: its rows, and what a machine adds to them.
    resource_rows: tuple[tuple[slice, FloatVector], ...]


@dataclass(frozen=True)
class Solution:
    """An optimal solution. ``prices`` are the dual values of the rows."""

    #: Tuples/s and instances of each pair.
    rate: FloatVector
    instances: FloatVector
    prices: FloatVector


def solve(programme: Programme) -> Solution | None:
    """Solve it; ``None`` if it has no solution at all."""
    objective = np.zeros(len(programme.upper))
    objective[-1] = 1.0
    solved = linprog(
        -objective,
        A_ub=programme.matrix,
        b_ub=programme.right,
        bounds=np.stack([np.zeros_like(programme.upper), programme.upper], axis=1),
        method="highs",
    )
    if solved.status == _INFEASIBLE:
        return None
    if solved.x is None:
        raise RuntimeError(f"the bound's linear programme failed: {solved.message}")
    pairs = len(programme.component)
    return Solution(
        rate=solved.x[:pairs],
        instances=solved.x[pairs : 2 * pairs],
        prices=-solved.ineqlin.marginals,
    )


def formulate(problem: Problem) -> Programme:
    """The programme of a problem, in sparse matrices."""
    cluster = problem.cluster
    machines = cluster.machines_per_type.astype(np.float64)
    # A machine in use pays for itself and for at least one worker process.
    overhead = cluster.per_type("base_cpu_points") + cluster.per_type("worker_cpu_points")
    cpu = np.maximum(cluster.usable_cpu_per_type - overhead, 0.0)
    table = problem.resources.only_hard
    offered = np.maximum(table.capacity_of_type - table.worker_on_type, 0.0)

    # What an instance can spend on tuples; a pair that has nothing for them cannot run.
    busy = np.minimum(problem.instance_points, cpu) - problem.met
    holds_one = (table.request[:, None] <= offered + ROUNDING_POINTS).all(axis=2)
    may_run = (busy >= -ROUNDING_POINTS) & np.isfinite(problem.e) & holds_one
    busy = np.maximum(busy, 0.0)
    component, kind = np.nonzero(may_run)
    e, met, busy = problem.e[may_run], problem.met[may_run], busy[may_run]
    ratios = visit_ratios(problem)

    of_component = _selector(component, len(problem.components))
    of_type = _selector(kind, len(cluster.types))
    limited = np.flatnonzero(problem.most_instances != UNLIMITED)
    scale_column = sparse.csr_array(ratios[:, None])
    # Rows of types without a limit are kept, empty, so that rows and types correspond.
    is_limited = np.isfinite(offered)
    needs = np.where(is_limited[kind], table.request[component], 0.0).T
    per_machine = np.where(is_limited, offered, 0.0).T
    blocks = [
        [-of_component, None, scale_column],  # all input is handled
        [None, -of_component, None],  # at least one instance
        [None, of_component[limited], None],  # at most max_instances
        [sparse.diags_array(e), -sparse.diags_array(busy), None],  # an instance is one thread
        [of_type @ sparse.diags_array(e), of_type @ sparse.diags_array(met), None],  # CPU
        *([None, of_type @ sparse.diags_array(need), None] for need in needs),  # resources
    ]
    heights = [len(ratios), len(ratios), len(limited), len(e)]
    heights += [len(machines)] * (1 + len(needs))
    ends = np.cumsum(heights)
    right = np.concatenate(
        [
            np.zeros(len(ratios)),
            -np.ones(len(ratios)),
            problem.most_instances[limited].astype(np.float64),
            np.zeros(len(e)),
            machines * cpu,
            *(machines * each for each in per_machine),
        ]
    )
    return Programme(
        component=component,
        kind=kind,
        matrix=_stack(blocks, heights, len(e)),
        right=right,
        upper=_upper_limits(component, e, np.maximum(busy, met), (machines * cpu)[kind], ratios),
        handled_rows=slice(0, len(ratios)),
        cpu_rows=slice(int(ends[3]), int(ends[4])),
        cpu_per_machine=cpu,
        resource_rows=tuple(
            (slice(int(first), int(end)), each)
            for first, end, each in zip(ends[4:-1], ends[5:], per_machine, strict=True)
        ),
    )


def _selector(index: IntVector, rows: int) -> sparse.csr_array:
    """Row i sums the pairs whose index is i."""
    ones = np.ones(len(index))
    return sparse.csr_array((ones, (index, np.arange(len(index)))), shape=(rows, len(index)))


def _stack(
    blocks: list[list[sparse.sparray | None]], heights: list[int], pairs: int
) -> sparse.csr_array:
    widths = (pairs, pairs, 1)
    filled = [
        [
            sparse.csr_array((height, width)) if block is None else block
            for block, width in zip(row, widths, strict=True)
        ]
        for row, height in zip(blocks, heights, strict=True)
    ]
    return sparse.block_array(filled, format="csr")


def _upper_limits(
    component: IntVector,
    e: FloatVector,
    points_each: FloatVector,
    type_cpu: FloatVector,
    ratios: FloatVector,
) -> FloatVector:
    """Limits that every sensible solution keeps; the safe bound needs each to be finite."""
    rate = np.divide(type_cpu, e, out=np.full(len(e), np.inf), where=e > 0)
    most = np.bincount(component, rate, minlength=len(ratios))
    needed = ratios > 0
    scale = float(np.min(most[needed] / ratios[needed])) if needed.any() else np.inf
    # Work that costs nothing per tuple is limited by the tuples there are.
    rate = np.minimum(rate, scaled(ratios[component], scale))
    # More instances than one plus what the CPU can pay for or keep busy only cost.
    instances = 1.0 + np.divide(type_cpu, points_each, out=np.zeros(len(e)), where=points_each > 0)
    # Twice that: a limit that binds would take the price that belongs to a row.
    return 2.0 * np.concatenate([rate, instances, [scale]])

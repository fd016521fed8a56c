"""Shares where a tuple costs more when it crosses processes (e_remote), by steps of programmes.

What crosses depends on the shares at both ends: of a stream from a to b a machine sends away what
its part of a gives to the others' part of b. So its CPU is bilinear in the parts it has of all
components. From the shares of a plan that exists, the programme linearised there says how to change
them, within a distance in which the line is trusted; a step that makes it worse is taken back and
tried at a quarter of the distance. Machines that hold the same and carry the same are one group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from penstock.evaluate.capacity import capacity
from penstock.evaluate.terms import held_table
from penstock.model.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from penstock.model.placement import Placement
from penstock.model.problem import Problem

_STEPS = 30
#: How far a part may move at once, over itself and the mean part of an instance of its component.
_TRUST, _LEAST_TRUST = 0.5, 1e-3
#: A step that gains less is the last: most of thirty gained next to nothing.
_BETTER = 1.0 - 1e-5
#: Parts that differ by less are the same, and parts below it are nothing.
_NOTHING = 1e-9


def shares_for_crossings(problem: Problem, placement: Placement) -> Placement:
    """Better shares for the instances where they are, if there are any; idle ones end."""
    before = capacity(problem, placement).scale
    if not (0 < before < np.inf):
        return placement
    groups = _CrossingGroups.of(problem, placement)
    parts, trust = groups.parts, _TRUST
    least = groups.time(parts)
    for _ in range(_STEPS):
        moved = groups.step(parts, trust)
        time = np.inf if moved is None else groups.time(moved)
        if moved is not None and time < least:
            enough = time > least * _BETTER
            parts, least = moved, time
            if enough:
                break
        else:
            trust /= 4
            if trust < _LEAST_TRUST:
                break
    plan = groups.placed(parts)
    if capacity(problem, plan).scale <= before:
        return placement
    idle = plan.share == 0.0
    if not idle.any() or problem.given_counts is not None:
        return plan
    # Without those that get nothing there is more room, so it begins anew.
    busy = ~idle
    rest = Placement.of(plan.component[busy], plan.machine[busy], plan.slot[busy], plan.share[busy])
    return shares_for_crossings(problem, rest)


@dataclass(frozen=True)
class _CrossingGroups:
    """A plan's machines in groups. G groups, C components; parts are of one machine."""

    placement: Placement
    group_of: IntVector
    #: Machines of each group, and points of one for tuples, shape (G,).
    machines: IntVector
    room: FloatVector
    #: Instances on one machine, and the part of each component's input that it takes, (G, C).
    counts: IntMatrix
    parts: FloatMatrix
    #: Points per part: tuples themselves, and for each tuple/s that crosses, shape (G, C).
    work: FloatMatrix
    remote: FloatMatrix
    #: Points that the threads of a machine's instances have for tuples, shape (G, C).
    threads: FloatMatrix
    #: Tuples/s between two components at scale 1, both ways together, shape (C, C).
    between: FloatMatrix
    fed: IntVector

    @classmethod
    def of(cls, problem: Problem, placement: Placement) -> _CrossingGroups:
        judged = capacity(problem, placement)
        table = held_table(problem, placement)
        visits = problem.visits
        parts = np.zeros(table.shape)
        rates = judged.rates.per_instance
        fed = visits > 0
        np.add.at(
            parts,
            (placement.machine, placement.component),
            np.divide(
                rates,
                visits[placement.component],
                out=np.zeros(len(rates)),
                where=fed[placement.component],
            ),
        )
        room = problem.cluster.usable_cpu - judged.machine_fixed
        alike = np.column_stack(
            [problem.cluster.type_of, table, np.round(parts / _NOTHING), np.round(room, 9)]
        )
        _, first, group_of, machines = np.unique(
            alike, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        kind = problem.cluster.type_of[first]
        between = np.zeros((len(visits), len(visits)))
        for stream in problem.streams:
            flow = stream.selectivity * visits[stream.source]
            between[stream.source, stream.target] += flow
            between[stream.target, stream.source] += flow
        return cls(
            placement=placement,
            group_of=group_of.reshape(-1),
            machines=machines,
            room=room[first],
            counts=table[first],
            parts=parts[first],
            work=(problem.e * visits[:, None]).T[kind],
            remote=problem.e_remote.T[kind],
            threads=(problem.instance_points - problem.met).T[kind] * table[first],
            between=between,
            fed=np.flatnonzero(fed),
        )

    def _cost(self, parts: FloatMatrix) -> FloatMatrix:
        """Points per part of each component at scale 1, what crosses included, shape (G, C)."""
        return self.work + self.remote * ((1.0 - parts) @ self.between)

    def time(self, parts: FloatMatrix) -> float:
        """One over the scale: the part of the fullest machine or thread at scale 1."""
        points = parts * self._cost(parts)
        used = points > 0
        threads = np.divide(points, self.threads, out=np.zeros(points.shape), where=used)
        return float(max((points.sum(axis=1) / self.room).max(), threads.max()))

    def step(self, parts: FloatMatrix, trust: float) -> FloatMatrix | None:
        """The best parts by the programme linearised at these."""
        is_fed = np.isin(np.arange(parts.shape[1]), self.fed)
        group, component = np.nonzero((self.counts > 0) & is_fed)
        pairs, at = len(group), np.arange(len(group))
        cost = self._cost(parts)
        slope = (cost - (parts * self.remote) @ self.between)[group, component]
        # A machine: points now + slope * change <= room * time; the same for threads.
        now = (parts * cost).sum(axis=1)
        now -= np.bincount(group, slope * parts[group, component], len(self.room))
        machine_rows = sparse.csr_array(
            (
                np.concatenate([slope, -self.room]),
                (
                    np.concatenate([group, np.arange(len(self.room))]),
                    np.concatenate([at, np.full(len(self.room), pairs)]),
                ),
            )
        )
        thread_rows = sparse.csr_array(
            (
                np.concatenate([cost[group, component], -self.threads[group, component]]),
                (np.concatenate([at, at]), np.concatenate([at, np.full(pairs, pairs)])),
            )
        )
        whole = sparse.csr_array(
            (self.machines[group].astype(np.float64), (component, at)),
            shape=(parts.shape[1], pairs + 1),
        )[self.fed]
        mean = 1.0 / np.maximum(self.machines @ self.counts, 1)
        reach = trust * (parts + self.counts * mean)[group, component]
        low = np.maximum(parts[group, component] - reach, 0.0)
        high = np.minimum(parts[group, component] + reach, 1.0)
        solved = linprog(
            np.concatenate([np.zeros(pairs), [1.0]]),
            A_ub=sparse.vstack([machine_rows, thread_rows], format="csr"),
            b_ub=np.concatenate([-now, np.zeros(pairs)]),
            A_eq=whole,
            b_eq=np.ones(len(self.fed)),
            bounds=np.column_stack([np.append(low, 0.0), np.append(high, np.inf)]),
            method="highs",
        )
        if solved.x is None:
            return None
        moved = np.zeros(parts.shape)
        moved[group, component] = np.where(solved.x[:-1] > _NOTHING, solved.x[:-1], 0.0)
        total = self.machines @ moved
        return np.divide(moved, total, out=np.zeros(parts.shape), where=total > 0)

    def placed(self, parts: FloatMatrix) -> Placement:
        """The placement with these parts as shares, each machine's divided among its instances."""
        placement = self.placement
        each = np.divide(parts, self.counts, out=np.zeros(parts.shape), where=self.counts > 0)
        shares = each[self.group_of[placement.machine], placement.component]
        unfed = ~np.isin(placement.component, self.fed)
        return Placement.of(
            placement.component,
            placement.machine,
            placement.slot,
            np.where(unfed, np.nan, shares),
        )

"""What must move between machines, as rows of the bound's programme (e_remote, network cards).

A machine w that takes in the part s_a(w) of component a and s_b(w) of b keeps s_a(w) s_b(w) of a
stream from a to b to itself. To hold both it needs E_a s_a + E_b s_b points, with E_a those that
all of a would need on such a machine at the scale; with U points there, for every alpha in [0, 1]

    s_a s_b  <=  alpha^2 (U / E_b) s_a  +  (1 - alpha)^2 (U / E_a) s_b

(the concave envelope of the product over the triangle E_a s_a + E_b s_b <= U is s_a s_b U over
E_a s_a + E_b s_b; Cauchy's inequality gives the lines). So the tuples kept on machines of a type
are at most a few linear functions of what the type takes in, and the rest crosses: it costs
e_remote at both ends and goes through a card. E grows with the scale, hence these rows hold for
every plan of at least the scale they are made for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from penstock.evaluate.capacity import BYTES_PER_MEGABIT
from penstock.evaluate.programme import Programme
from penstock.model.arrays import FloatVector, IntVector
from penstock.model.flat_stream import FlatStream
from penstock.model.problem import Problem
from penstock.model.topology import Grouping

_ALPHAS = (0.2, 0.35, 0.5, 0.65, 0.8)


def can_matter(problem: Problem) -> bool:
    """Whether moving a tuple costs anything or goes through a card that has a limit."""
    return problem.has_remote_cost or (
        problem.cluster.has_nic and any(s.tuple_bytes > 0 for s in problem.streams)
    )


def with_movement(problem: Problem, programme: Programme, scale: float) -> Programme:
    """The programme for plans of at least ``scale``, with what moves in it."""
    rows = _Rows(problem, programme, scale)
    for stream in problem.streams:
        if stream.grouping is not Grouping.ALL and problem.visits[stream.source] > 0:
            rows.add(stream)
    return rows.programme()


@dataclass
class _Entries:
    """A sparse matrix in the making."""

    row: list[IntVector]
    column: list[IntVector]
    value: list[FloatVector]

    def put(self, row: IntVector, column: IntVector, value: FloatVector) -> None:
        self.row.append(row)
        self.column.append(column)
        self.value.append(value)


class _Rows:
    def __init__(self, problem: Problem, programme: Programme, scale: float) -> None:
        self.problem, self.base, self.scale = problem, programme, scale
        cluster = problem.cluster
        self.types = np.flatnonzero(cluster.machines_per_type > 0)
        self.room = programme.cpu_per_machine[self.types]
        pairs = len(programme.component)
        #: Column of each pair's tuples/s, -1 where it cannot run, shape (C, T).
        self.pair = np.full((len(problem.components), len(cluster.types)), -1, dtype=np.int64)
        self.pair[programme.component, programme.kind] = np.arange(pairs)
        self.kept = 2 * pairs  # the first new column
        self.columns = self.kept
        self.entries = _Entries([], [], [])
        self.height = len(programme.right)
        self.right: list[float] = []
        self.upper: list[float] = []
        #: How the streams into each component are divided.
        self.inputs: dict[int, list[tuple[Grouping, int, float]]] = {}
        for s in problem.streams:
            how = (s.grouping, s.keys, s.key_skew)
            self.inputs.setdefault(s.target, []).append(how)
        nic = cluster.per_type("nic_mbps", np.inf)[self.types] * BYTES_PER_MEGABIT
        self.nic = nic * cluster.machines_per_type[self.types]
        self.nic_rows = self._new_rows(self.nic, np.isfinite(self.nic))

    def _new_rows(self, right: FloatVector, wanted: np.ndarray) -> tuple[IntVector, IntVector]:
        """Rows for bytes out and bytes in of each type; -1 where a type has no limit."""
        found = []
        for _ in range(2):
            rows = np.full(len(right), -1, dtype=np.int64)
            rows[wanted] = self.height + len(self.right) + np.arange(int(wanted.sum()))
            self.right += right[wanted].tolist()
            found.append(rows)
        return found[0], found[1]

    def add(self, stream: FlatStream) -> None:
        """One column per type for what stays on its machines, and the rows that limit it."""
        problem, a, b = self.problem, stream.source, stream.target
        flow = float(problem.visits[a] * stream.selectivity)
        if flow <= 0:
            return
        alike = self._divided_alike(b)
        into = flow / float(problem.visits[b]) if alike else 1.0
        kept = self.columns + np.arange(len(self.types))
        self.columns += len(self.types)
        self.upper += [flow] * len(self.types)
        x_a, x_b = self.pair[a, self.types], self.pair[b, self.types]
        self._limit(kept, [(x_a, stream.selectivity)])
        self._limit(kept, [(x_b, into)])
        if stream.grouping is not Grouping.LOCAL_OR_SHUFFLE:
            most_a, most_b = self._most_parts(a, b, flow, alike=alike)
            self._limit(kept, [(x_a, stream.selectivity * np.minimum(most_b, 1.0))])
            self._limit(kept, [(x_b, into * np.minimum(most_a, 1.0))])
            for alpha in _ALPHAS:
                from_a = alpha**2 * stream.selectivity * most_b
                from_b = (1.0 - alpha) ** 2 * into * most_a
                self._limit(kept, [(x_a, from_a), (x_b, from_b)])
        self._charge(stream, kept, x_a, x_b, into if alike else 0.0)

    def _divided_alike(self, b: int) -> bool:
        """Whether an instance of b has the same part of all its streams; else it is not known."""
        ways = self.inputs[b]
        follows_places = Grouping.LOCAL_OR_SHUFFLE in {grouping for grouping, _, _ in ways}
        return len(ways) == 1 or (len(set(ways)) == 1 and not follows_places)

    def _most_parts(
        self, a: int, b: int, flow: float, *, alike: bool
    ) -> tuple[FloatVector, FloatVector]:
        """The largest part of a, and of the stream at b, on one machine of each type."""
        e, visits = self.problem.e[:, self.types], self.problem.visits
        arriving = float(visits[b]) if alike else flow
        work_a, work_b = e[a] * visits[a] * self.scale, e[b] * arriving * self.scale
        never = np.full(len(self.types), np.inf)
        most_a = np.divide(self.room, work_a, out=never.copy(), where=work_a > 0)
        most_b = np.divide(self.room, work_b, out=never, where=work_b > 0)
        # A part is at most all of it; infinity times nothing is not a number.
        return np.minimum(most_a, 1e6), np.minimum(most_b, 1e6)

    def _limit(self, kept: IntVector, terms: list[tuple[IntVector, object]]) -> None:
        """kept <= the sum of these multiples, for each type."""
        row = self.height + len(self.right) + np.arange(len(kept))
        self.right += [0.0] * len(kept)
        self.entries.put(row, kept, np.ones(len(kept)))
        for column, factor in terms:
            there = column >= 0
            value = -np.broadcast_to(np.asarray(factor, dtype=np.float64), len(kept))
            self.entries.put(row[there], column[there], value[there])

    def _charge(
        self, stream: FlatStream, kept: IntVector, x_a: IntVector, x_b: IntVector, into: float
    ) -> None:
        """CPU and card of what is not kept; at the target only where its part is known."""
        remote = self.problem.e_remote[:, self.types]
        cpu = self.base.cpu_rows.start + self.types
        size = stream.tuple_bytes
        out_rows, in_rows = self.nic_rows
        ends = [(x_a, stream.selectivity, remote[stream.source], out_rows)]
        if into > 0:
            ends.append((x_b, into, remote[stream.target], in_rows))
        for column, factor, points, card in ends:
            for rows, cost in ((cpu, points), (card, np.full(len(kept), size))):
                there = (rows >= 0) & (cost > 0)
                self.entries.put(rows[there], kept[there], -cost[there])
                there &= column >= 0
                self.entries.put(rows[there], column[there], (factor * cost)[there])

    def programme(self) -> Programme:
        base, added = self.base, self.columns - self.kept
        height = self.height + len(self.right)
        body = sparse.csr_array(base.matrix[:, :-1])
        body.resize((height, self.columns))
        scale = sparse.csr_array(base.matrix[:, [-1]])
        scale.resize((height, 1))
        row, column, value = (
            np.concatenate(part) if part else np.zeros(0)
            for part in (self.entries.row, self.entries.column, self.entries.value)
        )
        extra = sparse.csr_array(
            (value, (row.astype(np.int64), column.astype(np.int64))), shape=(height, self.columns)
        )
        upper = np.concatenate(
            [base.upper[:-1], 2.0 * np.array(self.upper) * base.upper[-1], base.upper[-1:]]
        )
        assert len(upper) == self.kept + added + 1
        return replace(
            base,
            matrix=sparse.hstack([body + extra, scale], format="csr"),
            right=np.concatenate([base.right, self.right]),
            upper=upper,
        )

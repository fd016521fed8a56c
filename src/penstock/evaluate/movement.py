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

All streams together share the machine's points: with z_c = E_c s_c / U and sum z <= 1, what w keeps
is sum over streams of K_ab z_a z_b, and for any mu >= 0 with mu_a + mu_b >= sqrt(K_ab)

    sum K_ab z_a z_b  <=  sum mu_c^2 z_c

where the streams have no odd cycle. Proof: on sum z = 1 the right side is sum over pairs of
(mu_c^2 + mu_d^2) z_c z_d / 2 twice; subtracting the left leaves at least the square of (sum over
one side of mu z, less that over the other side) plus (mu_c - mu_d)^2 z_c z_d for pairs on one side.
Which mu are best depends on who is where in the solution: rows are added for the solutions before.

A card limits the parts too: what a machine sends, s_a (1 - s_b) of a stream, goes through it. So
s_a is at most card / (1 - most s_b), and s_b likewise, again and again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from penstock.evaluate.capacity import BYTES_PER_MEGABIT
from penstock.evaluate.programme import Programme
from penstock.model.arrays import FloatMatrix, FloatVector, IntVector
from penstock.model.flat_stream import FlatStream
from penstock.model.problem import Problem
from penstock.model.topology import Grouping

_ALPHAS = (0.2, 0.35, 0.5, 0.65, 0.8)
#: Multipliers made smaller, one after the other.
_SWEEPS = 100
#: How often two limits that depend on each other are worked out.
_CARD_ROUNDS = 8
#: Rounding must not make a limit false.
_JUST_ABOVE = 1.0 + 1e-12


def can_matter(problem: Problem) -> bool:
    """Whether moving a tuple costs anything or goes through a card that has a limit."""
    return problem.has_remote_cost or (
        problem.cluster.has_nic and any(s.tuple_bytes > 0 for s in problem.streams)
    )


def with_movement(
    problem: Problem, programme: Programme, scale: float, guesses: list[FloatMatrix]
) -> Programme:
    """The programme for plans of at least ``scale``, with what moves in it.

    Each guess says about what each component does on each type, shape (C, T); a good one makes the
    bound tighter, a bad one does not make it wrong.
    """
    rows = _Rows(problem, programme, scale)
    for stream in problem.streams:
        if not stream.grouping.is_copied and problem.visits[stream.source] > 0:
            rows.add(stream)
    for part in (*(rows.parts_of(rate) for rate in guesses), np.ones(rows.pair.shape)):
        rows.share_machines(part)
    return rows.programme()


@dataclass(frozen=True)
class _LocalStream:
    """A stream whose two ends share the points of a machine; arrays have an entry per type."""

    source: int
    target: int
    #: Column of the tuples kept on each type, and how many a machine full of both ends keeps
    #: for each product of the parts of its points that they have.
    columns: IntVector
    most: FloatVector
    tuple_bytes: float
    #: Points saved for each tuple that is kept.
    points: FloatVector


def _without_odd_cycles(streams: list[_LocalStream]) -> list[_LocalStream]:
    """The streams that can be kept so that components fall into two sides."""
    side: dict[int, int] = {}
    group: dict[int, set[int]] = {}
    chosen = []
    for stream in streams:
        a, b = stream.source, stream.target
        for c in (a, b):
            side.setdefault(c, 0)
            group.setdefault(c, {c})
        if group[a] is not group[b]:
            if side[a] == side[b]:
                for c in group[b]:
                    side[c] ^= 1
            group[a] |= group[b]
            for c in group[b]:
                group[c] = group[a]
        if side[a] != side[b]:
            chosen.append(stream)
    return chosen


def _multipliers(ends: list[tuple[int, int]], roots: FloatVector, part: FloatVector) -> FloatVector:
    """Numbers with mu_a + mu_b >= root for every stream, and sum of part * mu^2 small."""
    mu = np.zeros(len(part))
    for (a, b), root in zip(ends, roots.tolist(), strict=True):
        total = part[a] + part[b]
        to_a = part[b] / total if total > 0 else 0.5
        mu[a], mu[b] = max(mu[a], root * to_a), max(mu[b], root * (1.0 - to_a))
    for _ in range(_SWEEPS):
        least = np.zeros(len(part))
        for (a, b), root in zip(ends, roots.tolist(), strict=True):
            least[a], least[b] = max(least[a], root - mu[b]), max(least[b], root - mu[a])
        slack = mu - least
        worst = int((part * (mu**2 - least**2) * (slack > 0)).argmax())
        if slack[worst] <= 0:
            break
        mu[worst] = least[worst]
    return mu


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
        self.first_added = 2 * pairs  # the first new column
        self.columns = self.first_added
        self.entries = _Entries([], [], [])
        self.height = len(programme.right)
        self.right: list[float] = []
        self.local_streams: list[_LocalStream] = []
        self.upper: list[float] = []
        #: Of components whose streams are divided unalike: the rows of what arrives on each type.
        self.arrival_rows: dict[int, IntVector] = {}
        #: Rows in which all of a stream arrives, and its tuples/s at scale 1.
        self.whole_streams: list[tuple[int, float]] = []
        #: How the streams into each component are divided.
        self.inputs: dict[int, list[tuple[Grouping, int, float]]] = {}
        for s in problem.streams:
            how = (s.grouping, s.keys, s.key_skew)
            self.inputs.setdefault(s.target, []).append(how)
        nic = cluster.per_type("nic_mbps", np.inf)[self.types] * BYTES_PER_MEGABIT
        self.machines = cluster.machines_per_type[self.types]
        self.nic = nic * self.machines
        self.nic_rows = self._new_rows(self.nic, np.isfinite(self.nic))

    def _new_rows(self, right: FloatVector, wanted: np.ndarray) -> tuple[IntVector, IntVector]:
        """Rows for bytes out and bytes in of each type; -1 where a type has no limit."""
        row_numbers = []
        for _ in range(2):
            rows = np.full(len(right), -1, dtype=np.int64)
            rows[wanted] = self.height + len(self.right) + np.arange(int(wanted.sum()))
            self.right += right[wanted].tolist()
            row_numbers.append(rows)
        return row_numbers[0], row_numbers[1]

    def add(self, stream: FlatStream) -> None:
        """One column per type for what stays on its machines, and the rows that limit it."""
        problem, a, b = self.problem, stream.source, stream.target
        flow = float(problem.visits[a] * stream.selectivity)
        if flow <= 0:
            return
        alike = self._divided_alike(b)
        into = flow / float(problem.visits[b]) if alike else 1.0
        stay = self._new_columns(flow)
        x_a, x_b = self.pair[a, self.types], self.pair[b, self.types]
        if not alike:
            x_b = self._arrivals(b, x_b, flow)
        self._limit(stay, [(x_a, stream.selectivity)])
        self._limit(stay, [(x_b, into)])
        if not stream.grouping.is_local:
            most_a, most_b = self._most_parts(a, b, flow, alike=alike)
            bytes_per_s = flow * stream.tuple_bytes * self.scale
            part_a, part_b = self._within_card(most_a, most_b, bytes_per_s)
            self._limit(stay, [(x_a, stream.selectivity * part_b)])
            self._limit(stay, [(x_b, into * part_a)])
            for alpha in _ALPHAS:
                from_a = alpha**2 * stream.selectivity * most_b
                from_b = (1.0 - alpha) ** 2 * into * most_a
                self._limit(stay, [(x_a, from_a), (x_b, from_b)])
            self._remember(stream, stay, flow, alike=alike)
        self._charge(stream, stay, x_a, x_b, into)

    def _new_columns(self, flow: float) -> IntVector:
        """A column per type for a part of a stream."""
        columns = self.columns + np.arange(len(self.types))
        self.columns += len(self.types)
        self.upper += [flow] * len(self.types)
        return columns

    def _arrivals(self, b: int, x_b: IntVector, flow: float) -> IntVector:
        """Columns for what of one of several streams arrives on each type, -1 where b cannot run.

        Together the streams bring what b takes in there, and each brings all it has.
        """
        if b not in self.arrival_rows:
            self.arrival_rows[b] = self.height + len(self.right) + np.arange(len(self.types))
            self.right += [0.0] * len(self.types)
            there = x_b >= 0
            ones = np.ones(int(there.sum()))
            self.entries.put(self.arrival_rows[b][there], x_b[there], -ones)
        columns = np.where(x_b >= 0, self._new_columns(flow), -1)
        there = columns >= 0
        ones = np.ones(int(there.sum()))
        self.entries.put(self.arrival_rows[b][there], columns[there], ones)
        row = self.height + len(self.right)
        self.right.append(0.0)
        self.entries.put(np.full(int(there.sum()), row), columns[there], -ones)
        self.whole_streams.append((row, flow))
        return columns

    def _remember(self, stream: FlatStream, stay: IntVector, flow: float, *, alike: bool) -> None:
        """For the rows in which all streams share a machine."""
        problem, a, b = self.problem, stream.source, stream.target
        e = problem.e[:, self.types]
        arriving = float(problem.visits[b]) if alike else flow
        work = e[a] * float(problem.visits[a]) * e[b] * arriving * self.scale
        if not (np.isfinite(work) & (work > 0)).all():
            return
        points = problem.e_remote[a, self.types] + problem.e_remote[b, self.types]
        most = flow * self.room**2 / work
        self.local_streams.append(_LocalStream(a, b, stay, most, stream.tuple_bytes, points))

    def parts_of(self, rate: FloatMatrix) -> FloatMatrix:
        """Part of the points of its machines that each component has on each type, (C, T)."""
        points = np.where(rate > 0, self.problem.e, 0.0) * rate
        return np.asarray(points / np.maximum(self.base.cpu_per_machine, 1e-300))

    def share_machines(self, part: FloatMatrix) -> None:
        """Rows in which the streams kept on a machine share its points; best near ``part``."""
        streams = _without_odd_cycles(self.local_streams)
        ends = [(s.source, s.target) for s in streams]
        sizes = np.array([s.tuple_bytes for s in streams])
        for t, kind in enumerate(self.types.tolist()):
            if self.room[t] <= 0:
                continue
            most = np.array([s.most[t] for s in streams])
            saved = np.array([s.points[t] for s in streams])
            for worth in (saved, sizes if np.isfinite(self.nic[t]) else np.zeros(len(sizes))):
                if (worth > 0).any():
                    weights = worth / worth.max()
                    mu = _multipliers(ends, np.sqrt(weights * most), part[:, kind])
                    self._share_machine(t, kind, streams, weights, mu)

    def _share_machine(
        self,
        t: int,
        kind: int,
        streams: list[_LocalStream],
        weights: FloatVector,
        mu: FloatVector,
    ) -> None:
        """weights @ kept <= sum of mu^2 times the parts of the points."""
        row = self.height + len(self.right)
        self.right.append(0.0)
        columns = np.array([s.columns[t] for s in streams])
        self.entries.put(np.full(len(columns), row), columns, weights)
        used = np.flatnonzero((mu > 0) & (self.pair[:, kind] >= 0))
        value = mu[used] ** 2 * self.problem.e[used, kind] / self.room[t]
        self.entries.put(np.full(len(used), row), self.pair[used, kind], -value)

    def _divided_alike(self, b: int) -> bool:
        """Whether an instance of b has the same part of all its streams; else it is not known."""
        ways = self.inputs[b]
        follows_places = any(grouping.is_local for grouping, _, _ in ways)
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

    def _within_card(
        self, most_a: FloatVector, most_b: FloatVector, bytes_per_s: float
    ) -> tuple[FloatVector, FloatVector]:
        """The same, with what a machine's card lets through.

        A machine sends s_a (1 - s_b) of the stream away and gets s_b (1 - s_a) of it. So where s_b
        is limited, the card limits s_a, and the other way round.
        """
        most_a, most_b = np.minimum(most_a, 1.0), np.minimum(most_b, 1.0)
        if bytes_per_s <= 0:
            return most_a, most_b
        card = self.nic / self.machines / bytes_per_s * _JUST_ABOVE
        never = np.full(len(card), np.inf)
        for _ in range(_CARD_ROUNDS):
            away, here = 1.0 - most_b, 1.0 - most_a
            from_a = np.divide(card, away, out=never.copy(), where=away > 0)
            from_b = np.divide(card, here, out=never.copy(), where=here > 0)
            most_a, most_b = np.minimum(most_a, from_a), np.minimum(most_b, from_b)
        return most_a, most_b

    def _limit(self, stay: IntVector, terms: list[tuple[IntVector, object]]) -> None:
        """kept <= the sum of these multiples, for each type."""
        row = self.height + len(self.right) + np.arange(len(stay))
        self.right += [0.0] * len(stay)
        self.entries.put(row, stay, np.ones(len(stay)))
        for column, factor in terms:
            there = column >= 0
            value = -np.broadcast_to(np.asarray(factor, dtype=np.float64), len(stay))
            self.entries.put(row[there], column[there], value[there])

    def _charge(
        self, stream: FlatStream, stay: IntVector, x_a: IntVector, x_b: IntVector, into: float
    ) -> None:
        """CPU and card of what is not kept, at both ends."""
        remote = self.problem.e_remote[:, self.types]
        cpu = self.base.cpu_rows.start + self.types
        size = stream.tuple_bytes
        out_rows, in_rows = self.nic_rows
        ends = [
            (x_a, stream.selectivity, remote[stream.source], out_rows),
            (x_b, into, remote[stream.target], in_rows),
        ]
        for column, factor, points, card in ends:
            for rows, cost in ((cpu, points), (card, np.full(len(stay), size))):
                there = (rows >= 0) & (cost > 0)
                self.entries.put(rows[there], stay[there], -cost[there])
                there &= column >= 0
                self.entries.put(rows[there], column[there], (factor * cost)[there])

    def programme(self) -> Programme:
        base, added = self.base, self.columns - self.first_added
        height = self.height + len(self.right)
        body = sparse.csr_array(base.matrix[:, :-1])
        body.resize((height, self.columns))
        scale = sparse.lil_array(base.matrix[:, [-1]])
        scale.resize((height, 1))
        for whole, flow in self.whole_streams:
            scale[whole, 0] = flow
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
        assert len(upper) == self.first_added + added + 1
        return replace(
            base,
            matrix=sparse.hstack([body + extra, scale], format="csr"),
            right=np.concatenate([base.right, self.right]),
            upper=upper,
        )

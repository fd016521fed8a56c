"""Which components share a machine under weighted grouping, exactly, by a mixed-integer programme.

A *support* is the set of instances on one machine. Machines of one type with the same support can
all carry the same, so the best weighted plan is: how many machines of each type have each support
(whole numbers), and what each support carries in all (not whole). Each instance pays its overhead,
and all hard limits of a machine are limits on which supports exist, so this is the whole problem,
not a relaxation of it: the solver's dual bound is a bound on every weighted plan. Two things make
it quick: the instances per component and type are variables of their own, to branch on, and a
smaller programme (the bound's, with whole instances) limits the scale from above first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint

from penstock.evaluate.programme import formulate
from penstock.model.arrays import FloatVector, IntMatrix, IntVector
from penstock.schedulers.penstock.aggregate import AggregateProblem, MachineGroups, PatternTable
from penstock.schedulers.whole_numbers import solve_whole

#: Dual bounds are raised by this: the solver keeps rows and whole numbers to 1e-6.
_SAFE = 1.0 + 3e-6
#: More supports on all kinds together than this are not listed.
_MOST_SUPPORTS = 800
#: Up to so many variables a programme gets all its nodes.
_QUICK_VARIABLES = 350
#: The smaller programme is solved up to this many pairs of component and type.
_MOST_PAIRS = 240


@dataclass(frozen=True)
class SolverLimits:
    """How long a mixed-integer programme may take: nodes (deterministic), its gap, seconds."""

    nodes: int
    gap: float
    seconds: float | None = None

    def for_size(self, variables: int) -> SolverLimits:
        """Fewer nodes where each takes long: a node costs about the square of the variables."""
        part = min(1.0, (_QUICK_VARIABLES / variables) ** 2)
        return replace(self, nodes=max(1, round(self.nodes * part)))

    def options(self, gap: float | None = None) -> dict[str, float]:
        options = {"mip_rel_gap": self.gap if gap is None else gap, "node_limit": self.nodes}
        return options if self.seconds is None else {**options, "time_limit": self.seconds}


@dataclass(frozen=True)
class SupportSolution:
    """The best groups found, and a scale that no weighted plan exceeds."""

    groups: MachineGroups | None
    bound: float


def bound_by_whole_instances(aggregate: AggregateProblem, effort: SolverLimits) -> float:
    """The upper bound's programme with whole numbers of instances: a tighter bound."""
    programme = formulate(aggregate.problem)
    pairs = len(programme.component)
    if pairs > _MOST_PAIRS or not np.isfinite(programme.upper).all():
        return aggregate.bound
    whole = np.zeros(2 * pairs + 1)
    whole[pairs:-1] = 1
    objective = np.zeros(2 * pairs + 1)
    objective[-1] = -1.0
    upper = programme.upper.copy()
    upper[pairs:-1] = np.ceil(upper[pairs:-1])
    upper[-1] = min(upper[-1], aggregate.bound)
    solved = solve_whole(
        objective,
        integrality=whole,
        bounds=Bounds(0, upper),
        constraints=LinearConstraint(programme.matrix, -np.inf, programme.right),
        options=effort.options(gap=1e-4),
    )
    if solved.mip_dual_bound is None or not np.isfinite(solved.mip_dual_bound):
        return aggregate.bound
    return min(aggregate.bound, -float(solved.mip_dual_bound) * _SAFE)


def list_supports(aggregate: AggregateProblem) -> IntMatrix | None:
    """Every useful support, shape (supports, C); ``None`` if there are too many to list."""
    # More instances of a component on a machine than its threads need only cost.
    threads = np.maximum(aggregate.threads, 1e-300)
    needed = np.ceil(np.minimum(aggregate.usable / threads, 1e6) - 1e-9).max(axis=1)
    most = np.minimum(np.maximum(needed, 1.0), aggregate.most)
    if aggregate.given is not None:
        most = np.asarray(aggregate.given, dtype=np.float64)
    if np.prod(most + 1.0) * len(aggregate.kinds) > _MOST_SUPPORTS:
        return None
    ranges = [np.arange(int(m) + 1) for m in most]
    return np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1).reshape(-1, len(most))[1:]


def solve_supports(
    aggregate: AggregateProblem, counts: IntMatrix, bound: float, effort: SolverLimits
) -> SupportSolution:
    """How many machines have each support; the scale is at most ``bound``."""
    model = _SupportProgramme(aggregate, counts)
    upper = np.full(model.size, np.inf)
    upper[model.parts] = 2.0
    upper[-1] = bound / aggregate.bound
    objective = np.zeros(model.size)
    objective[-1] = -1.0
    whole = np.zeros(model.size)
    whole[model.machines] = 1
    whole[model.instances] = 1
    solved = solve_whole(
        objective,
        integrality=whole,
        bounds=Bounds(0, upper),
        constraints=model.constraints(),
        options=effort.for_size(model.size).options(),
    )
    dual = solved.mip_dual_bound
    proven = bound
    if dual is not None and np.isfinite(dual):
        proven = min(bound, -float(dual) * aggregate.bound * _SAFE)
    if solved.x is None:
        return SupportSolution(None, proven)
    number = np.round(solved.x[model.machines]).astype(np.int64)
    used = number > 0
    groups = MachineGroups(model.kind[used], number[used], counts[model.support[used]])
    return SupportSolution(groups, proven)


class _SupportProgramme:
    """Variables: machines per (kind, support), parts carried, instances per pair, the scale."""

    def __init__(self, aggregate: AggregateProblem, counts: IntMatrix) -> None:
        self.aggregate, self.counts = aggregate, counts
        table_of_patterns = PatternTable.of(aggregate, counts)
        self.support, self.kind = np.nonzero(table_of_patterns.room > -np.inf)
        self.room = np.maximum(table_of_patterns.room[self.support, self.kind], 0.0)
        self.column, self.component = np.nonzero(counts[self.support])
        columns, parts, pairs = len(self.support), len(self.column), aggregate.e.size
        self.machines = slice(0, columns)
        self.parts = slice(columns, columns + parts)
        self.instances = slice(columns + parts, columns + parts + pairs)
        self.size = columns + parts + pairs + 1
        self._rows = 0
        self._entries: list[tuple[IntVector, IntVector, FloatVector]] = []
        self._low: list[FloatVector] = []
        self._high: list[FloatVector] = []

    def constraints(self) -> LinearConstraint:
        self._capacity()
        self._machines_there_are()
        self._count_instances()
        self._cover()
        self._limit_counts()
        self._order_twins()
        row, column, value = (np.concatenate(part) for part in zip(*self._entries, strict=True))
        matrix = sparse.csr_array((value, (row, column)), shape=(self._rows, self.size))
        return LinearConstraint(matrix, np.concatenate(self._low), np.concatenate(self._high))

    def _capacity(self) -> None:
        """A support carries what its overheads leave, and an instance what its thread does."""
        aggregate, columns = self.aggregate, len(self.support)
        kind = self.kind[self.column]
        points = aggregate.work[self.component, kind]
        part = self.parts.start + np.arange(len(self.column))
        self._add(
            [(self.column, part, points), (np.arange(columns), np.arange(columns), -self.room)],
            np.full(columns, -np.inf),
            np.zeros(columns),
        )
        if aggregate.problem.cluster.has_core_limit:
            busy = np.maximum(aggregate.threads - aggregate.met, 0.0)[self.component, kind]
            held = self.counts[self.support[self.column], self.component]
            each = np.arange(len(self.column))
            self._add(
                [(each, part, points), (each, self.column, -busy * held)],
                np.full(len(each), -np.inf),
                np.zeros(len(each)),
            )

    def _machines_there_are(self) -> None:
        columns = np.arange(len(self.support))
        machines = self.aggregate.machines.astype(np.float64)
        self._add([(self.kind, columns, np.ones(len(columns)))], 0.0 * machines, machines)

    def _count_instances(self) -> None:
        """n[c, k] counts instances, and what they carry is at most what their threads do."""
        aggregate = self.aggregate
        kinds, pairs = len(aggregate.kinds), aggregate.e.size
        pair = self.component * kinds + self.kind[self.column]
        held = self.counts[self.support[self.column], self.component].astype(np.float64)
        own = self.instances.start + np.arange(pairs)
        zero = np.zeros(pairs)
        self._add([(pair, self.column, held), (np.arange(pairs), own, -np.ones(pairs))], zero, zero)
        most = (
            np.minimum(aggregate.threads, aggregate.usable - aggregate.base - aggregate.worker)
            - aggregate.met
        )
        part = self.parts.start + np.arange(len(self.column))
        points = aggregate.work[self.component, self.kind[self.column]]
        busy = np.maximum(most, 0.0).ravel()
        self._add([(pair, part, points), (np.arange(pairs), own, -busy)], zero - np.inf, zero)

    def _cover(self) -> None:
        """All input of a component is carried somewhere."""
        components = len(self.aggregate.visits)
        fed = (self.aggregate.visits > 0).astype(np.float64)
        part = self.parts.start + np.arange(len(self.column))
        scale = np.full(components, self.size - 1)
        self._add(
            [(self.component, part, -fed[self.component]), (np.arange(components), scale, fed)],
            np.full(components, -np.inf),
            np.zeros(components),
        )

    def _limit_counts(self) -> None:
        aggregate = self.aggregate
        components, kinds = aggregate.e.shape
        own = self.instances.start + np.arange(aggregate.e.size)
        low, high = np.ones(components), aggregate.most
        if aggregate.given is not None:
            low = high = aggregate.given.astype(np.float64)
        row = np.repeat(np.arange(components), kinds)
        self._add([(row, own, np.ones(len(own)))], low, high)

    def _order_twins(self) -> None:
        """Of components alike in everything, the first has as many instances on the first kind."""
        aggregate = self.aggregate
        memory = np.nan_to_num(aggregate.problem.memory_mb)
        alike: dict[tuple[float, ...], list[int]] = {}
        for c in range(len(aggregate.visits)):
            facts = (*aggregate.e[c], *aggregate.met[c], *aggregate.threads[c], aggregate.visits[c])
            limits = (aggregate.most[c], memory[c], float(aggregate.problem.topology_of[c]))
            alike.setdefault((*facts, *limits), []).append(c)
        pairs = [pair for twins in alike.values() for pair in pairwise(twins)]
        if not pairs or aggregate.given is not None or len(aggregate.problem.topologies) > 1:
            return
        kinds = len(aggregate.kinds)
        first, second = (np.array(side) for side in zip(*pairs, strict=True))
        row, start = np.arange(len(pairs)), self.instances.start
        one = np.ones(len(pairs))
        self._add(
            [(row, start + second * kinds, one), (row, start + first * kinds, -one)],
            np.full(len(pairs), -np.inf),
            np.zeros(len(pairs)),
        )

    def _add(
        self,
        entries: list[tuple[IntVector, IntVector, FloatVector]],
        low: FloatVector,
        high: FloatVector,
    ) -> None:
        """Rows ``low <= entries <= high``; entries are (row, column, value), rows from 0."""
        self._entries += [(row + self._rows, column, value) for row, column, value in entries]
        self._low.append(low)
        self._high.append(high)
        self._rows += len(low)

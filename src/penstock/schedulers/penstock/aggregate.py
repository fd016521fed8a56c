"""What ``penstock`` searches on: a problem by machine types, and plans as groups of machines.

Machines of one type are interchangeable, so a plan is a list of groups: so many machines of this
type hold these instances each. All arrays have a column per type that has machines (a *kind*), none
per machine; machines are named only when the plan is done.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from penstock.evaluate.capacity import ROUNDING_POINTS
from penstock.evaluate.terms import held_table
from penstock.model.arrays import BoolVector, FloatMatrix, FloatVector, IntMatrix, IntVector
from penstock.model.placement import Placement
from penstock.model.problem import UNLIMITED, Problem
from penstock.model.topology import Grouping
from penstock.schedulers.packing import Patterns

#: Instances of at least this part of a machine are as wide as the machine.
_NEARLY_ALL = 0.999


@dataclass(frozen=True)
class AggregateProblem:
    """The costs and limits of a problem. C components, K kinds of machines."""

    problem: Problem
    #: Type index of each kind, and its number of machines, shape (K,).
    kinds: IntVector
    machines: IntVector
    #: Points per tuple/s, fixed points, and the most points of an instance, shape (C, K).
    e: FloatMatrix
    met: FloatMatrix
    threads: FloatMatrix
    #: Points a machine offers, what it and one worker process cost, shape (K,).
    usable: FloatVector
    base: FloatVector
    worker: FloatVector
    #: Input of each component at scale 1, and the most instances it may have (inf: any), (C,).
    visits: FloatVector
    most: FloatVector
    #: An upper bound on the scale, finite and positive.
    bound: float

    @classmethod
    def of(cls, problem: Problem, bound: float) -> AggregateProblem:
        cluster = problem.cluster
        kinds = np.flatnonzero(cluster.machines_per_type > 0)
        most = np.where(problem.most_instances == UNLIMITED, np.inf, problem.most_instances)
        most = np.where(cannot_divide(problem), 1.0, most)
        return cls(
            problem=problem,
            kinds=kinds,
            machines=cluster.machines_per_type[kinds],
            e=problem.e[:, kinds],
            met=problem.met[:, kinds],
            threads=problem.instance_points[:, kinds],
            usable=cluster.usable_cpu_per_type[kinds],
            base=cluster.per_type("base_cpu_points")[kinds],
            worker=cluster.per_type("worker_cpu_points")[kinds],
            visits=problem.visits,
            most=most,
            bound=bound,
        )

    @property
    def given(self) -> IntVector | None:
        """Instance counts laid down, shape (C,)."""
        counts = self.problem.given_counts
        return None if counts is None else np.array(counts, dtype=np.int64)

    @property
    def work(self) -> FloatMatrix:
        """Points that all tuples of a component cost on each kind at the bound, shape (C, K)."""
        return self.e * (self.visits * self.bound)[:, None]

    def with_remote_cost(self) -> AggregateProblem:
        """The same where every tuple is taken to come from and go to another process."""
        sent = np.zeros(len(self.visits))
        for stream in self.problem.streams:
            sent[stream.source] += stream.selectivity
        extra = self.problem.e_remote[:, self.kinds] * (1.0 + sent)[:, None]
        return replace(self, e=self.e + extra)


@dataclass(frozen=True)
class PatternTable:
    """Patterns (instances of each component on one machine) and the points each leaves."""

    #: Shape (patterns, C); floats, for products.
    counts: FloatMatrix
    #: Points left for tuples on each kind, -inf where a limit forbids it, shape (patterns, K).
    room: FloatMatrix

    @classmethod
    def of(cls, aggregate: AggregateProblem, counts: IntMatrix) -> PatternTable:
        listed = Patterns.listed(aggregate.problem, counts)
        used = listed.workers[:, None]
        room = (
            aggregate.usable
            - counts @ aggregate.met
            - aggregate.worker * used
            - aggregate.base * (used > 0)
        )
        allowed: BoolVector = listed.allowed[:, aggregate.kinds]
        # A thread whose overhead alone is too much runs nowhere.
        allowed &= (counts @ (aggregate.met > aggregate.threads + ROUNDING_POINTS)) == 0
        room[~allowed | (room < -ROUNDING_POINTS)] = -np.inf
        return cls(counts.astype(np.float64), room)


@dataclass(frozen=True)
class MachineGroups:
    """A plan: ``machines[g]`` machines of kind ``kind[g]`` hold ``counts[g]`` instances each."""

    #: Kind of each group, shape (groups,).
    kind: IntVector
    machines: IntVector
    #: Shape (groups, C).
    counts: IntMatrix

    @property
    def totals(self) -> IntVector:
        """Instances of each component, shape (C,)."""
        return np.asarray(self.machines @ self.counts)


def most_on_a_machine(problem: Problem) -> float:
    """More instances than this fit on no machine, by overheads, memory and counts; inf: any."""
    cluster = problem.cluster
    used = cluster.machines_per_type > 0
    overhead, memory = problem.met.min(axis=0), float(np.nan_to_num(problem.memory_mb).min())
    limits = np.full(len(cluster.types), np.inf)
    np.divide(cluster.usable_cpu_per_type, overhead, out=limits, where=overhead > 0)
    if memory > 0:
        limits = np.minimum(limits, cluster.per_type("memory_mb", np.inf) / memory)
    counts = problem.most_instances.astype(np.float64)
    in_all = float(counts.sum()) if (problem.most_instances != UNLIMITED).all() else np.inf
    return float(min(np.floor(limits[used] + ROUNDING_POINTS).max(), in_all))


def allows_shares(problem: Problem) -> bool:
    """Whether shares are allowed and every stream would follow them."""
    return problem.weighted and all(s.grouping.follows_shares for s in problem.streams)


def patterns_suffice(problem: Problem) -> bool:
    """Whether the search over patterns sees all that decides the rate."""
    plain = problem.divides_evenly and not problem.has_remote_cost
    return plain and not problem.cluster.has_nic


def is_many_core(problem: Problem) -> bool:
    """Whether an instance can be full before its machine is."""
    there = problem.cluster.machines_per_type > 0
    full = problem.cluster.usable_cpu_per_type * _NEARLY_ALL
    return bool((problem.instance_points < full)[:, there].any())


def even_scale(aggregate: AggregateProblem, groups: MachineGroups) -> float:
    """The scale of a plan whose instances all get the same, by CPU alone."""
    totals = groups.totals
    if not totals.all():
        return 0.0
    room = PatternTable.of(aggregate, groups.counts).room[np.arange(len(groups.kind)), groups.kind]
    each = aggregate.e * (aggregate.visits / totals)[:, None]
    slope = (groups.counts * each.T[groups.kind]).sum(axis=1)
    threads = aggregate.threads - aggregate.met
    most = np.divide(threads, each, out=np.full(each.shape, np.inf), where=each > 0)
    held = groups.counts > 0
    scale = float(np.where(held, most.T[groups.kind], np.inf).min())
    full = np.divide(room, slope, out=np.full(len(room), np.inf), where=slope > 0)
    return max(0.0, min(scale, float(full.min()))) if (room > -np.inf).all() else 0.0


def placement_of_groups(
    aggregate: AggregateProblem, groups: MachineGroups, shares: FloatMatrix | None = None
) -> Placement:
    """Groups onto the machines of their kind, in order; one worker per topology and machine.

    ``shares[g, c]`` is the share of each instance; NaN throughout for a component divided evenly.
    """
    cluster, topology_of = aggregate.problem.cluster, aggregate.problem.topology_of
    machine_of_row: list[IntVector] = []
    rows: list[IntVector] = []
    for kind, type_index in enumerate(aggregate.kinds.tolist()):
        mine = np.flatnonzero(groups.kind == kind)
        row = np.repeat(mine, groups.machines[mine])
        machine_of_row.append(np.flatnonzero(cluster.type_of == type_index)[: len(row)])
        rows.append(row)
    row, machine = np.concatenate(rows), np.concatenate(machine_of_row)
    table = groups.counts[row]
    position, component = np.nonzero(table)
    repeats = table[position, component]
    present = np.stack(
        [table[:, topology_of == t].any(axis=1) for t in range(len(aggregate.problem.topologies))]
    )
    slot = (np.cumsum(present, axis=0) - 1)[topology_of[component], position]
    share = None if shares is None else np.repeat(shares[row[position], component], repeats)
    return Placement.of(
        np.repeat(component, repeats),
        np.repeat(machine[position], repeats),
        np.repeat(slot, repeats),
        share,
    )


def groups_of(aggregate: AggregateProblem, placement: Placement) -> MachineGroups:
    """The groups of a placement, machines with the same instances and type together."""
    table = held_table(aggregate.problem, placement)
    kind = np.searchsorted(aggregate.kinds, aggregate.problem.cluster.type_of)
    used = table.any(axis=1)
    patterns, number = np.unique(
        np.column_stack([kind[used], table[used]]), axis=0, return_counts=True
    )
    return MachineGroups(patterns[:, 0], number.astype(np.int64), patterns[:, 1:].astype(np.int64))


def cannot_divide(problem: Problem) -> BoolVector:
    """Components of which a second instance would take nothing off the first, shape (C,)."""
    into: list[list[Grouping]] = [[] for _ in problem.components]
    for stream in problem.streams:
        into[stream.target].append(stream.grouping)
    undivided = [bool(kinds) and not any(g.is_divided for g in kinds) for kinds in into]
    return np.array(undivided, dtype=np.bool_)

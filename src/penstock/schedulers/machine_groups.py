"""Machines that are alike as groups: their classes, a state of them, and back to instances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.evaluate.capacity import ROUNDING_POINTS
from penstock.evaluate.terms import counted_changes, held_as_table
from penstock.model.arrays import BoolVector, FloatVector, IntMatrix, IntVector
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.schedulers.packing import Patterns


@dataclass(frozen=True)
class Classes:
    """Machines that are alike: of one type, and with the same instances fixed on them."""

    problem: Problem
    #: Class of each machine, -1 for one that must not be used, shape (M,).
    of_machine: IntVector
    #: Type of each class, shape (K,), and instances it must hold, shape (K, C).
    type: IntVector
    least: IntMatrix

    @classmethod
    def of(cls, problem: Problem, closed: tuple[int, ...] = ()) -> Classes:
        cluster, terms = problem.cluster, problem.terms
        index = cluster.machine_index
        least = held_as_table(problem, terms.fixed)
        rows = np.column_stack([cluster.type_of, least])
        classes, of_machine = np.unique(rows, axis=0, return_inverse=True)
        of_machine = of_machine.reshape(-1).astype(np.int64)
        of_machine[[*closed, *(index[name] for name in terms.avoid)]] = -1
        return cls(problem, of_machine, classes[:, 0], classes[:, 1:])

    def room(self, patterns: IntMatrix, kind: IntVector) -> FloatVector:
        """Points each pattern leaves for tuples on its class; -inf where it may not be."""
        problem, cluster = self.problem, self.problem.cluster
        listed = Patterns.listed(problem, patterns)
        type_ = self.type[kind]
        workers = listed.workers
        fixed = (patterns * problem.met.T[type_]).sum(axis=1)
        fixed = fixed + cluster.per_type("worker_cpu_points")[type_] * workers
        fixed += cluster.per_type("base_cpu_points")[type_] * (workers > 0)
        runs = np.isfinite(problem.e) & (problem.met <= problem.instance_points + ROUNDING_POINTS)
        allowed = listed.allowed[np.arange(len(type_)), type_]
        allowed &= ~((patterns > 0) & ~runs.T[type_]).any(axis=1)
        allowed &= (patterns >= self.least[kind]).all(axis=1)
        return np.where(allowed, cluster.usable_cpu_per_type[type_] - fixed, -np.inf)


@dataclass(frozen=True)
class State:
    """Groups of machines, what changed to get here, and what it carries.

    The scale is negative where overheads are too much for a machine, lower where a machine holds
    what it must not, lowest where a component has no instance: a search leaves such states first.
    """

    #: Class, pattern, machines and points left of each group; shapes (G,), (G, C), (G,), (G,).
    kind: IntVector
    patterns: IntMatrix
    machines: IntVector
    room: FloatVector
    #: Instances started and stopped so far, shape (C,).
    come: IntVector
    gone: IntVector
    scale: float
    #: One machine of this class went from this pattern to that one.
    steps: tuple[tuple[int, bytes, bytes], ...] = ()

    @property
    def totals(self) -> IntVector:
        return np.asarray(self.machines @ self.patterns)


@dataclass(frozen=True)
class Allowance:
    """How much may change: instances that must go somewhere are free, others counted."""

    changes: int
    free: IntVector

    def cost(self, come: IntMatrix, gone: IntMatrix) -> IntVector:
        """Instances moved, added or dropped beyond what is free; rows are states."""
        return counted_changes(come, gone, self.free)


def placement_of(problem: Problem, table: IntMatrix) -> Placement:
    """A table as instances; each topology has one worker process on a machine it is on."""
    component, machine = np.nonzero(table.T)
    repeats = table[machine, component]
    topology = problem.topology_of
    present: BoolVector = np.stack(
        [table[:, topology == t].any(axis=1) for t in range(len(problem.topologies))]
    )
    slot = (np.cumsum(present, axis=0) - 1)[topology[component], machine]
    return Placement.of(
        np.repeat(component, repeats), np.repeat(machine, repeats), np.repeat(slot, repeats)
    )

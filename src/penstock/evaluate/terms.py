"""Which of the problem's terms a placement breaks, whatever its rate."""

from __future__ import annotations

import numpy as np

from penstock.evaluate.violation import Violation
from penstock.model.arrays import IntMatrix, IntVector
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.model.terms import Held


def term_violations(problem: Problem, placement: Placement) -> list[Violation]:
    """Machines to avoid that are used, neighbours that should not be, moves beyond the limit."""
    terms = problem.terms
    if terms.is_empty:
        return []
    table = held_table(problem, placement)
    machines = problem.cluster.machines
    index = problem.cluster.machine_index
    labels = {label: c for c, label in enumerate(problem.labels)}
    violations = [
        Violation("instances where none are allowed", name, float(table[index[name]].sum()), 0.0)
        for name in terms.avoid
        if table[index[name]].any()
    ]
    for a, b in terms.apart:
        together = table[:, labels[a]] + table[:, labels[b]] * (a != b)
        both = (table[:, labels[a]] > 0) & (table[:, labels[b]] > 0) if a != b else together > 1
        violations += [
            Violation(f"instances of {a} and {b} together", machines[m].name, float(together[m]), 1)
            for m in np.flatnonzero(both).tolist()
        ]
    for held in terms.fixed:
        there = int(table[index[held.machine], labels[held.component]])
        if there < held.instances:
            violations.append(
                Violation(f"instances of {held.component} fixed", held.machine,
                          float(held.instances), float(there))
            )  # fmt: skip
    if terms.most_moves is not None:
        changed = changes_from_current(problem, table)
        if changed > terms.most_moves:
            violations.append(
                Violation("instances changed", "plan in force", changed, terms.most_moves)
            )
    return violations


def held_table(problem: Problem, placement: Placement) -> IntMatrix:
    """Instances of each component on each machine, shape (M, C)."""
    components, machines = len(problem.components), len(problem.cluster.machines)
    cell = placement.machine * components + placement.component
    counted = np.bincount(cell, minlength=machines * components)
    return counted.reshape(machines, components).astype(np.int64)


def held_as_table(problem: Problem, held: tuple[Held, ...]) -> IntMatrix:
    """The same from names; machines and components that are no more are left out."""
    labels = {label: c for c, label in enumerate(problem.labels)}
    index = problem.cluster.machine_index
    table = np.zeros((len(index), len(labels)), dtype=np.int64)
    for one in held:
        if one.machine in index and one.component in labels:
            table[index[one.machine], labels[one.component]] += one.instances
    return table


def current_table(problem: Problem) -> tuple[IntMatrix, IntVector]:
    """What is in force on machines that may be used, and instances that must go somewhere, (C,).

    Those are the ones on machines that are gone or avoided, and one of a component that has none.
    """
    terms = problem.terms
    labels = {label: c for c, label in enumerate(problem.labels)}
    now = held_as_table(problem, terms.current)
    now[[problem.cluster.machine_index[name] for name in terms.avoid]] = 0
    total = np.zeros(len(labels), dtype=np.int64)
    for held in terms.current:
        if held.component in labels:
            total[labels[held.component]] += held.instances
    here: IntVector = now.sum(axis=0)
    missing: IntVector = (here == 0).astype(np.int64)
    return now, np.asarray(np.maximum(total - here, missing), dtype=np.int64)


def counted_changes(come: IntMatrix, gone: IntMatrix, free: IntVector) -> IntVector:
    """Instances moved, added or dropped beyond those that must go somewhere; rows are cases."""
    return np.asarray(np.maximum(np.maximum(come - free, 0), gone).sum(axis=1))


def changes_from_current(problem: Problem, table: IntMatrix) -> int:
    """Changes to what is in force that were not forced."""
    now, free = current_table(problem)
    come = np.maximum(table - now, 0).sum(axis=0)
    gone = np.maximum(now - table, 0).sum(axis=0)
    return int(counted_changes(come[None], gone[None], free)[0])


def changes_between(before: IntMatrix, after: IntMatrix) -> int:
    """Instances moved, added or dropped between two tables."""
    come = np.maximum(after - before, 0).sum(axis=0)
    gone = np.maximum(before - after, 0).sum(axis=0)
    return int(counted_changes(come[None], gone[None], np.zeros_like(come))[0])

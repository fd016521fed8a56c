"""Whether the tasks that topologies were submitted with limit what machines could carry."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from penstock.evaluate.bound import upper_bound
from penstock.model.problem import Problem

#: Less than this part more is not worth another submission.
_WORTH_IT = 0.01


@dataclass(frozen=True, slots=True)
class TaskLimit:
    """Components whose tasks are too few, and what could be carried with more of them."""

    #: Label and tasks of each.
    components: tuple[tuple[str, int], ...]
    carries_per_s: float
    could_carry_per_s: float

    def __str__(self) -> str:
        names = ", ".join(f"{label} ({tasks})" for label, tasks in self.components)
        return (
            f"tasks limit the plans: at most {self.carries_per_s:.0f} tuples/s, and "
            f"{self.could_carry_per_s:.0f} with more tasks of {names}; submit with more"
        )


def task_limit(problem: Problem) -> TaskLimit | None:
    """``None`` where tasks are enough. Cost: a bound for each component that has tasks."""
    have = [c for c, component in enumerate(problem.components) if component.tasks is not None]
    if not have:
        return None
    unit = float(problem.demand.sum())
    carries = upper_bound(problem).scale
    could = upper_bound(_without_tasks(problem, have)).scale
    if could <= carries * (1.0 + _WORTH_IT):
        return None
    # One that limits keeps the bound down although all others have no limit.
    few = [
        c
        for c in have
        if upper_bound(_without_tasks(problem, {*have} - {c})).scale < could * (1.0 - _WORTH_IT)
    ]
    named = tuple((problem.labels[c], problem.components[c].tasks or 0) for c in few)
    return TaskLimit(named, carries * unit, could * unit)


def _without_tasks(problem: Problem, components: Collection[int]) -> Problem:
    topologies = []
    for topology, first in zip(problem.topologies, problem.first_component, strict=True):
        changed = tuple(
            replace(component, tasks=None) if first + c in components else component
            for c, component in enumerate(topology.components)
        )
        topologies.append(replace(topology, components=changed))
    return replace(problem, topologies=tuple(topologies))

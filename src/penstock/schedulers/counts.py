"""Instance counts and the order of topologies, as every placing scheduler needs them."""

from __future__ import annotations

from penstock.errors import Finding, InputError
from penstock.model.placement import Placement
from penstock.model.problem import Problem


def missing_counts(problem: Problem) -> list[int]:
    """Components whose instance count neither the topology nor the caller lays down."""
    return [c for c, count in enumerate(problem.counts_asked) if count is None]


def has_all_counts(problem: Problem, placement: Placement | None) -> bool:
    """Whether counts can be taken from a placement: it may have left topologies out."""
    if placement is None:
        return False
    counts = placement.counts(len(problem.components)).tolist()
    return all(asked or count for asked, count in zip(problem.counts_asked, counts, strict=True))


def with_counts_of(problem: Problem, placement: Placement) -> Problem:
    """The problem with a placement's counts where the topology gives none."""
    counts = placement.counts(len(problem.components)).tolist()
    filled = [asked or count for asked, count in zip(problem.counts_asked, counts, strict=True)]
    return problem.with_counts(filled)


def changed_counts(problem: Problem, placement: Placement) -> list[str]:
    """Components placed in other counts than the topologies state, where nobody laid them down.

    What was not placed at all is another matter.
    """
    if problem.given_counts is not None:
        return []
    counts = placement.counts(len(problem.components)).tolist()
    stated = zip(problem.labels, problem.counts_asked, counts, strict=True)
    return [f"{label} {n} → {m}" for label, n, m in stated if n and m and n != m]


def required_counts(problem: Problem, scheduler: str) -> tuple[int, ...]:
    """The counts laid down for every component; an error names those that are not."""
    missing = missing_counts(problem)
    if missing:
        raise InputError(
            *(
                Finding(
                    f"no instance count, and scheduler {scheduler} only places; set instances "
                    "in the topology, or take counts from another scheduler (--counts-from)",
                    field=f"component {problem.labels[c]}",
                )
                for c in missing
            )
        )
    return tuple(count for count in problem.counts_asked if count is not None)


def topologies_by_priority(problem: Problem) -> list[int]:
    """Topology indices, priority 0 first, ties in the order given."""
    return sorted(range(len(problem.topologies)), key=lambda t: problem.topologies[t].priority)

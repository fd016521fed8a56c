"""A problem on some of its machines, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from penstock.model.arrays import IntVector
from penstock.model.outcome import Outcome
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.model.terms import Terms


def open_machines(problem: Problem) -> list[int]:
    """Machines that the terms do not say to avoid."""
    closed = {problem.cluster.machine_index[name] for name in problem.terms.avoid}
    return [m for m in range(len(problem.cluster.machines)) if m not in closed]


def on_open_machines(problem: Problem, solve: Callable[[Problem], Outcome]) -> Outcome:
    """A scheduler's answer on the machines that may be used."""
    if not problem.terms.avoid:
        return solve(problem)
    part = Restricted.to(problem, open_machines(problem))
    outcome = solve(part.problem)
    placement = outcome.placement
    return outcome if placement is None else replace(outcome, placement=part.back(placement))


@dataclass(frozen=True)
class Restricted:
    """``problem`` is ``whole`` on the machines with these indices alone."""

    whole: Problem
    problem: Problem
    machines: IntVector

    @classmethod
    def to(cls, whole: Problem, machines: Iterable[int], terms: Terms | None = None) -> Restricted:
        """The problem on these machines, under terms that name no others."""
        indices = np.array(sorted(machines), dtype=np.int64)
        cluster = whole.cluster
        fewer = replace(cluster, machines=tuple(cluster.machines[m] for m in indices.tolist()))
        return cls(whole, replace(whole, cluster=fewer, terms=terms or Terms()), indices)

    def back(self, placement: Placement) -> Placement:
        """A placement on these machines as one of the whole problem."""
        return Placement.of(
            placement.component, self.machines[placement.machine], placement.slot, placement.share
        )

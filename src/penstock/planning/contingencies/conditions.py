"""What holds when a machine is lost: the terms that are left, and the demand that was placed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.evaluate.capacity import capacity
from penstock.evaluate.limits import violations
from penstock.model.placement import Placement
from penstock.model.problem import Problem


def when_lost(problem: Problem, placement: Placement, machine: int) -> Problem:
    """The problem without what terms ask of the lost machine, and without a limit on moves.

    Where the plan saves on machines, those it leaves idle are off and take nothing over.
    """
    terms, machines = problem.terms, problem.cluster.machines
    if terms.is_empty:
        return problem
    fixed = tuple(held for held in terms.fixed if held.machine != machines[machine].name)
    avoid = terms.avoid
    if terms.leaves_idle_off:
        used = set(placement.machines_used.tolist())
        idle = [m.name for i, m in enumerate(machines) if i not in used]
        avoid = tuple(dict.fromkeys([*avoid, *idle]))
    changed = replace(terms, fixed=fixed, current=(), most_moves=None, avoid=avoid)
    return replace(problem, terms=changed)


def rate_left(problem: Problem, after: Placement) -> float | None:
    """What all placed topologies take in together; 0 where a limit is broken, ``None``: any."""
    if violations(problem, after):
        return 0.0
    scale = capacity(problem, after).scale
    placed = np.unique(problem.topology_of[after.component])
    return scale * float(problem.demand[placed].sum()) if np.isfinite(scale) else None


def reshared(problem: Problem, shares: Placement, changed: Placement | None) -> Placement:
    """A placement with shares that were found for it, if they carry more.

    Where none were found for a component, a contingency could not say so: its own stay.
    """
    if changed is None:
        return shares
    better = replace(changed, share=np.where(np.isnan(changed.share), shares.share, changed.share))
    return better if capacity(problem, better).scale > capacity(problem, shares).scale else shares


def places_all(problem: Problem, placement: Placement) -> bool:
    """Whether every topology is in the plan."""
    return len(np.unique(problem.topology_of[placement.component])) == len(problem.topologies)

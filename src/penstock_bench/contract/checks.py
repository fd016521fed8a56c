"""Everything an answer must keep, whatever the problem.

Slots and memory are counted here in plain loops, not by the code that schedulers use themselves.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from penstock.evaluate.assess import assess
from penstock.evaluate.bound import upper_bound
from penstock.model.outcome import Outcome
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.schedulers import Scheduler

_ROUNDING = 1e-9


def check(scheduler: type[Scheduler], problem: Problem, outcome: Outcome) -> None:
    """Fail where an answer breaks the contract."""
    placement = outcome.placement
    if placement is None:
        assert outcome.shortfalls or outcome.interrupted
    for shortfall in outcome.shortfalls:
        assert shortfall.needed > shortfall.available
        assert shortfall.topology in {"", *(t.name for t in problem.topologies)}
    if placement is not None:
        _check_shape(problem, placement)
        _check_counts(scheduler, problem, outcome, placement)
        _check_limits(scheduler, problem, placement)
        _check_bound(problem, outcome, placement)


def _check_shape(problem: Problem, placement: Placement) -> None:
    size = (len(placement.component),)
    assert size > (0,)
    for column in (placement.component, placement.machine, placement.slot, placement.share):
        assert column.shape == size
        assert not column.flags.writeable
    assert (np.diff(placement.component) >= 0).all()
    assert 0 <= placement.component.min() <= placement.component.max() < len(problem.components)
    assert 0 <= placement.machine.min() <= placement.machine.max() < len(problem.cluster.machines)
    for c in np.unique(placement.component):
        shares = placement.share[placement.component == c]
        # Shares for all instances of a component or for none, and only where they are allowed.
        assert np.isnan(shares).all() or shares.sum() == pytest.approx(1.0)
        assert np.isnan(shares).all() or problem.weighted


def _check_counts(
    scheduler: type[Scheduler], problem: Problem, outcome: Outcome, placement: Placement
) -> None:
    counts = placement.counts(len(problem.components)).tolist()
    for t, graph in enumerate(problem.topologies):
        mine = [c for c in range(len(counts)) if problem.topology_of[c] == t]
        missing = [problem.labels[c] for c in mine if counts[c] == 0]
        # A topology is placed whole, or not at all and then it is said what was missing.
        assert not missing or len(missing) == len(mine)
        named = {shortfall.topology for shortfall in outcome.shortfalls}
        assert not missing or graph.name in named
        for c in mine:
            most = problem.components[c].most_instances
            assert most is None or counts[c] <= most
            if counts[c] and not scheduler.looks.counts:
                assert counts[c] == problem.counts_asked[c]


def _check_limits(scheduler: type[Scheduler], problem: Problem, placement: Placement) -> None:
    assert slot_errors(problem, placement) == []
    if scheduler.looks.memory:
        assert machines_over(problem, placement) == []


def _check_bound(problem: Problem, outcome: Outcome, placement: Placement) -> None:
    # The bound is for plans that carry all topologies and keep to the memory there is.
    whole = placement.counts(len(problem.components)).all()
    if not (problem.has_rates and whole) or machines_over(problem, placement):
        return
    scale = assess(problem, placement).sustainable_scale
    assert scale <= upper_bound(problem).scale * (1 + _ROUNDING)
    if outcome.bound_scale is not None:
        assert scale <= outcome.bound_scale * (1 + _ROUNDING)


def slot_errors(problem: Problem, placement: Placement) -> list[str]:
    """Slots that a machine does not have, and slots that two topologies share."""
    kinds = {kind.name: kind for kind in problem.cluster.types}
    owners: dict[tuple[str, int], set[int]] = defaultdict(set)
    beyond = []
    rows = zip(placement.component, placement.machine, placement.slot, strict=True)
    for component, m, slot in rows:
        machine = problem.cluster.machines[m]
        owners[machine.name, int(slot)].add(int(problem.topology_of[component]))
        if not 0 <= slot < kinds[machine.type].slots:
            beyond.append(f"{machine.name} has no slot {slot}")
    shared = [f"{name} slot {slot}" for (name, slot), who in owners.items() if len(who) > 1]
    return beyond + shared


def machines_over(problem: Problem, placement: Placement) -> list[str]:
    """Machines that need more memory, or more of another hard resource, than there is."""
    kinds = {kind.name: kind for kind in problem.cluster.types}
    soft = {kind.name for kind in problem.cluster.resources if kind.soft}
    used: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    workers: dict[int, set[int]] = defaultdict(set)
    rows = zip(placement.component, placement.machine, placement.slot, strict=True)
    for component, m, slot in rows:
        used[int(m)]["memory"] += float(np.nan_to_num(problem.memory_mb[component]))
        for name, amount in problem.components[component].resources:
            used[int(m)][name] += amount
        workers[int(m)].add(int(slot))
    over = []
    for m, amounts in used.items():
        machine = problem.cluster.machines[m]
        kind = kinds[machine.type]
        most = {"memory": np.inf if kind.memory_mb is None else kind.memory_mb}
        most |= dict(kind.resources)
        amounts["memory"] += kind.worker_memory_mb * len(workers[m])
        for name, amount in amounts.items():
            if name not in soft and amount > most.get(name, 0.0) + _ROUNDING:
                over.append(machine.name)
    return over

"""Is a plan legal, and does it carry what it promises? Judged by an evaluator of its own.

Nothing here is shared with what made the plan but the nouns of ``penstock.model``: rates, CPU,
memory and slots are added up by :class:`~penstock_bench.contract.reference.Reference` in plain
loops.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from penstock.model.plan import Plan
from penstock.model.topology import Component, Topology
from penstock_bench.contract.reference import Reference

#: Two ways of adding up the same numbers differ by no more, relative to the number.
_WITHIN = 1e-6
#: Of plan files, which are written to fewer digits or by hand.
_NO_MORE = 1 + 1e-9
#: What plain loops over all pairs of instances can do in a moment.
_MOST_PAIRS = 400_000
_MOST_KEYS = 50_000


def plan_faults(plan: Plan) -> list[str]:
    """All that is wrong with a plan; nothing where it is right."""
    faults = list(_illegal(plan))
    return faults or [*_over_its_bound(plan), *_wrong_promises(plan)]


def is_small(plan: Plan) -> bool:
    """Whether the promised rate is checked, too: plain loops take their time."""
    counts = plan.placement.counts(len(plan.problem.components))
    where = {(t.name, c.name): i for i, (t, c) in enumerate(_owners(plan))}
    pairs = keys = 0
    for topology in plan.problem.topologies:
        for stream in topology.streams:
            source, target = (
                where[topology.name, stream.source],
                where[topology.name, stream.target],
            )
            pairs += int(counts[source]) * int(counts[target])
            keys += stream.keys * int(counts[source])
    return pairs <= _MOST_PAIRS and keys <= _MOST_KEYS


def _owners(plan: Plan) -> Iterator[tuple[Topology, Component]]:
    for topology in plan.problem.topologies:
        for component in topology.components:
            yield topology, component


def _illegal(plan: Plan) -> Iterator[str]:
    """Places that are not there, slots of two topologies, too many or too few instances."""
    problem, placement = plan.problem, plan.placement
    types = {kind.name: kind for kind in problem.cluster.types}
    owners = list(_owners(plan))
    at: dict[tuple[str, int], str] = {}
    rows = (placement.component.tolist(), placement.machine.tolist(), placement.slot.tolist())
    for component, m, slot in zip(*rows, strict=True):
        topology, machine = owners[component][0].name, problem.cluster.machines[m]
        if not 0 <= slot < types[machine.type].slots:
            yield f"{machine.name} has no slot {slot}"
        if at.setdefault((machine.name, slot), topology) != topology:
            yield f"{machine.name} slot {slot} is shared by two topologies"
    counts = placement.counts(len(owners)).tolist()
    for (topology, component), count in zip(owners, counts, strict=True):
        most = component.most_instances
        if most is not None and count > most:
            yield f"{topology.name}/{component.name} has {count} instances, at most {most} may be"
        if count == 0 and topology.name not in plan.not_placed:
            yield f"{topology.name}/{component.name} has no instance"
    for component in np.unique(placement.component).tolist():
        shares = placement.share[placement.component == component]
        if not (np.isnan(shares).all() or abs(float(shares.sum()) - 1) <= _WITHIN):
            yield f"the shares of {owners[component][1].name} add up to {shares.sum():g}"


def _over_its_bound(plan: Plan) -> Iterator[str]:
    predicted = plan.predicted
    for name, value in (("scale", predicted.scale), ("bound", predicted.bound_scale)):
        if value is not None and not (math.isfinite(value) and value >= 0):
            yield f"the {name} is {value}"
    bound = None if predicted.violations else predicted.bound_scale
    if predicted.scale is not None and bound is not None and predicted.scale > bound * _NO_MORE:
        yield f"promises {predicted.scale!r}, over its bound of {bound!r}"


def _wrong_promises(plan: Plan) -> Iterator[str]:
    """Rates that are not those of plain loops, and broken limits that are not told."""
    if not (plan.problem.has_rates and is_small(plan)) or plan.predicted.scale is None:
        return
    reference = Reference(plan.problem, plan.placement)
    over = reference.machines_over_memory()
    if over and not any("memory" in v for v in plan.predicted.violations):
        yield f"{over[0]} has too little memory, and the plan does not say so"
    promised = dict(plan.predicted.rate_per_s)
    reached = reference.scale
    if _is_cut(plan, promised):
        yield from _wrong_cuts(plan, promised)
        return
    promise = plan.predicted.scale
    if not plan.problem.terms.is_empty and promise <= reached:
        return  # as much as was asked for, or as latencies allow: less than goes through
    if not math.isclose(reached, promise, rel_tol=_WITHIN, abs_tol=1e-12):
        yield f"promises a scale of {promise!r}, carries {reached!r}"
    for topology in plan.problem.topologies:
        expected = reached * _demand(topology)
        rate = promised.get(topology.name, expected)
        if topology.name not in plan.not_placed and not _same(rate, expected):
            yield f"promises {rate!r}/s of {topology.name}, carries {expected!r}/s"


def _demand(topology: Topology) -> float:
    return 1.0 if topology.demand_per_s is None else topology.demand_per_s


def _is_cut(plan: Plan, promised: dict[str, float]) -> bool:
    """Topologies get unlike parts of what they ask for: by priority, or by weights."""
    parts = [
        promised[t.name] / _demand(t)
        for t in plan.problem.topologies
        if t.name in promised and _demand(t) > 0
    ]
    return bool(parts) and not _same(min(parts), max(parts))


def _wrong_cuts(plan: Plan, promised: dict[str, float]) -> Iterator[str]:
    """What each topology is promised must be carried at the same time."""
    asked = tuple(
        replace(t, demand_per_s=promised.get(t.name, 0.0)) for t in plan.problem.topologies
    )
    together = Reference(replace(plan.problem, topologies=asked), plan.placement).scale
    if together < 1 - _WITHIN:
        yield f"carries {together:.6g} of what it promises to its topologies together"


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_WITHIN, abs_tol=1e-9)

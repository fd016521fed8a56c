"""A problem as it would be with other machines or other demands.

The changed problem is a problem like any other: its plan holds the changed cluster, can be shown,
compared and simulated, and says in its notes what was assumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.errors import Finding, InputError, unknown_name
from penstock.model.cluster import Cluster, Machine
from penstock.model.problem import Problem, require_fit
from penstock.model.topology import Topology
from penstock.planning.numbers import counted, rate

#: More machines than this nobody means.
_MOST_ADDED = 10_000
_MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class DemandChange:
    """Another demand of one topology, or of all where none is named: a factor or a rate."""

    topology: str = ""
    factor: float | None = None
    rate_per_s: float | None = None


@dataclass(frozen=True)
class WhatIf:
    """What to assume. Machines go by name, or by type and how many of it."""

    add: tuple[tuple[str, int], ...] = ()
    remove: tuple[str, ...] = ()
    remove_of_type: tuple[tuple[str, int], ...] = ()
    demand: tuple[DemandChange, ...] = ()

    @property
    def is_empty(self) -> bool:
        return self == WhatIf()


def assume(problem: Problem, changes: WhatIf) -> tuple[Problem, tuple[str, ...]]:
    """The changed problem, and what was assumed in words; an error with all that is wrong."""
    findings: list[Finding] = []
    removed = _removed(problem.cluster, changes, findings)
    added = _added(problem.cluster, changes.add, findings)
    topologies, demands = _demands(problem, changes.demand, findings)
    left = tuple(m for m in problem.cluster.machines if m.name not in removed) + added
    if not left and not findings:
        findings.append(Finding("leaves no machines", field="--remove"))
    if findings:
        raise InputError(*findings)
    terms = replace(
        problem.terms, avoid=tuple(name for name in problem.terms.avoid if name not in removed)
    )
    changed = replace(
        problem,
        topologies=topologies,
        cluster=replace(problem.cluster, machines=left),
        terms=terms,
    )
    require_fit(changed)
    return changed, (*_added_words(added), *_removed_words(removed), *demands)


def _removed(cluster: Cluster, changes: WhatIf, findings: list[Finding]) -> tuple[str, ...]:
    """Names of the machines that go; of a type, the last ones."""
    gone = dict.fromkeys(changes.remove)
    for name in gone:
        if name in cluster.type_names:
            all_of_it = int(cluster.machines_per_type[cluster.type_names[name]])
            message = f"{name} is a machine type; write {name}={all_of_it} for all of its machines"
            findings.append(Finding(message, field="--remove"))
        elif name not in cluster.machine_index:
            message = unknown_name("machine", name, sorted(cluster.machine_index))
            findings.append(Finding(message, field="--remove"))
    for kind, number in changes.remove_of_type:
        if not _is_type(cluster, kind, number, "--remove", findings):
            continue
        there = [m.name for m in cluster.machines if m.type == kind and m.name not in gone]
        if number > len(there):
            message = f"cannot remove {number} of {kind}: there are {len(there)}"
            findings.append(Finding(message, field="--remove"))
        gone.update(dict.fromkeys(there[len(there) - number :]))
    return tuple(gone)


def _added(
    cluster: Cluster, add: Sequence[tuple[str, int]], findings: list[Finding]
) -> tuple[Machine, ...]:
    wider = cluster
    for kind, number in add:
        if _is_type(cluster, kind, number, "--add", findings):
            wider = wider.with_more(kind, number)
    return wider.machines[len(cluster.machines) :]


def _is_type(
    cluster: Cluster, kind: str, number: int, option: str, findings: list[Finding]
) -> bool:
    if kind not in cluster.type_names:
        message = unknown_name("machine type", kind, cluster.type_names)
        findings.append(Finding(message, field=option))
        return False
    if not 1 <= number <= _MOST_ADDED:
        message = f"{kind}={number}: write a number from 1 to {_MOST_ADDED:,}"
        findings.append(Finding(message, field=option))
        return False
    return True


def _demands(
    problem: Problem, changes: Sequence[DemandChange], findings: list[Finding]
) -> tuple[tuple[Topology, ...], list[str]]:
    """The topologies with their demands changed, one change after the other, and the words."""
    topologies = {t.name: t for t in problem.topologies}
    for change in changes:
        if change.topology and change.topology not in topologies:
            message = unknown_name("topology", change.topology, topologies)
            findings.append(Finding(message, field="--demand"))
            continue
        if not change.topology and change.factor is None and len(topologies) > 1:
            message = f"name the topology the rate is for: {problem.topologies[0].name}=20000"
            findings.append(Finding(message, field="--demand"))
            continue
        for name in [change.topology] if change.topology else list(topologies):
            wanted = _new_demand(topologies[name], change, findings)
            topologies[name] = replace(topologies[name], demand_per_s=wanted)
    words = [
        f"demand of {t.name} {rate(topologies[t.name].demand_per_s)} tuples/s"
        + (f" instead of {rate(t.demand_per_s)}" if t.demand_per_s is not None else "")
        for t in problem.topologies
        if topologies[t.name].demand_per_s != t.demand_per_s
    ]
    return tuple(topologies.values()), words


def _new_demand(topology: Topology, change: DemandChange, findings: list[Finding]) -> float | None:
    if change.factor is None:
        return change.rate_per_s
    if topology.demand_per_s is None:
        message = f"{topology.name} declares no demand_per_s that could be multiplied; write "
        findings.append(Finding(f"{message}{topology.name}=20000", field="--demand"))
        return None
    return topology.demand_per_s * change.factor


def _added_words(added: Sequence[Machine]) -> list[str]:
    kinds = dict.fromkeys((machine.type, machine.rack) for machine in added)
    words = []
    for kind, rack in kinds:
        names = [m.name for m in added if (m.type, m.rack) == (kind, rack)]
        words.append(f"{counted(len(names), 'more machine')} {kind} in {rack}: {_names(names)}")
    return words


def _removed_words(removed: Sequence[str]) -> list[str]:
    return [f"without {_names(removed)}"] if removed else []


def _names(names: Sequence[str]) -> str:
    first = ", ".join(names[:_MOST_NAMED])
    hidden = len(names) - _MOST_NAMED
    return f"{first} and {hidden:,} more" if hidden > 0 else first

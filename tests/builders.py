"""Small builders, so that a test says only what it is about.

Those of topologies, clusters and profiles ship with the contract suite. Random problems are in
:mod:`tests.model.strategies`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.model.cluster import Link, Network
from penstock.model.outcome import Outcome
from penstock.model.placement import Placement
from penstock.model.problem import Problem, build
from penstock.schedulers import Budget, get
from penstock_bench.contract.builders import (
    NASIRI_MET,
    SCENARIOS,
    SHAPES,
    TABLE_3,
    Options,
    cluster,
    nasiri,
    nasiri_profile,
    profile,
    topology,
)

__all__ = [
    "NASIRI_MET",
    "SCENARIOS",
    "SHAPES",
    "TABLE_3",
    "Options",
    "all_on",
    "build",
    "cluster",
    "held_by_slot",
    "links",
    "machine_names",
    "nasiri",
    "nasiri_profile",
    "place",
    "profile",
    "solve",
    "topology",
]


def links(latency_ms: tuple[float, ...], bandwidth_mbps: float | None = None) -> Network:
    """A network from the latencies of the five hop classes, nearest first."""
    same, machine, rack, other, region = (Link(ms, bandwidth_mbps) for ms in latency_ms)
    return Network((same, machine, rack, other, region))


def place(problem: Problem, *instances: str, shares: list[float] | None = None) -> Placement:
    """``place(problem, "a M1-1", "b M1-2/1")``: component, machine, and slot where not 0."""
    component, machine, slot = [], [], []
    for text in instances:
        label, where = text.split()
        name, _, number = where.partition("/")
        component.append(problem.labels.index(label))
        machine.append(problem.cluster.machine_index[name])
        slot.append(int(number or 0))
    return Placement.of(component, machine, slot, shares)


def all_on(problem: Problem, machine: int = 0) -> Placement:
    """One instance of each component, all in the first slot of one machine."""
    components = range(len(problem.components))
    return Placement.of(list(components), [machine] * len(components))


def solve(
    problem: Problem, scheduler: str = "hetero", iterations: int | None = None, **settings: Any
) -> Outcome:
    made = get(scheduler)(**settings)
    return made.solve(problem, Budget(iterations), np.random.default_rng(0))


def machine_names(problem: Problem, placement: Placement, label: str) -> list[str]:
    """Where the instances of a component run, in their order."""
    mine = placement.component == problem.labels.index(label)
    return [problem.cluster.machines[m].name for m in placement.machine[mine]]


def held_by_slot(problem: Problem, outcome: Outcome) -> dict[str, str]:
    """``{"M1-1/0": "a b b"}``: what each slot holds."""
    placement = outcome.placement
    held: dict[str, list[str]] = {}
    rows = zip(placement.component, placement.machine, placement.slot, strict=True)
    for component, machine, slot in rows:
        where = f"{problem.cluster.machines[machine].name}/{slot}"
        held.setdefault(where, []).append(problem.labels[component])
    return {where: " ".join(labels) for where, labels in sorted(held.items())}

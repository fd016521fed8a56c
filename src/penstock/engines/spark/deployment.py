"""Which instances of each component run where, with which share: a plan as the engine sees it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.errors import InputError
from penstock.model.plan import Plan
from penstock.model.topology import Kind, Topology

#: Machine type of instances that may run anywhere.
ANYWHERE = ""


@dataclass(frozen=True, slots=True)
class Instance:
    """One instance: its number in the topology, the type it runs on, its part of the input."""

    task: int
    machine_type: str
    share: float


@dataclass(frozen=True)
class Deployment:
    """The instances of every component, by name, in order of their tasks."""

    instances: dict[str, tuple[Instance, ...]]

    @classmethod
    def evenly(cls, topology: Topology, parallelism: int) -> Deployment:
        """As many like instances as the topology asks for, or as there are cores."""
        task = 0
        found = {}
        for component in topology.components:
            if component.kind is Kind.ACKER:
                continue
            number = component.instances or parallelism
            number = min(number, component.max_instances or number)
            share = 1.0 / number
            found[component.name] = tuple(
                Instance(task + i, ANYWHERE, share) for i in range(number)
            )
            task += number
        return cls(found)

    @classmethod
    def of(cls, plan: Plan, topology: str) -> Deployment:
        """The part of a plan that one topology is."""
        problem, placement = plan.problem, plan.placement
        names = [t.name for t in problem.topologies]
        if topology not in names:
            raise InputError(f'the plan has no topology "{topology}"; it has {", ".join(names)}')
        index = names.index(topology)
        first, task = problem.first_component[index], 0
        found = {}
        for c, component in enumerate(problem.topologies[index].components):
            if component.kind is Kind.ACKER:
                continue
            mine = placement.component == first + c
            machines = placement.machine[mine].tolist()
            share = placement.share[mine]
            even = np.full(len(machines), 1.0 / max(1, len(machines)))
            share = even if np.isnan(share).all() else share / share.sum()
            kinds = [problem.cluster.machines[m].type for m in machines]
            found[component.name] = tuple(
                Instance(task + i, kind, float(part))
                for i, (kind, part) in enumerate(zip(kinds, share.tolist(), strict=True))
            )
            task += len(machines)
        return cls(found)

    def parts(self, component: str) -> dict[str, tuple[Instance, ...]]:
        """Its instances by the machine type they run on, types in order of appearance."""
        found: dict[str, list[Instance]] = {}
        for instance in self.instances[component]:
            found.setdefault(instance.machine_type, []).append(instance)
        return {kind: tuple(mine) for kind, mine in found.items()}

    def ends(self, component: str) -> list[float]:
        """Where each instance's share ends, adding them up; the last ends at 1."""
        shares = [instance.share for instance in self.instances[component]]
        ends = np.cumsum(shares) / sum(shares)
        return [*ends[:-1].tolist(), 1.0]

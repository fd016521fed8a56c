"""Which instances of each component run where, with which share: a plan as the engine sees it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from penstock.engines.lab.machines import POINTS_PER_CORE
from penstock.errors import InputError
from penstock.model.plan import Plan
from penstock.model.topology import Kind, Topology

#: Place of instances that may run anywhere.
ANYWHERE = ""


class PlaceBy(StrEnum):
    """What Spark's workers announce, and a plan's instances are bound to."""

    TYPE = "type"
    MACHINE = "machine"
    #: Counts and shares of the plan, wherever Spark likes.
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Instance:
    """One instance: its number in the topology, its part of the input, where it belongs."""

    task: int
    share: float
    place: str = ANYWHERE
    machine: str = ""
    machine_type: str = ""
    #: Instances that can work at the same time on that machine.
    cores: int = 1


@dataclass(frozen=True)
class Deployment:
    """The instances of every component, by name, in order of their tasks."""

    instances: dict[str, tuple[Instance, ...]]
    #: Whether shares are of rows, as a plan means them, or of keys, as Spark's own hash deals them.
    weighs_keys: bool = False

    @classmethod
    def evenly(cls, topology: Topology, parallelism: int) -> Deployment:
        """As many like instances as the topology asks for, or as there are cores."""
        task = 0
        shares = {}
        for component in topology.components:
            if component.kind is Kind.ACKER:
                continue
            number = component.instances or parallelism
            number = min(number, component.max_instances or number)
            shares[component.name] = tuple(Instance(task + i, 1.0 / number) for i in range(number))
            task += number
        return cls(shares)

    @classmethod
    def of(cls, plan: Plan, topology: str, place_by: PlaceBy = PlaceBy.NOTHING) -> Deployment:
        """The part of a plan that one topology is."""
        problem = plan.problem
        names = [t.name for t in problem.topologies]
        if topology not in names:
            raise InputError(f'the plan has no topology "{topology}"; it has {", ".join(names)}')
        cluster, task = problem.cluster, 0
        shares = {}
        for component in problem.topologies[names.index(topology)].components:
            if component.kind is Kind.ACKER:
                continue
            places = plan.places[topology, component.name]
            machines = [cluster.machines[cluster.machine_index[p.machine]] for p in places]
            share = np.array([1.0 if p.share is None else p.share for p in places])
            instances = []
            for machine, part in zip(machines, (share / share.sum()).tolist(), strict=True):
                place = {PlaceBy.TYPE: machine.type, PlaceBy.MACHINE: machine.name}.get(place_by)
                kind = problem.cluster.types[problem.cluster.type_names[machine.type]]
                cores = math.ceil(kind.cpu_points / (kind.core_points or POINTS_PER_CORE))
                instances.append(
                    Instance(task, part, place or ANYWHERE, machine.name, machine.type, cores)
                )
                task += 1
            shares[component.name] = tuple(instances)
        return cls(shares, weighs_keys=True)

    @property
    def places(self) -> list[str]:
        """Where instances are bound to, the one with most of the work first."""
        total: dict[str, float] = {}
        for instances in self.instances.values():
            for instance in instances:
                total[instance.place] = total.get(instance.place, 0.0) + instance.share
        return sorted(total, key=lambda place: (-total[place], place))

    def shares(self, component: str) -> list[float]:
        return [instance.share for instance in self.instances[component]]

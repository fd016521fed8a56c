"""A plan: a placement with what it was made from, by whom, and what is predicted for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.model.resources import Quantities

Scalar: TypeAlias = str | int | float | bool | None
#: Machine and slot of every instance, by component.
Places: TypeAlias = Mapping[str, tuple[tuple[str, int], ...]]


@dataclass(frozen=True)
class MachineLoad:
    """What is predicted for one machine in use, at the sustainable rate."""

    machine: str
    instances: int
    cpu_points: float
    usable_cpu_points: float
    memory_mb: float | None = None
    #: What it holds of the other resources that it has or that its instances ask for.
    resources: Quantities = ()

    @property
    def utilisation(self) -> float:
        return self.cpu_points / self.usable_cpu_points if self.usable_cpu_points else 0.0


@dataclass(frozen=True)
class Prediction:
    """What the cost model says of a plan. Rates are ``None`` in requests mode and with cycles."""

    rate_per_s: tuple[tuple[str, float], ...] = ()
    scale: float | None = None
    throughput_per_s: float | None = None
    limited_by: str = ""
    #: Upper bound on the scale that no plan can exceed, which bound it is, and the gap to it.
    bound_scale: float | None = None
    bound_kind: str = ""
    proven_optimal: bool = False
    machines: tuple[MachineLoad, ...] = ()
    violations: tuple[str, ...] = ()

    @property
    def gap(self) -> float | None:
        """Fraction of the bound that the plan leaves; none for a plan that breaks limits."""
        if self.scale is None or not self.bound_scale or self.violations:
            return None
        return 0.0 if self.proven_optimal else max(0.0, 1.0 - self.scale / self.bound_scale)


@dataclass(frozen=True)
class Contingency:
    """Where the instances of one machine go if it is lost; each keeps its number."""

    machine: str
    #: (component label, index within the component, machine, slot)
    moves: tuple[tuple[str, int, str, int], ...]
    #: Of all placed topologies together; 0 where no plan was found.
    rate_left_per_s: float | None = None
    #: (component label, machine, slot) of instances that start.
    added: tuple[tuple[str, str, int], ...] = ()
    #: (component label, index) of instances that end: the others take their tuples.
    dropped: tuple[tuple[str, int], ...] = ()
    #: (component label, shares of its instances afterwards: those that are left in the order of
    #: their numbers, then those that start). Shares of components that are not named stay.
    shares: tuple[tuple[str, tuple[float, ...]], ...] = ()


@dataclass(frozen=True)
class Deployed:
    """A topology as it ran when the plan was made."""

    topology: str
    #: The engine's name for this very submission.
    id: str
    #: (component, machine and slot of each instance)
    components: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]


@dataclass(frozen=True, slots=True)
class InstancePlace:
    """Where one instance of a component runs."""

    machine: str
    slot: int
    #: Its part of the component's input; ``None`` where that is divided evenly.
    share: float | None = None


@dataclass(frozen=True)
class Plan:
    """A placement of a problem, self-contained: its file can be shown, simulated and applied."""

    problem: Problem
    placement: Placement
    scheduler: str
    parameters: Mapping[str, Scalar] = field(default_factory=dict)
    seed: int = 0
    predicted: Prediction = field(default_factory=Prediction)
    notes: tuple[str, ...] = ()
    if_lost: tuple[Contingency, ...] = ()
    #: What it was made from if that was a running cluster; applying it to another state is refused.
    deployed: tuple[Deployed, ...] = ()

    @cached_property
    def places(self) -> dict[tuple[str, str], tuple[InstancePlace, ...]]:
        """Who runs where: the instances of each (topology, component), by number.

        Every component of the problem is named; one that is not placed has none.
        """
        problem, placement = self.problem, self.placement
        machines = [machine.name for machine in problem.cluster.machines]
        columns = (placement.machine.tolist(), placement.slot.tolist(), placement.share.tolist())
        instances = [
            InstancePlace(machines[m], slot, None if share != share else share)  # NaN: evenly
            for m, slot, share in zip(*columns, strict=True)
        ]
        spans = pairwise(placement.starts(len(problem.components)).tolist())
        names = (
            (problem.topologies[t].name, component.name)
            for t, component in zip(problem.topology_of.tolist(), problem.components, strict=True)
        )
        return {
            name: tuple(instances[start:end])
            for name, (start, end) in zip(names, spans, strict=True)
        }

    def slots_of(self, topology: str) -> Places:
        """Machine and slot of every instance of one topology, by component."""
        return {
            component: tuple((place.machine, place.slot) for place in places)
            for (name, component), places in self.places.items()
            if name == topology
        }

    @property
    def not_placed(self) -> tuple[str, ...]:
        """Names of the topologies that have no instance in it."""
        placed = set(self.problem.topology_of[self.placement.component].tolist())
        return tuple(t.name for i, t in enumerate(self.problem.topologies) if i not in placed)

"""What is left of a cluster while topologies are placed one after the other."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.model.arrays import FloatMatrix, FloatVector
from penstock.model.outcome import Outcome, Shortfall
from penstock.model.placement import Placement
from penstock.model.problem import Problem

#: A worker process: machine and slot.
Worker = tuple[int, int]


@dataclass
class Room:
    """Free slots, CPU and resources of every machine, and what has been placed so far."""

    problem: Problem
    #: Free slot numbers of each machine, ascending.
    free_slots: list[list[int]]
    #: CPU points left on each machine, (M,); it may go below zero, it is for scoring.
    cpu: FloatVector
    #: What is left of every resource of the problem, shape (M, R).
    resources: FloatMatrix
    placed: list[tuple[int, int, int]] = field(default_factory=list)
    shortfalls: list[Shortfall] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, problem: Problem) -> Room:
        """The whole cluster."""
        cluster = problem.cluster
        return cls(
            problem,
            free_slots=[
                list(range(cluster.types[kind].slots)) for kind in cluster.type_of.tolist()
            ],
            cpu=cluster.usable_cpu.copy(),
            resources=problem.resources.capacity.copy(),
        )

    def even_slots(self, machines: list[int] | None = None) -> list[Worker]:
        """Free slots in Storm's order: one of each machine in turn, those with more slots first."""
        chosen = range(len(self.free_slots)) if machines is None else machines
        order = sorted(chosen, key=lambda machine: -len(self.free_slots[machine]))
        rounds = max((len(self.free_slots[machine]) for machine in order), default=0)
        return [
            (machine, self.free_slots[machine][turn])
            for turn in range(rounds)
            for machine in order
            if turn < len(self.free_slots[machine])
        ]

    def take(self, worker: Worker) -> None:
        """Occupy a slot."""
        machine, slot = worker
        self.free_slots[machine].remove(slot)

    def put(self, component: int, worker: Worker) -> None:
        """Place one instance."""
        self.placed.append((component, *worker))

    def refuse(self, topology: int, resource: str, needed: float, available: float) -> None:
        """Note that a topology is left out, and for want of what."""
        name = self.problem.topologies[topology].name
        self.shortfalls.append(Shortfall(resource, needed, available, name))

    def outcome(self, iterations: int | None = None) -> Outcome:
        """What has been placed, as a scheduler's answer."""
        placement = None
        if self.placed:
            component, machine, slot = zip(*self.placed, strict=True)
            placement = Placement.of(component, machine, slot)
        rounds = len(self.placed) if iterations is None else iterations
        return Outcome(placement, tuple(self.shortfalls), rounds, tuple(dict.fromkeys(self.notes)))


def workers_asked(problem: Problem, topology: int) -> int:
    """Worker processes a topology asks for; one per machine if it does not say."""
    return problem.topologies[topology].workers or len(problem.cluster.machines)


def components_of(problem: Problem, topology: int) -> range:
    """Flattened indices of a topology's components."""
    first = problem.first_component[topology]
    return range(first, first + len(problem.topologies[topology].components))

"""The instance with a component's hottest key: which machine it goes to, and who should be there.

However many instances there are, one of them takes that key. Where tuples that cross cost
something, its thread carries less the more of it comes from elsewhere: so the components that it
talks to should be on its machine. For parts of components (:mod:`.parts`) that is a linear limit
once the machine is known. It is one of the type on which the instance carries most by the bound's
reckoning (:mod:`penstock.evaluate.hot_keys`), another one for each topology.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from penstock.evaluate.bound import upper_bound
from penstock.evaluate.hot_keys import HottestKey, hot_inputs, hot_outputs, hottest_keys
from penstock.evaluate.movement import can_matter
from penstock.model.arrays import FloatMatrix, FloatVector, IntVector
from penstock.model.placement import Placement
from penstock.model.problem import Problem


@dataclass(frozen=True)
class HotInstance:
    """What the instance puts on its thread at scale 1, by how much of its peers is beside it."""

    component: int
    machine: int
    #: Part of the component's input that it takes.
    part: float
    #: Points of its own for its tuples, and those that its thread has for them.
    points: float
    thread: float
    #: Components that it exchanges tuples with, and the points of those that all cross.
    peers: IntVector
    crossing: FloatVector

    @classmethod
    def on(cls, problem: Problem, c: int, rate: float, machine: int) -> HotInstance:
        """An instance of ``c`` that takes in ``rate`` at scale 1 with the hottest key."""
        kind = problem.cluster.type_of[machine]
        into, out = hot_inputs(problem, c), hot_outputs(problem, c, rate)
        # With the hottest key come others, from wherever that comes from.
        in_all = sum(e.rate for e in into)
        exchanged = [e.rate * rate / in_all for e in into] + [e.rate for e in out]
        return cls(
            c,
            machine,
            rate / float(problem.visits[c]),
            float(problem.e[c, kind]) * rate,
            float(problem.instance_points[c, kind] - problem.met[c, kind]),
            np.array([e.peer for e in (*into, *out)], dtype=np.int64),
            np.array(exchanged) * float(problem.e_remote[c, kind]),
        )

    @property
    def alone(self) -> float:
        """Points at scale 1 where all that it exchanges crosses."""
        return self.points + float(self.crossing.sum())

    def load(self, parts: FloatMatrix) -> float:
        """Points at scale 1 with these parts of all components on all machines, (C, M)."""
        return self.points + float(self.crossing @ (1.0 - parts[self.peers, self.machine]))

    def fill(self, parts: FloatMatrix) -> float:
        """How full its thread is at scale 1."""
        return self.load(parts) / max(self.thread, 1e-300)


def hot_instances(problem: Problem) -> tuple[HotInstance, ...]:
    """Where the instances should be whose thread would be full with all their peers elsewhere.

    Those that limit most come first.
    """
    if not can_matter(problem):
        return ()
    keys = sorted(hottest_keys(problem), key=lambda key: (key.scale, key.component))
    machine: dict[int, int] = {}  # of each topology
    found = []
    for key in keys:
        topology = int(problem.topology_of[key.component])
        if topology not in machine:
            machine[topology] = _machine_for(problem, key, set(machine.values()))
        rate = key.part * float(problem.visits[key.component])
        found.append(HotInstance.on(problem, key.component, rate, machine[topology]))
    return those_that_bind(problem, found)


def those_that_bind(problem: Problem, instances: Iterable[HotInstance]) -> tuple[HotInstance, ...]:
    """Those whose thread would be full with all their peers elsewhere."""
    scale = upper_bound(problem).scale
    return tuple(hot for hot in instances if hot.alone * scale > hot.thread)


def hot_instances_of(
    problem: Problem, placement: Placement, rates: FloatVector
) -> tuple[HotInstance, ...]:
    """The instances with the hottest keys in a plan whose instances take in ``rates``."""
    found = []
    for key in hottest_keys(problem) if problem.has_remote_cost else []:
        own = np.flatnonzero(placement.component == key.component)
        if len(own):
            largest = int(own[rates[own].argmax()])
            machine = int(placement.machine[largest])
            hot = HotInstance.on(problem, key.component, float(rates[largest]), machine)
            found.append(replace(hot, part=0.0))
    return tuple(found)


def _machine_for(problem: Problem, key: HottestKey, taken: set[int]) -> int:
    """The first machine of the best type; one that no other topology has where there is one."""
    of_type = problem.cluster.type_of
    room = problem.cluster.usable_cpu_per_type[of_type]
    free = [m not in taken for m in range(len(of_type))]
    # Highest scale first, then most room beside it; rounding must not decide.
    scale = np.round(key.allowed[of_type] / key.scale, 9)
    return int(np.lexsort((np.arange(len(of_type)), ~np.array(free), -room, -scale))[0])

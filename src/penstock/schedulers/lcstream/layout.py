"""Where Lc-Stream puts its executors, and what every machine then has to do.

One worker process per machine and topology, so "the same process" and "the same machine" are one.
A machine's load counts every tuple as crossing a process boundary until both its ends are there;
what is placed later can therefore only lower the load of what is already placed, and a machine that
was under its threshold stays under it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from penstock.evaluate.assess import assess
from penstock.evaluate.capacity import ROUNDING_POINTS
from penstock.model.arrays import BoolVector, FloatMatrix, FloatVector
from penstock.model.placement import Placement
from penstock.schedulers.lcstream.pool import ExecutorPool
from penstock.schedulers.lcstream.work import ExecutorWork

#: Stands for "not placed".
NOWHERE = -1


@dataclass(frozen=True, slots=True)
class Rules:
    """What a machine may be given: executors, and load as a fraction of its usable CPU."""

    per_machine: int
    threshold: float


@dataclass
class ServerLayout:
    """What is placed so far. Arrays: (machines,), or (topologies | streams, machines)."""

    work: ExecutorWork
    rules: Rules
    pool: ExecutorPool
    #: CPU points a machine may be loaded to, and is loaded with at the operating rate.
    limit: FloatVector
    load: FloatVector
    #: What is left of each resource, (machines, resources), and heap of each topology's worker.
    resources: FloatMatrix
    heap: FloatMatrix
    #: Executors of each topology.
    executors: FloatMatrix
    #: Tuples/s that each stream's sources on a machine send, fraction that its targets take.
    sent: FloatMatrix
    taken: FloatMatrix
    #: Machine of each executor of each component.
    where: list[list[int]]

    @classmethod
    def empty(cls, work: ExecutorWork, rules: Rules) -> ServerLayout:
        problem = work.problem
        cluster = problem.cluster
        machines, topologies = len(cluster.machines), len(problem.topologies)
        return cls(
            work,
            rules,
            ExecutorPool([rules.per_machine] * machines),
            limit=cluster.usable_cpu * rules.threshold,
            load=np.zeros(machines),
            resources=problem.resources.capacity.copy(),
            heap=np.zeros((topologies, machines)),
            executors=np.zeros((topologies, machines)),
            sent=np.zeros((len(problem.streams), machines)),
            taken=np.zeros((len(problem.streams), machines)),
            where=[[NOWHERE] * count for count in work.counts],
        )

    @classmethod
    def rebuilt(
        cls, work: ExecutorWork, rules: Rules, where: Sequence[Sequence[int]]
    ) -> ServerLayout:
        """Every executor on the machine that ``where`` says."""
        layout = cls.empty(work, rules)
        for component, machines in enumerate(where):
            for i, machine in enumerate(machines):
                if machine != NOWHERE:
                    layout.add(component, i, machine)
        return layout

    def with_counts(self, work: ExecutorWork) -> ServerLayout:
        """A copy with other counts for the components that are not placed."""
        layout = replace(self.copy(), work=work)
        for component, count in enumerate(work.counts):
            if NOWHERE in layout.where[component]:
                layout.where[component] = [NOWHERE] * count
        return layout

    def copy(self) -> ServerLayout:
        return replace(
            self,
            pool=self.pool.copy(),
            load=self.load.copy(),
            resources=self.resources.copy(),
            heap=self.heap.copy(),
            executors=self.executors.copy(),
            sent=self.sent.copy(),
            taken=self.taken.copy(),
            where=[machines.copy() for machines in self.where],
        )

    @property
    def placed(self) -> list[int]:
        """Components that have their executors; topologies are placed whole or not at all."""
        return [c for c, machines in enumerate(self.where) if NOWHERE not in machines]

    # -- placing ------------------------------------------------------------------------------

    def place(self, component: int, i: int, allowed: BoolVector) -> bool:
        """Put one executor on the best machine that is allowed and has room for it."""
        needed = self.needed(component, i)
        room = self.limit - self.load
        may = allowed & self.has_place(component) & self.has_resources(component)
        # eq. (21): L_B < S; a machine over its threshold takes no part
        may &= needed <= room + ROUNDING_POINTS
        own = self.work.own_points(component, i)
        may &= own <= self.most_points(component) + ROUNDING_POINTS
        topology = int(self.work.problem.topology_of[component])
        machine = self.pool.choose(
            may,
            self._related(component, i),
            np.sign(self.executors[topology]),
            -self._distance(topology, room),
            room,
        )
        if machine is None:
            return False
        self.add(component, i, machine, float(needed[machine]))
        return True

    def add(self, component: int, i: int, machine: int, points: float | None = None) -> None:
        """Put one executor on a machine, whatever else is there."""
        problem, work = self.work.problem, self.work
        if points is None:
            points = float(self.needed(component, i)[machine])
        topology = int(problem.topology_of[component])
        self.pool.take(machine)
        self.load[machine] += points
        self.resources[machine] -= self.resources_needed(component)[machine]
        self.heap[topology, machine] += problem.onheap_mb[component]
        self.executors[topology, machine] += 1
        for s in problem.streams_from[component]:
            self.sent[s, machine] += work.sends(s, i)
        for s in work.streams_into[component]:
            self.taken[s, machine] += work.division[s][i]
        self.where[component][i] = machine

    def clear(self, machine: int) -> list[tuple[int, int]]:
        """Take everything off a machine; the executors that were there."""
        self.pool.release_all(machine)
        self.load[machine] = 0.0
        self.resources[machine] = self.work.problem.resources.capacity[machine]
        for table in (self.heap, self.executors, self.sent, self.taken):
            table[:, machine] = 0.0
        gone = [(c, i) for c, on in enumerate(self.where) for i, m in enumerate(on) if m == machine]
        for c, i in gone:
            self.where[c][i] = NOWHERE
        return gone

    def placement(self) -> Placement | None:
        """One slot per machine and topology, in the order of the topologies."""
        slot = np.cumsum(self.executors > 0, axis=0) - 1
        topology_of = self.work.problem.topology_of
        placed = [
            (c, m, int(slot[topology_of[c], m]))
            for c, on in enumerate(self.where)
            for m in on
            if m != NOWHERE
        ]
        if not placed:
            return None
        return Placement.of(*zip(*placed, strict=True))

    # -- what an executor needs and has, on each machine ----------------------------------------

    def needed(self, component: int, i: int) -> FloatVector:
        """CPU points one more executor would add to each machine, shape (machines,)."""
        work, problem = self.work, self.work.problem
        cluster = problem.cluster
        topology = int(problem.topology_of[component])
        points = work.met[component] + work.e[component] * work.rates[component][i]
        if cluster.has_overhead:
            base = cluster.per_type("base_cpu_points")[cluster.type_of]
            worker = cluster.per_type("worker_cpu_points")[cluster.type_of]
            points = points + np.where(self.executors.any(axis=0), 0.0, base)
            points += np.where(self.executors[topology] > 0, 0.0, worker)
        if not problem.has_remote_cost:
            return np.asarray(points)
        own = work.e_remote[component]
        for s in problem.streams_from[component]:
            there = self.taken[s]
            other = work.e_remote[problem.streams[s].target]
            outside = work.division[s].sum() - there
            points = points + work.sends(s, i) * (own * outside - other * there)
        for s in work.streams_into[component]:
            there = self.sent[s]
            other = work.e_remote[problem.streams[s].source]
            outside = work.sent[s] - there
            points = points + work.division[s][i] * (own * outside - other * there)
        return np.asarray(points)

    def _related(self, component: int, i: int) -> FloatVector:
        """Tuples/s between one executor and those already on each machine."""
        work = self.work
        tuples = np.zeros(len(self.load))
        for s in work.problem.streams_from[component]:
            tuples += work.sends(s, i) * self.taken[s]
        for s in work.streams_into[component]:
            tuples += work.division[s][i] * self.sent[s]
        return np.asarray(tuples)

    def _distance(self, topology: int, room: FloatVector) -> FloatVector:
        """Round-trip time in ms from the region where the topology has most, to each machine.

        Before it has anything, from the region with the most room. Its own region is the nearest
        even where no times are known.
        """
        cluster = self.work.problem.cluster
        mine = self.executors[topology]
        weight = mine if mine.any() else np.maximum(room, 0.0)
        home = int(np.argmax(np.bincount(cluster.region_of, weights=weight)))
        round_trip = 2.0 * cluster.region_latency_ms[home]
        round_trip[home] = -1.0
        return np.asarray(round_trip[cluster.region_of])

    def most_points(self, component: int) -> FloatVector:
        """The most CPU points one instance can use on each machine, shape (machines,)."""
        problem = self.work.problem
        return np.asarray(problem.instance_points[component][problem.cluster.type_of])

    def has_place(self, component: int) -> BoolVector:
        """Machines with a free executor, and a worker of the topology or a slot for one."""
        cluster = self.work.problem.cluster
        slots = cluster.per_type("slots")[cluster.type_of]
        open_workers = self.executors > 0
        own = open_workers[self.work.problem.topology_of[component]]
        return np.asarray(self.pool.has_free() & (own | (open_workers.sum(axis=0) < slots)))

    def resources_needed(self, component: int) -> FloatMatrix:
        """What one more executor would take on each machine, shape (machines, resources)."""
        problem, table = self.work.problem, self.work.problem.resources
        opening = self.executors[problem.topology_of[component]] == 0
        return np.asarray(table.request[component] + table.worker * opening[:, None])

    def has_resources(self, component: int) -> BoolVector:
        """Machines with the resources, and workers with the heap, for one more executor."""
        problem, needed = self.work.problem, self.resources_needed(component)
        topology = int(problem.topology_of[component])
        fits = problem.resources.fits(needed, self.resources, ROUNDING_POINTS)
        most = problem.topologies[topology].worker_max_heap_mb
        if most is not None:
            heap = self.heap[topology] + problem.onheap_mb[component]
            fits &= heap <= most + ROUNDING_POINTS
        return np.asarray(fits)

    # -- judging --------------------------------------------------------------------------------

    def cpu(self) -> FloatVector:
        """CPU points of each machine as the evaluation counts them, shape (machines,)."""
        placement = self.placement()
        if placement is None:
            return np.zeros(len(self.load))
        return assess(self.work.problem, placement, self.work.stations.scale).machine_cpu

    def within_limits(self) -> bool:
        """Whether, as the evaluation counts, no machine and no thread is over its limit."""
        placement = self.placement()
        if placement is None:
            return True
        problem = self.work.problem
        judged = assess(problem, placement, self.work.stations.scale)
        kind = problem.cluster.type_of[placement.machine]
        thread = problem.instance_points[placement.component, kind]
        over = (judged.machine_cpu > self.limit + ROUNDING_POINTS).any()
        return not (over or (judged.instance_cpu > thread + ROUNDING_POINTS).any())

"""``hetero``: the heterogeneity-aware scheduler of Nasiri et al.

Journal of Big Data 2023, doi:10.1186/s40537-023-00771-y, Algorithms 1 and 2. Start with one
instance of each component on the machine where it costs least; raise the input rate; when a machine
is over-utilised, add an instance of its hottest task's component where that costs least; when that
fits nowhere, go back to the last good state and raise the rate in smaller steps. A baseline:
implemented as written, not improved.

Where the paper is silent: R0 is a parameter (1 tuple/s); ties go to the first machine; "most
suitable" is the least tcu (the abstract says "least utilized"); a machine's worker process costs
what the cluster says, paid with the topology's first instance there (the paper: nothing); an
instance whose thread is full counts as over-utilisation (the paper's machines are one thread
wide); a component at its max_instances finds no machine. Rates are those of even division: other
groupings, memory and the network are not looked at. One worker per machine and topology. Several
topologies grow by one common scale. Counts that are laid down from outside are kept: it adds no
more, and what it did not add goes where it costs least. Instances that cannot help, however many,
are not added one by one until nothing fits, with the same end. Cost: O(machines) per instance.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from penstock.errors import InputError
from penstock.evaluate.capacity import ROUNDING_POINTS
from penstock.evaluate.rates import visit_ratios
from penstock.model.arrays import BoolVector, FloatMatrix, FloatVector, IntMatrix, IntVector
from penstock.model.outcome import Outcome, Shortfall
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.schedulers.base import Budget, Looks

#: Instances added between two looks at whether that can help at all.
_ASK_AGAIN = 100
#: Points above what a machine has that no rounding explains.
_SURELY = 1e-6


@dataclass(frozen=True)
class HeteroScheduler:
    """Grow the rate, add an instance of the hottest task where it costs least."""

    name: ClassVar[str] = "hetero"
    summary: ClassVar[str] = "grows the rate and adds instances where they cost least CPU"
    paper: ClassVar[str] = "Nasiri et al. 2023, Algorithms 1 and 2"
    looks: ClassVar[Looks] = Looks(counts=True, unlike_machines=True, topologies_together=True)

    r0: float = field(default=1.0, metadata={"help": "input rate to start from, tuples/s"})
    per_machine: int = field(
        default=100,
        metadata={"help": "most instances on one machine; ends the search where idling is free"},
    )

    def __post_init__(self) -> None:
        if not (np.isfinite(self.r0) and self.r0 > 0):
            raise InputError(f"hetero: r0 must be a positive number, not {self.r0}")
        if self.per_machine < 1:
            raise InputError(f"hetero: per_machine must be at least 1, not {self.per_machine}")

    def solve(self, problem: Problem, budget: Budget, rng: np.random.Generator) -> Outcome:
        current = _Assignment.first(problem, self.r0, self.per_machine)
        if isinstance(current, Shortfall):
            return Outcome(None, (current,))
        final = None if current.over_utilised().any() else current.copy()
        step = 1.0  # the paper's Scale
        rounds, interrupted, asked = 0, False, (0.0, -1)
        while not (interrupted := budget.spent(rounds)):
            rounds += 1
            over = current.over_utilised()
            if not over.any():
                final = current.copy()
                if not current.slope.any():
                    break  # nothing costs anything per tuple: any rate will do
                current.rate += current.rate / step  # line 3
                continue
            machine = int(np.argmax(over))
            # Asked now and then: it costs as much as to add an instance.
            asked, before = (current.rate, machine), asked
            ask = final is not None and (asked != before or rounds % _ASK_AGAIN == 0)
            hopeless = ask and current.is_past_help(machine)
            if not hopeless and current.add_instance_of_hottest(machine):  # lines 6 to 9
                continue
            if current.rate <= step or final is None:
                break
            step *= 2  # lines 11 to 14
            current = final.copy()
        if final is None:
            return Outcome(None, current.shortfalls(), rounds, interrupted=interrupted)
        if problem.given_counts is not None:
            final.fill_up()
        return Outcome(final.placement(), (), rounds, _notes(problem), interrupted=interrupted)


@dataclass
class _Assignment:
    """The paper's ETG with its rate: n[c, m] instances of component c on machine m."""

    problem: Problem
    rate: float
    most_per_machine: int
    n: IntMatrix
    #: Its sums: instances of each component, (components,), and on each machine, (machines,).
    count: IntVector
    held: IntVector
    #: Instances each component may have: its limit, or the count laid down, (components,).
    most: IntVector
    #: Machines on which each topology has an instance, (topologies, machines).
    present: BoolVector
    #: Points of each machine that do not depend on the rate, and points per tuple/s, (machines,).
    fixed: FloatVector
    slope: FloatVector
    #: Input of each component per tuple/s of the topologies' total input, (components,).
    visits: FloatVector
    #: Cost of each component on each machine, (components, machines).
    e: FloatMatrix
    met: FloatMatrix
    most_points: FloatMatrix

    @classmethod
    def first(cls, problem: Problem, rate: float, most_per_machine: int) -> _Assignment | Shortfall:
        """Algorithm 1: each component once, where its tcu is least."""
        cluster = problem.cluster
        kind = cluster.type_of
        components, machines = len(problem.components), len(cluster.machines)
        assignment = cls(
            problem=problem,
            rate=rate,
            most_per_machine=most_per_machine,
            n=np.zeros((components, machines), dtype=np.int64),
            count=np.zeros(components, dtype=np.int64),
            held=np.zeros(machines, dtype=np.int64),
            most=problem.most_instances
            if problem.given_counts is None
            else np.array(problem.given_counts),
            present=np.zeros((len(problem.topologies), machines), dtype=np.bool_),
            fixed=cluster.per_type("base_cpu_points")[kind],
            slope=np.zeros(machines),
            e=problem.e[:, kind],
            met=problem.met[:, kind],
            visits=visit_ratios(problem) / problem.demand.sum(),
            most_points=problem.instance_points[:, kind],
        )
        for c in range(components):
            tcu = assignment.met[c] + assignment.e[c] * assignment.visits[c] * rate
            has_slot = assignment._has_slot(c)
            if not has_slot.any():
                topology = problem.topologies[int(problem.topology_of[c])]
                return Shortfall("slots", 1, 0, topology.name, problem.components[c].name)
            assignment._add(c, int(np.argmin(np.where(has_slot, tcu, np.inf))))
        return assignment

    def copy(self) -> _Assignment:
        arrays = ("n", "count", "held", "present", "fixed", "slope")
        return replace(self, **{name: getattr(self, name).copy() for name in arrays})

    def over_utilised(self) -> BoolVector:
        """Machines with MAC < 0, or with an instance beyond its thread, (machines,)."""
        over = self.fixed + self.slope * self.rate > self._usable + ROUNDING_POINTS
        over &= self.held > 0  # a machine nothing runs on cannot be
        if self.problem.cluster.has_core_limit:
            problem = self.problem
            each = self.visits * self.rate / self.count
            # No tuples cost nothing, also on types of which no cost is known.
            e = np.where(each[:, None] > 0, problem.e, 0.0)
            tcu = problem.met + e * each[:, None]
            too_hot = tcu > problem.instance_points + ROUNDING_POINTS
            if too_hot.any():
                over |= (too_hot[:, problem.cluster.type_of] & (self.n > 0)).any(axis=0)
        return over

    def add_instance_of_hottest(self, machine: int) -> bool:
        """One more instance of the component with the largest tcu there; False if none fits."""
        each = self.visits * self.rate / self.count
        tcu = self.met[:, machine] + self.e[:, machine] * each
        hottest = int(np.argmax(np.where(self.n[:, machine] > 0, tcu, -np.inf)))
        count = int(self.count[hottest])
        if count >= self.most[hottest]:
            return False
        new_rate = self.visits[hottest] * self.rate / (count + 1)
        new_tcu = self.met[hottest] + self.e[hottest] * new_rate
        relief = self.n[hottest] * self.e[hottest] * (each[hottest] - new_rate)
        load = self.fixed + self.slope * self.rate - relief + self._worker_cpu(hottest)
        fits = (
            (load + new_tcu <= self._usable + ROUNDING_POINTS)
            & (new_tcu <= self.most_points[hottest] + ROUNDING_POINTS)
            & (self.held < self.most_per_machine)
            & self._has_slot(hottest)
        )
        if not fits.any():
            return False
        self._add(hottest, int(np.argmin(np.where(fits, new_tcu, np.inf))))
        return True

    def is_past_help(self, machine: int) -> bool:
        """Whether adding instances of the hottest task for ever would not relieve a machine.

        A task cannot cost less than its ``met``, so the hottest never costs less than the largest
        of them, and only tasks above that get instances. If what is then left is too much, adding
        goes on, as written, until nothing fits: a million times on ten thousand machines.
        """
        here = self.n[:, machine] > 0
        n, met, count = self.n[here, machine], self.met[here, machine], self.count[here]
        work = self.e[here, machine] * self.visits[here] * self.rate / count
        most = met.max(initial=0.0)
        # Each may just have been the hottest, and then have got one instance more.
        least = np.where(met + work >= most, (most - met) * count / (count + 1.0), work)
        return bool(self.fixed[machine] + n @ least > self._usable[machine] + _SURELY)

    def fill_up(self) -> None:
        """Add what is left of counts that were laid down: where it costs least among those with
        room at this rate, else where there is most room."""
        for c in range(len(self.count)):
            while self.count[c] < self.most[c]:
                each = self.visits[c] * self.rate / (self.count[c] + 1)
                tcu = self.met[c] + self.e[c] * each
                room = self._usable - self.fixed - self.slope * self.rate - self._worker_cpu(c)
                room = np.where(self._has_slot(c), room, -np.inf)
                fits = room >= tcu
                best = np.argmin(np.where(fits, tcu, np.inf)) if fits.any() else np.argmax(room)
                self._add(c, int(best))

    def placement(self) -> Placement:
        """One worker per machine and topology; slots in the order of the topologies."""
        component, machine = np.nonzero(self.n)
        repeats = self.n[component, machine]
        slot = np.cumsum(self.present, axis=0) - 1
        slots = slot[self.problem.topology_of[component], machine]
        return Placement.of(
            np.repeat(component, repeats), np.repeat(machine, repeats), np.repeat(slots, repeats)
        )

    def shortfalls(self) -> tuple[Shortfall, ...]:
        """What is missing on the first machine that is over-utilised even at the first rate."""
        over = self.over_utilised()
        if not over.any():
            return ()
        machine = int(np.argmax(over))
        needed = float(self.fixed[machine] + self.slope[machine] * self.rate)
        available = float(self._usable[machine])
        if needed <= available:  # the machine has room; it is a thread that is full
            each = self.visits * self.rate / self.count
            tcu = np.where(
                self.n[:, machine] > 0, self.met[:, machine] + self.e[:, machine] * each, 0
            )
            hottest = int(np.argmax(tcu - self.most_points[:, machine]))
            needed, available = float(tcu[hottest]), float(self.most_points[hottest, machine])
        name = self.problem.cluster.machines[machine].name
        return (Shortfall("cpu_points", needed, available, machine=name),)

    def _add(self, component: int, machine: int) -> None:
        self.fixed[machine] += self.met[component, machine]
        self.fixed[machine] += self._worker_cpu(component)[machine]
        count = int(self.count[component])
        cost = self.e[component] * self.visits[component]
        if count:
            self.slope -= self.n[component] * cost / count
        self.n[component, machine] += 1
        self.slope += self.n[component] * cost / (count + 1)
        self.count[component] += 1
        self.held[machine] += 1
        self.present[self.problem.topology_of[component], machine] = True

    def _worker_cpu(self, component: int) -> FloatVector:
        """Points of the worker process that an instance would open on each machine, (machines,)."""
        cluster = self.problem.cluster
        cost = cluster.per_type("worker_cpu_points")[cluster.type_of]
        if not cost.any():
            return cost
        return np.where(self.present[self.problem.topology_of[component]], 0.0, cost)

    def _has_slot(self, component: int) -> BoolVector:
        """Machines where the topology has a worker or can open one, (machines,)."""
        cluster = self.problem.cluster
        topologies = len(self.problem.topologies)
        slots = cluster.per_type("slots")[cluster.type_of]
        if (slots >= topologies).all():
            return np.ones(len(slots), dtype=np.bool_)
        own = self.present[self.problem.topology_of[component]]
        return np.asarray(own | (self.present.sum(axis=0) < slots))

    @property
    def _usable(self) -> FloatVector:
        cluster = self.problem.cluster
        return cluster.usable_cpu


def _notes(problem: Problem) -> tuple[str, ...]:
    kinds = {stream.grouping for stream in problem.streams}
    other = sorted(g.value for g in kinds if not (g.follows_shares or g.is_keyed))
    if not other:
        return ()
    return (f"hetero counts on even division; groupings {', '.join(other)} are not looked at",)

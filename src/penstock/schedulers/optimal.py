"""``optimal``: the best plan under shuffle grouping, over all counts and placements, with a proof.

Nasiri et al. 2023 search exhaustively: 27,405 count vectors for four bolts on three machines of ten
tasks each, 18 hours. We visit count vectors N best first by an upper bound and pack each exactly
(:mod:`penstock.schedulers.packing`) at a scale just above the best so far, unless prices prove at
once that it cannot be packed; when no vector is left whose bound exceeds the best, that is optimal
and the search says so (bound equals value).

The bound of a vector: with any prices u_t >= 0 for the CPU of the machine types, no placement of N
carries more than the scale s at which ``sum_c min_t u_t (e[c,t] k_c s + met[c,t] N_c)`` reaches
``sum_t u_t capacity_t``, by weak duality. We use the prices of the upper bound's linear programme.
It falls when an N_c grows (overheads), so whatever lies above a vector that is out is out, too.

Exact among plans with at most ``per_machine`` instances on a machine, the paper's k_j. The start is
the better of ``hetero``'s and ``lcstream``'s plans. Not looked at: groupings other than even ones
(then nothing is claimed), e_remote and network cards (the claim then is an upper bound only). Where
the budget of packing work ends first, the answer is the best so far with the bound of the best
vector not yet visited. Cost: grows quickly with components, counts and machines; meant for small
problems.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from penstock.errors import InputError
from penstock.evaluate.bound import upper_bound
from penstock.evaluate.capacity import overhead_cpu
from penstock.evaluate.limits import violations
from penstock.evaluate.predict import LIMITED
from penstock.model.arrays import FloatVector, IntMatrix, IntVector, sum_by
from penstock.model.outcome import Outcome
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.schedulers.base import Budget, Looks
from penstock.schedulers.hetero import HeteroScheduler
from penstock.schedulers.lcstream.scheduler import LcStreamScheduler
from penstock.schedulers.packing import Patterns, pack
from penstock.schedulers.shortage import shortage

#: A plan must be better by this factor to count as better; the proof holds up to it.
_BETTER = 1.0 + 1e-10
#: Count vectors looked at together, and the most that are listed at all.
_BATCH = 64
_MOST_VECTORS = 100_000


@dataclass(frozen=True)
class OptimalScheduler:
    """Every count vector that could be better, packed exactly."""

    name: ClassVar[str] = "optimal"
    summary: ClassVar[str] = "the best plan under shuffle grouping, with a proof; small problems"
    paper: ClassVar[str] = "Nasiri et al. 2023, optimal scheduler (exhaustive there)"
    looks: ClassVar[Looks] = Looks(
        counts=True, unlike_machines=True, memory=True, topologies_together=True
    )

    per_machine: int = field(default=10, metadata={"help": "most instances on one machine"})
    effort: float = field(
        default=1e7, metadata={"help": "packing work after which it stops with an honest gap"}
    )

    def __post_init__(self) -> None:
        if self.per_machine < 1:
            raise InputError(f"optimal: per_machine must be at least 1, not {self.per_machine}")
        if not self.effort > 0:
            raise InputError(f"optimal: effort must be positive, not {self.effort}")

    def solve(self, problem: Problem, budget: Budget, rng: np.random.Generator) -> Outcome:
        search = ExactSearch(problem, self.per_machine, self.effort)
        # Where the exact search is out of reach its limit per machine is, too.
        most = self.per_machine if search.patterns else 100
        search.start_from(HeteroScheduler(per_machine=most).solve(problem, budget, rng))
        second = LcStreamScheduler(per_machine=most)
        # It alone would take longer than all the packing this search may do.
        if second.work_for(problem) <= second.work:
            search.start_from(second.solve(problem, budget, rng))
        search.run(budget)
        return search.outcome()


class ExactSearch:
    """Best-first over count vectors."""

    def __init__(self, problem: Problem, per_machine: int, effort: float) -> None:
        self.problem = problem
        self.per_machine = per_machine
        self.effort, self.effort_left = effort, effort
        self.machines = problem.cluster.machines_per_type
        self.patterns = Patterns.of(problem, per_machine)
        self.bounds = _VectorBounds(problem)
        self.best_scale = 0.0
        self.best: Placement | None = None
        self.rounds = 0
        #: No plan exceeds this; lowered as vectors are visited.
        self.bound = self.bounds.whole
        self.finished = False

    def start_from(self, outcome: Outcome) -> None:
        """A first plan, if it keeps the limits of this search."""
        placement = outcome.placement
        if placement is None or self.problem.given_counts is not None:
            return
        counts = placement.counts(len(self.problem.components))
        if not counts.all() or not self._keeps_limits(placement):
            return
        scale = _cpu_scale(self.problem, placement, counts)
        if scale > self.best_scale or self.best is None:
            self.best_scale, self.best = scale, placement

    def run(self, budget: Budget) -> None:
        if self.patterns is None or np.isinf(self.bounds.whole):
            return
        vectors, bounds, complete = self._vectors(budget)
        for start in range(0, len(vectors), _BATCH):
            self.bound = float(bounds[start])
            if self.bound <= self.best_scale * _BETTER:
                break
            if self.effort_left <= 0:
                return
            batch = slice(start, start + _BATCH)
            if not self._try(vectors[batch], bounds[batch], budget):
                return
        if complete:
            self.bound = self.best_scale
            self.finished = True

    def outcome(self) -> Outcome:
        exact = self.problem.divides_evenly
        notes = [] if exact else ["groupings are not all even; nothing is proven"]
        if self.patterns is None:
            notes.append("too many components for the exact search; this is hetero's or lcstream's")
        elif not self.finished:
            notes.append(
                "the search ended before its proof; more effort (--set effort=1e9) goes on"
            )
        bound = max(self.best_scale * _BETTER, self.bound) if exact else None
        kind = f"{LIMITED}{self.per_machine} instances on a machine"
        if not self.finished:
            kind += ", ended early"
        shortfalls = () if self.best is not None else (shortage(self.problem),)
        return Outcome(
            self.best,
            shortfalls,
            self.rounds,
            tuple(notes),
            bound_scale=bound if bound is not None and np.isfinite(bound) else None,
            bound_kind=kind,
            interrupted=not self.finished,
        )

    def _vectors(self, budget: Budget) -> tuple[IntMatrix, FloatVector, bool]:
        """Count vectors that may beat the best, by falling bound, and whether these are all."""
        given = self.problem.given_counts
        if given is not None:
            only = np.array([given])
            return only, self.bounds.of(only), True
        most_in_all = self.per_machine * len(self.problem.cluster.machines)
        components = len(self.problem.components)
        level = np.ones((1, components), dtype=np.int64)
        last = np.zeros(1, dtype=np.int64)
        levels, bounds = [level], [self.bounds.of(level)]
        total = 1
        while len(level) and total < _MOST_VECTORS and not budget.spent(self.rounds):
            # Only the last raised component and those after it are raised: none comes twice.
            parts = [
                (level[last <= c] + np.eye(components, dtype=np.int64)[c], c)
                for c in range(components)
            ]
            last = np.concatenate([np.full(len(part), c) for part, c in parts])
            level = np.concatenate([part for part, _ in parts])
            bound = self.bounds.of(level)
            good = (bound > self.best_scale * _BETTER) & (level.sum(axis=1) <= most_in_all)
            good &= (level <= self.problem.most_instances).all(axis=1)
            level, last = level[good], last[good]
            levels.append(level)
            bounds.append(bound[good])
            total += len(level)
        order = np.argsort(-np.concatenate(bounds), kind="stable")
        return np.concatenate(levels)[order], np.concatenate(bounds)[order], not len(level)

    def _try(self, batch: IntMatrix, bounds: FloatVector, budget: Budget) -> bool:
        """Pack those of the vectors that are not ruled out at once; False if effort is spent."""
        assert self.patterns is not None
        self.effort_left -= len(batch) * self.patterns.effort_to_rule_out
        hopeless = self.patterns.impossible(batch, self.best_scale * _BETTER, self.machines)
        for counts, bound in zip(batch[~hopeless], bounds[~hopeless], strict=True):
            self.rounds += 1
            if self.effort_left <= 0 or budget.spent(self.rounds):
                return False
            if bound > self.best_scale * _BETTER:
                self._improve(counts)
        return self.effort_left > 0

    def _improve(self, counts: IntVector) -> None:
        """Pack these counts at ever higher scales until they no longer fit."""
        assert self.patterns is not None
        if self.bounds.of_threads(counts) <= self.best_scale * _BETTER:
            return
        while True:
            scale = self.best_scale * _BETTER
            needed = self.patterns.effort(counts, self.machines)
            if needed > self.effort:  # one packing alone would take more than all it may
                self.effort_left = 0.0
                return
            self.effort_left -= needed
            chosen = pack(self.patterns, counts, scale, self.machines)
            if chosen is None:
                return
            placement = self._placement(chosen)
            self.best_scale = _cpu_scale(self.problem, placement, counts)
            self.best = placement

    def _placement(self, chosen: list[IntVector]) -> Placement:
        """Patterns, listed by machine type, onto the machines; one worker per topology there."""
        kinds = self.problem.cluster.type_of
        machines = np.argsort(kinds, kind="stable")
        table = np.stack(chosen)  # (machines by type, components)
        position, component = np.nonzero(table)
        repeats = table[position, component]
        topology = self.problem.topology_of
        present = np.stack(
            [table[:, topology == t].any(axis=1) for t in range(len(self.problem.topologies))]
        )
        slot = (np.cumsum(present, axis=0) - 1)[topology[component], position]
        return Placement.of(
            np.repeat(component, repeats),
            np.repeat(machines[position], repeats),
            np.repeat(slot, repeats),
        )

    def _keeps_limits(self, placement: Placement) -> bool:
        if violations(self.problem, placement):
            return False
        most = int(np.bincount(placement.machine).max())
        return self.patterns is None or most <= self.per_machine


class _VectorBounds:
    """Upper bounds on the scale of a count vector, from prices of the machine types' CPU."""

    def __init__(self, problem: Problem) -> None:
        cluster = problem.cluster
        bound = upper_bound(problem)
        self.whole = bound.scale
        overhead = cluster.per_type("base_cpu_points") + cluster.per_type("worker_cpu_points")
        offered = np.maximum(cluster.usable_cpu_per_type - overhead, 0.0)
        used = cluster.machines_per_type > 0
        offered = (offered * cluster.machines_per_type)[used]
        self._cost = problem.e[:, used] * problem.visits[:, None]
        self._met = problem.met[:, used]
        room = problem.instance_points[:, used] - self._met
        # An instance that can run nowhere leaves no rate at all.
        each = np.divide(room, self._cost, out=np.full(room.shape, np.inf), where=self._cost > 0)
        self._most_each: FloatVector = np.maximum(each.max(axis=1), 0.0)
        self._prices = [
            (prices, float(prices @ offered))
            for prices in (bound.cpu_price[used], np.ones(len(offered)))
            if prices.any()
        ]

    def of(self, vectors: IntMatrix) -> FloatVector:
        """No placement of these counts carries more; falls as a count grows. Shape (vectors,)."""
        bounds = np.full(len(vectors), self.whole)
        for prices, total in self._prices:
            bounds = np.minimum(bounds, self._priced(vectors, prices, total))
        return bounds

    def of_threads(self, counts: IntVector) -> float:
        """What the instances' threads allow; grows with the counts."""
        return float((self._most_each * counts).min())

    def _priced(self, vectors: IntMatrix, prices: FloatVector, total: float) -> FloatVector:
        """The scales at which the cheapest way to carry them costs all there is."""
        per_scale = self._cost * prices
        fixed = (self._met * prices) * vectors[:, :, None]
        slopes = np.broadcast_to(per_scale, fixed.shape)
        scale = np.zeros(len(vectors))
        # The least cost is concave in the scale, so Newton's steps come from below and end.
        for _ in range(per_scale.size + 1):
            # What costs nothing per tuple costs nothing at any scale, however large.
            work = np.zeros(fixed.shape)
            np.multiply(per_scale, scale[:, None, None], out=work, where=per_scale > 0)
            cheapest = (work + fixed).argmin(axis=2)[:, :, None]
            slope = np.take_along_axis(slopes, cheapest, axis=2).sum(axis=(1, 2))
            constant = np.take_along_axis(fixed, cheapest, axis=2).sum(axis=(1, 2))
            step = np.full(len(vectors), np.inf)
            np.divide(total - constant, slope, out=step, where=slope > 0)
            if (step <= scale * (1 + 1e-12)).all():
                break
            scale = np.maximum(scale, step)
        return scale * (1 + 1e-12)


def _cpu_scale(problem: Problem, placement: Placement, counts: IntVector) -> float:
    """The sustainable scale by CPU alone and even division, which is what is searched over."""
    kind = problem.cluster.type_of[placement.machine]
    component = placement.component
    fixed = problem.met[component, kind]
    slope = problem.e[component, kind] * (problem.visits / counts)[component]
    machines = len(problem.cluster.machines)
    room = problem.cluster.usable_cpu - sum_by(placement.machine, fixed, machines)
    room -= overhead_cpu(problem, placement)
    per_machine = sum_by(placement.machine, slope, machines)
    threads = problem.instance_points[component, kind] - fixed
    ratios = np.concatenate([room[per_machine > 0], threads[slope > 0]])
    divisors = np.concatenate([per_machine[per_machine > 0], slope[slope > 0]])
    return float((ratios / divisors).min()) if len(ratios) else np.inf

"""``penstock``: our own scheduler, near the best there is, with a certificate of how near.

The objective is the sustainable scale. A plan is thought of by machine types: so many machines of a
type hold this pattern of instances (:mod:`.aggregate`), so that cost grows with types and
components, not with machines.

Shuffle grouping: a search over the sizes of instances, each judged by a covering problem over
patterns (:mod:`.sizes`, with many components or wide machines :mod:`.columns`); then plan and proof
are sought together (:mod:`.proof`).

Weighted grouping (each instance has a share that follows its machine's power, the future work that
Nasiri et al. 2023 announce): :mod:`.weighted`; where tuples cost more when they cross processes,
shares are then fitted to what crosses, in those plans and in the one for shuffle grouping
(:mod:`.crossing_shares`).

Whatever was searched, the plan returned is the best by the one cost model of ``evaluate`` among its
own and those of all other quick schedulers (:mod:`.baselines`). Its certificate is the upper
bound's linear programme or a tighter bound of the search's own, and says which.

Machines of many cores, skewed keys, network cards: :mod:`.manycore`, before the others. Chance
comes from ``rng`` and the work is counted in rounds, so that the same seed gives the same plan.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from penstock.errors import InputError, quantity
from penstock.evaluate.bound import Bound, upper_bound
from penstock.evaluate.capacity import capacity
from penstock.evaluate.limits import violations
from penstock.evaluate.pattern_bound import KIND as KIND_WHOLE
from penstock.model.outcome import Outcome
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.schedulers.base import Budget, Looks
from penstock.schedulers.penstock.aggregate import (
    AggregateProblem,
    MachineGroups,
    allows_shares,
    groups_of,
    is_many_core,
    patterns_suffice,
    placement_of_groups,
)
from penstock.schedulers.penstock.baselines import baseline_plans
from penstock.schedulers.penstock.requests.search import place_requests
from penstock.schedulers.restricted import on_open_machines
from penstock.schedulers.shortage import shortage

if TYPE_CHECKING:
    from penstock.schedulers.penstock.sizes import SizeSearch

#: Plans of others that are made better, the best of them.
_STARTS = 2
#: Schedulers whose cost grows with the machines are asked up to this many.
_FEW_MACHINES = 1000
#: Evaluations of whole plans where the search does not see all that counts.
_EVALUATIONS, _INSTANCES_EVALUATED = 600, 60_000
_FEWER_MACHINES = 120
#: The same where each comes with a search for its shares.
_EVALUATIONS_WITH_SHARES = 100
#: How often the best plan is changed at random and made better again.
_PERTURBATIONS = 12
#: From this part of the bound on, no other kind of search is begun.
_CLOSE_ENOUGH = 0.995
#: And from this part of it on, no other way to divide components over machines.
_GOOD_ENOUGH = 0.98
#: Scales that differ by less are the same.
_EQUAL = 1e-10
#: Up to this many machines other searches go on after the many-core search.
_SMALL = 12


@dataclass(frozen=True)
class PenstockScheduler:
    """Patterns of instances per machine type, by mathematical programmes and search."""

    name: ClassVar[str] = "penstock"
    summary: ClassVar[str] = "our own: near the best plan there is, and proves how near"
    paper: ClassVar[str] = ""
    looks: ClassVar[Looks] = Looks(
        counts=True,
        unlike_machines=True,
        memory=True,
        network=True,
        latency=True,
        energy=True,
        grouping=True,
        topologies_together=True,
    )

    nodes: int = field(
        default=3000, metadata={"help": "most nodes of the exact programme (weighted grouping)"}
    )
    effort: float = field(
        default=1500.0,
        metadata={"help": "most boxes of instance counts looked at for the proof (even shares)"},
    )
    nearness: float = field(
        default=0.5,
        metadata={"help": "without a profile: 0 for fewest machines, 1 for least network distance"},
    )

    def __post_init__(self) -> None:
        if self.nodes < 1:
            raise InputError(f"penstock: nodes must be at least 1, not {self.nodes}")
        if not self.effort >= 0:
            raise InputError(f"penstock: effort must not be negative, not {self.effort}")
        if not 0 <= self.nearness <= 1:
            raise InputError(f"penstock: nearness must be between 0 and 1, not {self.nearness}")

    def solve(self, problem: Problem, budget: Budget, rng: np.random.Generator) -> Outcome:
        if not problem.has_costs:
            return on_open_machines(
                problem, lambda part: place_requests(part, budget, rng, self.nearness)
            )
        if problem.terms.binds:
            # Its solvers take longer to load than most commands to run.
            from penstock.schedulers.penstock.terms.search import plan_by_terms

            def search(part: Problem) -> Outcome:
                # What going on could gain is another question under terms.
                return self._carry_most(part, budget, rng, says_what_is_left=False)

            return plan_by_terms(problem, search, budget, rng)
        return self._carry_most(problem, budget, rng)

    def _carry_most(
        self,
        problem: Problem,
        budget: Budget,
        rng: np.random.Generator,
        *,
        says_what_is_left: bool = True,
    ) -> Outcome:
        """The highest rate, whatever it takes."""
        general_bound = upper_bound(problem)
        run = _PlanSearch(problem, general_bound, budget, rng, self)
        run.ask_others()
        if 0 < general_bound.scale < np.inf:
            run.search()
        run.fall_back_on_others()
        if says_what_is_left:
            run.tell_what_is_left()
        return run.outcome()


class _PlanSearch:
    """One answer in the making: the best placement so far and the bound proved so far."""

    def __init__(
        self,
        problem: Problem,
        general_bound: Bound,
        budget: Budget,
        rng: np.random.Generator,
        settings: PenstockScheduler,
    ) -> None:
        self.problem, self.general_bound, self.budget, self.rng = (
            problem,
            general_bound,
            budget,
            rng,
        )
        self.settings = settings
        self.best: Placement | None = None
        self.best_scale = -1.0
        self.bound, self.kind = general_bound.scale, general_bound.kind
        self.rounds = 0
        self.interrupted = False
        #: The many-core search ended because it no longer paid.
        self.ended_by_itself = False
        self.notes: list[str] = []
        #: Plans of others, and those of them that are made better.
        self.others: list[Placement] = []
        self.starts: list[Placement] = []

    def ask_others(self) -> None:
        """A first plan where that is cheap: none of ours is to be worse."""
        if len(self.problem.cluster.machines) > _FEW_MACHINES:
            return
        self.others = list(baseline_plans(self.problem, self.budget, self.rng))
        self.starts = sorted(self.others, key=lambda p: -capacity(self.problem, p).scale)[:_STARTS]
        for placement in self.others[:1]:
            self.offer(placement)

    def fall_back_on_others(self) -> None:
        """What we return is never less than any of theirs; of equals ours stays."""
        for placement in self.others:
            if capacity(self.problem, placement).scale > self.best_scale * (1.0 + _EQUAL):
                self.offer(placement)

    def search(self) -> None:
        aggregate = AggregateProblem.of(self.problem, self.general_bound.scale)
        crosses, weighs = self.problem.has_remote_cost, allows_shares(self.problem)
        if len(self.problem.cluster.machines) <= _FEW_MACHINES and (
            is_many_core(self.problem) or not patterns_suffice(self.problem)
        ):
            self._search_many_core()
            small = len(self.problem.cluster.machines) <= _SMALL
            if is_many_core(self.problem) and not patterns_suffice(self.problem) and not small:
                self.interrupted = self.budget.spent(self.rounds)
                self.ended_by_itself = not self.interrupted
                return
        # As if every tuple crossed: near the truth where instances are many.
        dearest = aggregate.with_remote_cost() if crosses else aggregate
        if not weighs or not patterns_suffice(self.problem):
            self._divide_evenly(dearest)
        if weighs:
            self._weigh(aggregate, proves=True)
        if weighs and crosses:
            self._weigh(dearest, proves=False)
            self._local_search_with_shares()
        self.interrupted = self.budget.spent(self.rounds)

    def tell_what_is_left(self) -> None:
        """Why the search ended, and what going on could gain."""
        near = self.best_scale >= self.bound * _CLOSE_ENOUGH
        if not self.ended_by_itself or near or self.best_scale <= 0:
            return
        more = 100.0 * (self.bound / self.best_scale - 1.0)
        gain = f"{quantity(more, 2)} %"
        self.notes.append(f"the search ended by itself; going on can gain at most {gain}")

    def _search_many_core(self) -> None:
        """Machines of many cores, uneven keys, cards: counts by programmes, then machines."""
        # scipy's solvers take longer to load than most commands to run.
        from penstock.schedulers.penstock.manycore.one_slot import divided, has_one_slot_each
        from penstock.schedulers.penstock.manycore.search import ManyCoreSearch
        from penstock.schedulers.penstock.manycore.wanted_parts import wanted_parts

        problem = self.problem
        if has_one_slot_each(problem):
            problem = divided(problem) or problem
        general_bound = self.general_bound if problem is self.problem else upper_bound(problem)
        ways = wanted_parts(problem, general_bound)
        for way, weighted in product(range(len(ways)), (True, False)):
            if weighted and not self.problem.weighted:
                continue
            enough = _CLOSE_ENOUGH if way == 0 else _GOOD_ENOUGH
            if self.best_scale >= self.bound * enough:
                return
            before = self.rounds
            search = ManyCoreSearch(
                problem,
                general_bound,
                self.budget,
                self.offer,
                parts=ways[way],
                with_peers=way < len(ways) - 1,
                weighted=weighted,
            )
            search.run()
            self.rounds = before + search.rounds

    def _divide_evenly(self, aggregate: AggregateProblem) -> None:
        sizes = self._pack(aggregate)
        self._local_search()
        self._prove(aggregate, sizes)

    def _pack(self, aggregate: AggregateProblem) -> SizeSearch | None:
        """Shuffle grouping: instance sizes, then patterns; the search, to be asked for more."""
        # scipy's solvers take longer to load than most commands to run.
        from penstock.schedulers.penstock.columns import ColumnSearch
        from penstock.schedulers.penstock.patterns import MasterProblem, list_patterns
        from penstock.schedulers.penstock.sizes import SearchEffort, SizeSearch

        counts = list_patterns(aggregate)
        search: SizeSearch | ColumnSearch
        if counts is not None:
            effort = SearchEffort.on(int(aggregate.machines.sum()))
            search = SizeSearch(MasterProblem(aggregate, counts), effort, self.budget, self.rng)
        elif aggregate.given is None:
            search = ColumnSearch(
                aggregate, self.general_bound.ideal_rate[:, aggregate.kinds], self.budget
            )
        else:
            return None  # counts laid down, and too many patterns to list
        if self.best is not None:
            search.start_from(groups_of(aggregate, self.best))
        search.run()
        self.rounds += search.rounds
        if search.groups is not None:
            self.offer(placement_of_groups(aggregate, search.groups))
        return search if isinstance(search, SizeSearch) else None

    def _prove(self, aggregate: AggregateProblem, sizes: SizeSearch | None) -> None:
        """The bound for even shares, and the plans that its open boxes point to."""
        # scipy's solvers take longer to load than most commands to run.
        from penstock.schedulers.penstock.proof import ProofSearch

        effort = self.settings.effort
        if not effort or allows_shares(self.problem) or self.budget.spent(self.rounds):
            return

        def offer(groups: MachineGroups) -> float:
            self.offer(placement_of_groups(aggregate, groups))
            return self.best_scale

        proof = ProofSearch(aggregate, self.bound, max(self.best_scale, 0.0), sizes, offer)
        proof.run(effort, self.budget)
        self.rounds += int(proof.boxes.rounds)
        if proof.bound < self.bound:
            self.bound, self.kind = proof.bound, KIND_WHOLE

    def _local_search(self) -> None:
        """By the cost model itself, where the search does not see all that counts."""
        from penstock.schedulers.penstock.local_search import local_search, perturb

        small = len(self.problem.cluster.machines) <= _FEWER_MACHINES
        if self.best is None or not small or patterns_suffice(self.problem):
            return
        most = max(50, min(_EVALUATIONS, _INSTANCES_EVALUATED // len(self.best)))
        for start in dict.fromkeys([self.best, *self.starts]):
            self.offer(start)
            self.offer(local_search(self.problem, start, most, self.budget))
        for _ in range(_PERTURBATIONS):
            if self.budget.spent(self.rounds):
                return
            start = perturb(self.problem, self.best, self.rng)
            self.offer(local_search(self.problem, start, most, self.budget))
            self.rounds += 1

    def _weigh(self, aggregate: AggregateProblem, *, proves: bool) -> None:
        """Shares: by the aggregate's costs, then fitted to what really crosses."""
        # scipy's solvers take longer to load than most commands to run.
        from penstock.schedulers.penstock.crossing_shares import shares_for_crossings
        from penstock.schedulers.penstock.weighted import plan_weighted

        before = self.best
        starts = [] if before is None else [groups_of(aggregate, before)]
        self.rounds += 1
        solved = plan_weighted(
            aggregate,
            self.general_bound,
            starts,
            self.settings.nodes,
            exact=not self.budget.spent(self.rounds),
            seconds=self.budget.seconds_left,
        )
        with_shares = None
        if solved.plan is not None:
            with_shares = placement_of_groups(aggregate, solved.plan.groups, solved.plan.shares)
            self.offer(with_shares)
        if self.problem.has_remote_cost:
            for placement in (before, with_shares, *self.starts):
                if placement is not None:
                    self.offer(shares_for_crossings(self.problem, placement))
        if proves and solved.bound < self.bound:
            self.bound, self.kind = solved.bound, solved.kind

    def _local_search_with_shares(self) -> None:
        """Instances moved, added and ended, each time with shares fitted to what crosses."""
        from penstock.schedulers.penstock.crossing_shares import shares_for_crossings
        from penstock.schedulers.penstock.local_search import local_search

        if self.best is not None and len(self.problem.cluster.machines) <= _FEWER_MACHINES:
            most = _EVALUATIONS_WITH_SHARES
            self.offer(
                local_search(self.problem, self.best, most, self.budget, shares_for_crossings)
            )

    def offer(self, placement: Placement | None) -> None:
        """Keep a placement if it is whole, keeps every limit and is the best so far.

        Of two that carry the same, the one with fewer instances is better.
        """
        if placement is None or not placement.counts(len(self.problem.components)).all():
            return
        if violations(self.problem, placement):
            return
        scale = capacity(self.problem, placement).scale
        equal = self.best is not None and (
            scale == self.best_scale or abs(scale - self.best_scale) <= _EQUAL * scale
        )
        fewer = self.best is not None and len(placement) < len(self.best)
        if fewer if equal else scale > self.best_scale:
            self.best, self.best_scale = placement, scale
            self.budget.found(scale, self.bound if np.isfinite(self.bound) else None)

    def outcome(self) -> Outcome:
        finite = 0 < self.bound < np.inf
        return Outcome(
            self.best,
            () if self.best is not None else (shortage(self.problem),),
            self.rounds,
            tuple(self.notes),
            bound_scale=max(self.bound, self.best_scale) if finite else None,
            bound_kind=self.kind if finite else "",
            interrupted=self.interrupted,
        )

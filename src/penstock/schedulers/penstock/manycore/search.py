"""The search: instance counts and types by linear programmes (:mod:`.counts`), then machines.

Instances are dealt onto machines (:mod:`.deal`) and moved until nothing relieves the fullest one
(:mod:`.balance`); components that may have shares get the best (:mod:`.shares`). Then other numbers
of instances are tried on the machines themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from penstock.evaluate.bound import Bound
from penstock.evaluate.capacity import capacity
from penstock.evaluate.limits import violations
from penstock.evaluate.movement import can_matter
from penstock.model.arrays import BoolMatrix, FloatMatrix, IntMatrix
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.schedulers.base import Budget
from penstock.schedulers.penstock.manycore.balance import balance
from penstock.schedulers.penstock.manycore.costs import Costs, kept_on_machines
from penstock.schedulers.penstock.manycore.counts import CLOSE, CountSearch
from penstock.schedulers.penstock.manycore.deal import deal, deal_by_parts
from penstock.schedulers.penstock.manycore.groups import divided_by_parts, instances_on_types
from penstock.schedulers.penstock.manycore.hot_instances import hot_instances
from penstock.schedulers.penstock.manycore.machines import InstanceGroups, Machines
from penstock.schedulers.penstock.manycore.packing import pack
from penstock.schedulers.penstock.manycore.parts import PartsProgramme
from penstock.schedulers.penstock.manycore.recount import recounted
from penstock.schedulers.penstock.manycore.shares import fit_shares
from penstock.schedulers.penstock.manycore.sizes import SizeClasses
from penstock.schedulers.penstock.manycore.type_programme import TypeSolution
from penstock.schedulers.penstock.manycore.wanted_parts import fit_where_wanted

#: Instances of components with shares over those that full threads would take, tried in turn:
#: with a few more, machines that are not quite alike can be levelled out.
_SPARE = (1.04, 1.0, 1.1)
#: Plans made with other numbers of instances, over the present one, and when no more are made.
_TRIALS = 60
#: How often what moves is read off a plan.
_CORRECTIONS = 6
_FACTORS = (1.1, 1.25, 1.5, 2.0, 0.9)
_GOOD_ENOUGH = 0.99
#: Below this part of the scale of their counts, instances are packed onto machines with more care.
_PACKED_WELL = 0.99
#: Memory of every machine left for what packing wastes, over that of a mean instance; more is
#: left while packing leaves instances out.
_WASTE = (0.0, 0.25, 0.5, 1.0)
#: How often the least that is enough is then halved.
_HALVINGS = 2
#: Fillings of machines, a small programme each, after which nothing more is packed with such care.
_FILLINGS = 500
#: Steps of moving instances times groups and machines: of one plan, and of all other trials.
_WORK, _TRIAL_WORK = 1.5e7, 1e8
#: What a step takes however few groups and machines there are, in the same unit.
_STEP_WORK = 3_000
#: What it takes to fit shares to what moves, in such steps: always, and for each possible part.
_FIT_WORK, _FIT_WORK_EACH = 400_000, 500


@dataclass(frozen=True)
class EvaluatedPlan:
    """A placement and its scale by the cost model, 0 where it breaks a limit."""

    placement: Placement
    scale: float


@dataclass(frozen=True)
class FirstPlan:
    """A plan for counts chosen by the programme over types, and the scale that it saw for them."""

    plan: EvaluatedPlan
    options: list[list[SizeClasses]]
    scale: float
    #: Whether memory was short when machines were filled.
    is_tight: bool
    #: Whether instances that were dealt evenly had room.
    is_legal: bool

    @property
    def quality(self) -> float:
        """The part of the scale of its counts that the plan carries."""
        return self.plan.scale / self.scale


class ManyCoreSearch:
    """Plans one problem."""

    def __init__(
        self,
        problem: Problem,
        bound: Bound,
        budget: Budget,
        on_plan: Callable[[Placement], None] = lambda _plan: None,
        *,
        parts: FloatMatrix | None = None,
        with_peers: bool = False,
        weighted: bool = False,
    ) -> None:
        """``parts`` are some of the problem's :mod:`.wanted_parts`."""
        self.problem, self.bound, self.budget = problem, bound, budget
        #: Told every plan that is better than the one before.
        self.on_plan = on_plan
        #: Who should be where for the sake of what moves, shape (C, M), where that matters.
        self.parts = parts
        even = np.zeros((len(problem.components), len(problem.cluster.machines)))
        if parts is None and can_matter(problem):
            even = PartsProgramme.before_instances(problem).even_parts()
        #: The instances with the hottest keys that should have their peers beside them.
        self.hot = hot_instances(problem) if with_peers else ()
        self.costs = Costs.of(
            problem,
            even if parts is None else parts,
            weighted=weighted,
            hot=[hot.component for hot in self.hot],
        )
        self.counts = CountSearch(self.costs, bound, budget)
        #: Whether peers of such instances are kept beside them while instances are moved.
        self.peers_stay = False
        #: Instances of components with shares over those that full threads would take.
        self.spare = 1.0
        #: Fillings of machines sought so far, a small programme each.
        self.fillings = 0
        #: Steps of moving instances so far, times groups and machines.
        self.worked = 0
        #: Whether memory was short when machines were filled.
        self.is_tight = False
        #: Whether instances that were dealt evenly had room.
        self.is_legal = True

    @property
    def rounds(self) -> int:
        """Programmes solved so far."""
        return self.counts.rounds

    def run(self) -> None:
        """Search; every better plan is told as it comes."""
        best: FirstPlan | None = None
        at_most, too_little = np.inf, None
        for waste in _WASTE:
            first = self._first_plan(waste, best, at_most)
            if first is None:
                break
            best = first if best is None or first.plan.scale > best.plan.scale else best
            if first.quality >= _PACKED_WELL or not first.is_tight or self._is_stopped():
                if too_little is not None:
                    best = self._with_less_waste(best, too_little, waste, at_most)
                break
            if first.scale > at_most * (1.0 - CLOSE):
                break  # memory left alone makes no difference to the counts
            too_little, at_most = waste, first.scale
        # Where instances had no room the counts are too many for the machines' memory.
        if best is not None and best.is_legal:
            self._refine(best)

    def _with_less_waste(
        self, best: FirstPlan, too_little: float, enough: float, at_most: float
    ) -> FirstPlan:
        """The best plan for memory left alone between what was too little and what was enough."""
        for _ in range(_HALVINGS):
            middle = 0.5 * (too_little + enough)
            first = self._first_plan(middle, best, at_most)
            if first is None or self._is_stopped():
                break
            best = first if first.plan.scale > best.plan.scale else best
            if first.quality >= _PACKED_WELL:
                enough = middle
            else:
                too_little, at_most = middle, first.scale
        return best

    def _first_plan(self, waste: float, best: FirstPlan | None, at_most: float) -> FirstPlan | None:
        """A plan that leaves this much memory; ``None`` where none is better than the best.

        With less memory left alone counts were for the scale ``at_most``; no plan carries more.
        """
        self.counts.begin(waste * float(self.costs.memory_mb.mean()))
        chosen = self.counts.run(at_most)
        if chosen is None or (best is not None and chosen[0] <= best.plan.scale):
            return None
        scale, options, solution = chosen
        self.is_tight = bool((solution.memory_price > 0).any())
        self.peers_stay = False
        plan: EvaluatedPlan | None = None
        machines: Machines | None = None
        for spare in _SPARE if self.costs.weighs.any() else _SPARE[:1]:
            self.spare = spare
            machines = self._place(options, solution, scale)
            plan = self._better(plan, machines)
            if plan.scale >= scale * _GOOD_ENOUGH or self.is_tight:
                break
        assert plan is not None
        assert machines is not None
        if self.parts is not None:
            finer = fit_where_wanted(self.counts.options, options, self.parts, scale)
            solved = None if finer is None else self.counts.solve(finer, scale)
            if finer is not None and solved is not None:
                other = self._place(finer, solved, scale)
                better = self._better(plan, other)
                if better is not plan:
                    plan, options, solution, machines = better, finer, solved, other
        if self.hot:
            plan = self._with_peers(plan, options, solution, scale)
        if plan.scale < scale * _PACKED_WELL and self.is_tight and self.is_legal:
            plan = self._better(plan, recounted(machines, self.counts.options, scale))
        # Packing does not see what moves: with that it helps only where memory is short.
        may_pack = self.fillings < _FILLINGS and (self.parts is None or self.is_tight)
        if plan.scale < scale * _PACKED_WELL and may_pack:
            plan = self._better(plan, self._packed(options, solution, scale))
        return FirstPlan(plan, options, scale, self.is_tight, self.is_legal)

    def _with_peers(
        self,
        plan: EvaluatedPlan,
        options: list[list[SizeClasses]],
        solution: TypeSolution,
        scale: float,
    ) -> EvaluatedPlan:
        """The better of a plan and one in which peers stay beside the hottest keys' instances."""
        self.peers_stay = True
        other = self._evaluated(self._place(options, solution, scale))
        # Where that makes no difference yet, it may with other numbers of instances.
        self.peers_stay = other.scale >= plan.scale * (1.0 - CLOSE)
        if other.scale <= plan.scale * (1.0 + CLOSE):
            return plan
        self.on_plan(other.placement)
        return other

    def _better(self, plan: EvaluatedPlan | None, machines: Machines) -> EvaluatedPlan:
        """The better of a plan and what machines now hold."""
        other = self._evaluated(machines)
        if plan is not None and other.scale <= plan.scale * (1.0 + CLOSE):
            return plan
        self.on_plan(other.placement)
        return other

    def _refine(self, first: FirstPlan) -> None:
        """Other numbers of instances, tried on the machines: smaller ones pack better."""
        plan, options, scale = first.plan, list(first.options), first.scale
        trials, worked, improved = 0, self.worked, True
        while improved:
            improved = False
            for c, factor in product(self.counts.by_cpu(options), _FACTORS):
                if plan.scale >= scale * _GOOD_ENOUGH or self.counts.spent():
                    return
                if trials >= _TRIALS or self.worked - worked >= _TRIAL_WORK:
                    return
                count = options[c][0].total
                other = int(min(max(round(count * factor), 1), self.counts.options.most[c]))
                changed = [*options[:c], [self.counts.options.classes(c, other)], *options[c + 1 :]]
                solved = None if other == count else self.counts.solve(changed, scale)
                if solved is None:
                    continue
                trials += 1
                tried = self._better(plan, self._place(changed, solved, scale))
                if tried is not plan:
                    plan, options, improved = tried, changed, True

    def _evaluated(self, machines: Machines) -> EvaluatedPlan:
        """A placement with the best shares it may have, judged by the cost model.

        Where moving tuples costs something, what moves is read off the plan, and instances are
        moved once more by that.
        """
        best = self._with_shares(machines, self.costs)
        if not can_matter(self.problem):
            return best
        for _ in range(_CORRECTIONS):
            found = capacity(self.problem, best.placement)
            parts = kept_on_machines(self.problem, best.placement, found)
            costs = Costs.of(self.problem, parts, weighted=bool(self.costs.weighs.any()))
            machines = Machines(replace(machines.groups, costs=costs), machines.count)
            self._balance(machines)
            better = self._with_shares(machines, costs)
            if better.scale <= best.scale * (1.0 + CLOSE):
                break
            best = better
        return best

    def _with_shares(self, machines: Machines, costs: Costs) -> EvaluatedPlan:
        placement = machines.placement()
        if costs.weighs.any():
            if can_matter(self.problem):
                self.worked += _FIT_WORK + _FIT_WORK_EACH * costs.e_on.size
            placement = fit_shares(costs, placement) or placement
        if violations(self.problem, placement):
            return EvaluatedPlan(placement, 0.0)
        return EvaluatedPlan(placement, capacity(self.problem, placement).scale)

    # -- machines -----------------------------------------------------------------------------

    def _place(
        self, options: list[list[SizeClasses]], solution: TypeSolution, scale: float
    ) -> Machines:
        """Instances dealt evenly, then moved until nothing relieves the fullest machine."""
        if self.parts is not None:
            groups, by_type = self._groups(
                options, divided_by_parts(self.costs, solution, self.parts, scale)
            )
            count = deal_by_parts(groups, by_type.sum(axis=1), self.parts, scale)
        else:
            groups, by_type = self._groups(options, solution)
            count = deal(groups, by_type, scale)
        machines = Machines(groups, count, self._stays(groups) if self.peers_stay else None)
        self._balance(machines)
        self.is_legal = machines.is_legal
        self.is_tight |= machines.lacks_memory
        return machines

    def _stays(self, groups: InstanceGroups) -> BoolMatrix:
        """Instances with the hottest keys and their peers beside them, (M, G)."""
        stays = np.zeros((len(self.problem.cluster.machines), len(groups.component)), dtype=bool)
        for hot in self.hot:
            stays[hot.machine] |= np.isin(groups.component, hot.peers)
            stays[hot.machine, np.flatnonzero(groups.component == hot.component)[:1]] = True
        return stays

    def _packed(
        self, options: list[list[SizeClasses]], solution: TypeSolution, scale: float
    ) -> Machines:
        """Instances packed onto the machines of their types; what has no room ends."""
        groups, by_type = self._groups(options, solution)
        count = pack(groups, by_type, scale, self._count_filling)
        return recounted(Machines(groups, count), self.counts.options, scale)

    def _count_filling(self) -> bool:
        self.fillings += 1
        return self._is_stopped()

    def _is_stopped(self) -> bool:
        return self.budget.spent(self.counts.rounds)

    def _balance(self, machines: Machines) -> None:
        size = machines.count.size
        steps = balance(machines, int(50 + _WORK / size), self.counts.spent)
        self.worked += steps * (size + _STEP_WORK)

    def _groups(
        self, options: list[list[SizeClasses]], solution: TypeSolution
    ) -> tuple[InstanceGroups, IntMatrix]:
        return instances_on_types(
            self.costs, options, solution, self.counts.options.most, self.spare
        )

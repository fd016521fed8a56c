"""The search: a scale, instance counts and types by linear programmes, then machines.

1. The largest scale at which the programme over types has room, over options for the number of
   instances of each component (:mod:`.type_programme`).
2. One option for each component, and the programme again for those.
3. Instances onto machines (:mod:`.deal`), then moved until nothing relieves the fullest machine
   (:mod:`.balance`).
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
from penstock.model.arrays import FloatMatrix, IntMatrix, IntVector
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.schedulers.base import Budget
from penstock.schedulers.penstock.manycore.balance import balance
from penstock.schedulers.penstock.manycore.costs import Costs, expected_parts, kept_on_machines
from penstock.schedulers.penstock.manycore.deal import deal, round_spread
from penstock.schedulers.penstock.manycore.machines import InstanceGroups, Machines
from penstock.schedulers.penstock.manycore.options import Options
from penstock.schedulers.penstock.manycore.shares import fit_shares
from penstock.schedulers.penstock.manycore.sizes import SizeClasses
from penstock.schedulers.penstock.manycore.type_programme import TypeProgramme, TypeSolution

#: Rounds in which the scale is adjusted to the room there is.
_ROUNDS = 12
_CLOSE = 1e-4
#: Programmes solved before a run ends with what it has; a few milliseconds each.
_MOST_SOLVED = 400
#: Instances of components with shares over those that full threads would take, tried in turn:
#: with a few more, machines that are not quite alike can be levelled out.
_SPARE = (1.04, 1.0, 1.1)
#: Passes over the components in which their number of instances is varied.
_PASSES = 12
#: Plans made with other numbers of instances, over the present one, and when no more are made.
_MOST_TRIALS, _FEWEST_TRIALS, _TRIAL_WORK = 60, 6, 1e5
#: How often what moves is read off a plan.
_CORRECTIONS = 6
_FACTORS = (1.1, 1.25, 1.5, 2.0, 0.9)
_GOOD_ENOUGH = 0.99
#: How far the scale is raised at once where only threads limit.
_LONGEST_STEP = 0.2
#: Cheaper numbers of instances tried for a component, the cheapest first.
_OFFERS = 3
#: Memory left for what packing wastes on a machine, over that of a mean instance: what is tried
#: after another amount, if instances had to be shed then, and if none.
_WASTE_AFTER = {
    (0.0, True): 1.0,
    (1.0, False): 0.5,
    (1.0, True): 1.6,
    (0.5, False): 0.25,
    (0.5, True): 0.75,
}
#: Steps of moving instances; each costs groups x machines.
_STEPS = 4000
_WORK = 1.5e7

#: Parts of the scale for which counts are chosen anew where memory has no room for them.
_SHRINK = (0.995, 0.99, 0.98, 0.97, 0.95, 0.9, 0.8, 0.6, 0.3)

#: A scale, the options of each component, and the programme's solution for them.
Relaxed = tuple[float, list[list[SizeClasses]], TypeSolution]


@dataclass(frozen=True)
class Judged:
    """A placement and its scale by the cost model, 0 where it breaks a limit."""

    placement: Placement
    scale: float


@dataclass(frozen=True)
class ManyCorePlan:
    """A plan and the scale that the programme over types saw for it."""

    placement: Placement
    scale: float
    relaxed_scale: float


class ManyCoreSearch:
    """Plans one problem."""

    def __init__(
        self,
        problem: Problem,
        bound: Bound,
        budget: Budget,
        on_plan: Callable[[Placement], None] = lambda _plan: None,
        *,
        weighted: bool = False,
    ) -> None:
        self.problem, self.bound, self.budget = problem, bound, budget
        #: Told every plan that is better than the one before.
        self.on_plan = on_plan
        self.costs = Costs.of(problem, expected_parts(problem, bound), weighted=weighted)
        self.options = Options(self.costs)
        self.rounds = 0
        #: MB of every machine that the programme leaves for what packing wastes.
        self.reserved_mb = 0.0
        self.most_rounds = _MOST_SOLVED
        #: Instances of components with shares over those that full threads would take.
        self.spare = 1.0
        #: Instances that were taken off machines for want of memory.
        self.shed = 0

    def run(self) -> ManyCorePlan | None:
        """The best plan found, judged by the cost model."""
        best: ManyCorePlan | None = None
        waste: float | None = 0.0
        while waste is not None:
            self.reserved_mb = waste * float(self.costs.memory_mb.mean())
            self.shed, self.most_rounds = 0, self.rounds + _MOST_SOLVED
            found = self._run_once()
            if found is not None and (best is None or found.scale > best.scale):
                best = found
            # Where packing wasted more than was left for it, more is left, then a little less.
            after = _WASTE_AFTER.get((waste, self.shed > 0))
            waste = None if self.budget.spent(self.rounds) else after
        return best

    def _run_once(self) -> ManyCorePlan | None:
        found = self._counts()
        if found is None:
            return None
        scale, options, solution = found
        best: Judged | None = None
        for spare in _SPARE if self.costs.weighs.any() else _SPARE[:1]:
            self.spare = spare
            tried = self._judged(self._place(options, solution, scale))
            if best is None or tried.scale > best.scale:
                best = tried
                self.on_plan(best.placement)
            if self.shed or best.scale >= scale * _GOOD_ENOUGH:
                break
        assert best is not None
        if self.shed:  # the counts are too many for the machines' memory
            return ManyCorePlan(best.placement, best.scale, scale)
        best = self._refined(best, options, scale)
        return ManyCorePlan(best.placement, best.scale, scale)

    def _refined(self, best: Judged, options: list[list[SizeClasses]], scale: float) -> Judged:
        """Other numbers of instances, tried on the machines: smaller ones pack better."""
        options, trials, improved = list(options), 0, True
        size = len(self.problem.cluster.machines) * sum(len(own[0].mean) for own in options if own)
        most = int(np.clip(_TRIAL_WORK / max(size, 1), _FEWEST_TRIALS, _MOST_TRIALS))
        while improved:
            improved = False
            for c, factor in product(self._by_cpu(options), _FACTORS):
                if best.scale >= scale * _GOOD_ENOUGH or trials >= most:
                    return best
                if self._spent():
                    return best
                count = options[c][0].total
                other = int(min(max(round(count * factor), 1), self.options.most[c]))
                changed = [*options[:c], [self.options.classes(c, other)], *options[c + 1 :]]
                solved = None if other == count else self._solve(changed, scale)
                if solved is None:
                    continue
                trials += 1
                found = self._judged(self._place(changed, solved, scale))
                if found.scale > best.scale * (1.0 + _CLOSE):
                    best, options, improved = found, changed, True
                    self.on_plan(best.placement)
        return best

    def _judged(self, machines: Machines) -> Judged:
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
            if better.scale <= best.scale * (1.0 + _CLOSE):
                break
            best = better
        return best

    def _with_shares(self, machines: Machines, costs: Costs) -> Judged:
        placement = machines.placement()
        if costs.weighs.any():
            placement = fit_shares(costs, placement) or placement
        if violations(self.problem, placement):
            return Judged(placement, 0.0)
        return Judged(placement, capacity(self.problem, placement).scale)

    def _counts(self) -> Relaxed | None:
        """A number of instances for each component, and the programme's solution for them."""
        mixed = self._relax(None, self.bound.scale)
        if mixed is None:
            return None
        found = self._relax(self._settle(*mixed), mixed[0])
        for shrink in _SHRINK:
            if found is not None or self._spent():
                break
            scale = mixed[0] * shrink
            lower = self._relax(None, scale, at_most=scale)
            found = None if lower is None else self._relax(self._settle(*lower), scale)
        for _ in range(_PASSES):
            if found is None or self._spent():
                break
            again = self._lift(*found) or self._varied(*found)
            if again is None or again[0] <= found[0] * (1.0 + _CLOSE):
                break
            found = again
        return found

    def _lift(
        self, scale: float, options: list[list[SizeClasses]], solution: TypeSolution
    ) -> Relaxed | None:
        """Where a thread limits and machines have room: more instances of what is limited."""
        step = min(1.0 / max(solution.fill, 0.5) - 1.0, _LONGEST_STEP)
        while step > _CLOSE * 5:
            higher = scale * (1.0 + step)
            reopened = [
                own if not own or self._keeps_types(own[0], solution.spread[c][0], higher)
                else [own[0], *self.options.at(c, higher)]
                for c, own in enumerate(options)
            ]  # fmt: skip
            found = self._solve(reopened, higher)
            if found is not None and found.fill <= 1.0:
                again = self._relax(self._settle(higher, reopened, found), higher)
                if again is not None and again[0] > scale * (1.0 + _CLOSE):
                    return again
            step /= 2
        return None

    def _keeps_types(self, option: SizeClasses, spread: FloatMatrix, scale: float) -> bool:
        """Whether all instances still fit the threads of the types they are on."""
        rate = self.options.thread_rate[option.component] * (1.0 - 1e-9)
        fits = option.largest[:, None] * scale <= rate
        return bool(fits[spread > 1e-9].all())

    def _varied(
        self, scale: float, options: list[list[SizeClasses]], solution: TypeSolution
    ) -> Relaxed | None:
        better = self._vary(scale, options, solution)
        return None if better is None else self._relax(better, scale)

    # -- the programme ------------------------------------------------------------------------

    def _settle(
        self, scale: float, options: list[list[SizeClasses]], solution: TypeSolution
    ) -> list[list[SizeClasses]]:
        """One option for each component, those that matter most first, the others still mixed."""
        options = list(options)
        for c in self._by_cpu(options):
            if len(options[c]) == 1:
                continue
            weights = solution.weights[c]
            used = np.flatnonzero(weights > 1e-6)
            tried: list[tuple[float, int, TypeSolution]] = []
            for o in range(int(used[0]), int(used[-1]) + 1):
                one = [*options[:c], [options[c][o]], *options[c + 1 :]]
                found = self._solve(one, scale)
                if found is not None:
                    tried.append((found.fill, o, found))
            if tried:
                _, o, solution = min(tried, key=lambda t: (t[0], t[1]))
            else:
                o = int(weights.argmax())
            options[c] = [options[c][o]]
        return options

    def _vary(
        self, scale: float, options: list[list[SizeClasses]], solution: TypeSolution
    ) -> list[list[SizeClasses]] | None:
        """Another number of instances for one component after the other; ``None`` if none helps.

        Only an option that is cheaper at the present prices can help.
        """
        options, changed = list(options), False
        for c in self._by_cpu(options):
            programme = TypeProgramme(self.costs, options, scale, self.reserved_mb)
            now = programme.price_of(options[c][0], solution.prices)
            offers = [
                (programme.price_of(o, solution.prices), o) for o in self.options.at(c, scale)
            ]
            cheaper = sorted((p, o.total, o) for p, o in offers if p < now * (1.0 - _CLOSE))
            for _, _, option in cheaper[:_OFFERS]:
                found = self._solve([*options[:c], [option], *options[c + 1 :]], scale)
                if found is not None and found.fill < solution.fill * (1.0 - _CLOSE):
                    options[c], solution, changed = [option], found, True
                    break
        return options if changed else None

    def _by_cpu(self, options: list[list[SizeClasses]]) -> list[int]:
        """Components that have options, those with most CPU at scale 1 first."""
        cost = self.costs.e.min(axis=1) * self.problem.visits
        return [c for c in np.argsort(-cost, kind="stable").tolist() if options[c]]

    def _spent(self) -> bool:
        """Whether to end with what there is: told to, or enough programmes were solved."""
        return self.rounds >= self.most_rounds or self.budget.spent(self.rounds)

    def _solve(self, options: list[list[SizeClasses]], scale: float) -> TypeSolution | None:
        self.rounds += 1
        return TypeProgramme(self.costs, options, scale, self.reserved_mb).solve()

    def _relax(
        self, chosen: list[list[SizeClasses]] | None, start: float, at_most: float = np.inf
    ) -> Relaxed | None:
        """The largest scale at which the programme has room, its options and solution."""
        top = min(self.options.highest_scale(chosen) * (1.0 - 1e-9), at_most)
        low, high = 0.0, np.inf
        scale = min(start, top)
        best = None
        for turn in range(_ROUNDS):
            options = chosen or [self.options.at(c, scale) for c in range(len(self.costs.weighs))]
            solved = self._solve(options, scale)
            if solved is not None and solved.fill <= 1.0 + 1e-6:
                low = scale
                best = (scale, options, solved)
                if solved.fill >= 1.0 - _CLOSE or scale >= top:
                    break
                guess = min(scale / max(solved.fill, 0.5), top)
            else:
                high = scale
                guess = scale * 0.9 if solved is None else scale / min(solved.fill, 2.0)
                # Memory falls with whole instances only: ever longer steps get past them.
                guess = min(guess, scale * (1.0 - _CLOSE * 2.0**turn))
            if high <= low * (1.0 + _CLOSE):
                break
            middle = 0.5 * (low + high) if high < np.inf else np.inf
            scale = guess if low < guess < high else middle
        return best

    # -- machines -----------------------------------------------------------------------------

    def _place(
        self, options: list[list[SizeClasses]], solution: TypeSolution, scale: float
    ) -> Machines:
        groups, by_type = self._groups(options, solution)
        machines = Machines(groups, deal(groups, by_type, scale))
        self._balance(machines)
        return machines

    def _balance(self, machines: Machines) -> None:
        steps = int(min(_STEPS, 50 + _WORK / machines.count.size))
        balance(machines, steps, self._spent)
        self.shed += machines.shed()

    def _groups(
        self, options: list[list[SizeClasses]], solution: TypeSolution
    ) -> tuple[InstanceGroups, IntMatrix]:
        """Instances that are alike, and how many of each on every type."""
        rows: list[tuple[int, float, float, IntVector, IntVector]] = []
        for c, own in enumerate(options):
            if own:
                rows += _option_rows(own[0], solution.spread[c][0])
            else:
                rows += self._shared_rows(c, solution)
        component, rate, largest, instances, by_type = zip(*rows, strict=True)
        groups = InstanceGroups(
            self.costs,
            np.array(component, dtype=np.int64),
            np.array(rate),
            np.array(largest),
            tuple(instances),
        )
        return groups, np.array(by_type, dtype=np.int64)

    def _shared_rows(
        self, c: int, solution: TypeSolution
    ) -> list[tuple[int, float, float, IntVector, IntVector]]:
        """A component with shares: on each type as many instances as its part there needs."""
        part, first, rows = solution.part[c], 0, []
        has_room = solution.memory_price <= 0
        spare = np.where(has_room, self.spare, 1.0)
        number = np.ceil(solution.instances[c] * spare - 1e-6).astype(np.int64)
        number = np.minimum(number, self.options.most[c]).astype(np.int64)
        number = np.where(part > 1e-9, np.maximum(number, 1), 0)
        if not number.any():
            number[int(solution.instances[c].argmax())] = 1
        for t in np.flatnonzero(number).tolist():
            by_type = np.zeros(len(number), dtype=np.int64)
            by_type[t] = number[t]
            rate = float(part[t] * self.problem.visits[c] / number[t])
            rows.append((c, rate, rate, first + np.arange(number[t]), by_type))
            first += int(number[t])
        return rows


def _option_rows(
    option: SizeClasses, spread: FloatMatrix
) -> list[tuple[int, float, float, IntVector, IntVector]]:
    whole = round_spread(spread, option.counts)
    return [
        (
            option.component,
            float(option.mean[k]),
            float(option.largest[k]),
            option.instances[option.starts[k] : option.starts[k + 1]],
            whole[k],
        )
        for k in range(len(option.mean))
    ]

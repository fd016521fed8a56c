"""How many instances of each component, and on which types: the largest scale that has room.

1. The largest scale at which the programme over types has room, with options for the number of
   instances mixed (:mod:`.type_programme`).
2. One option for each component, one after the other.
3. More instances where only threads limit, other numbers where prices say that they are cheaper.
"""

from __future__ import annotations

import numpy as np

from penstock.evaluate.bound import Bound
from penstock.model.arrays import FloatMatrix
from penstock.schedulers.base import Budget
from penstock.schedulers.penstock.manycore.costs import Costs
from penstock.schedulers.penstock.manycore.options import Options
from penstock.schedulers.penstock.manycore.sizes import SizeClasses
from penstock.schedulers.penstock.manycore.type_programme import TypeProgramme, TypeSolution

#: Rounds in which the scale is adjusted to the room there is.
_ROUNDS = 12
#: Scales that differ by less than this part are as good as equal.
CLOSE = 1e-4
#: Programmes solved before a run ends with what it has; a few milliseconds each.
_MOST_SOLVED = 400
#: Passes over the components in which their number of instances is varied.
_PASSES = 12
#: How far the scale is raised at once where only threads limit.
_LONGEST_STEP = 0.2
#: Cheaper numbers of instances tried for a component, the cheapest first.
_OFFERS = 3
#: Parts of the scale for which counts are chosen anew where memory has no room for them.
_SHRINK = (0.995, 0.99, 0.98, 0.97, 0.95, 0.9, 0.8, 0.6, 0.3)

#: A scale, the options of each component, and the programme's solution for them.
CountSolution = tuple[float, list[list[SizeClasses]], TypeSolution]


class CountSearch:
    """Chooses instance counts by programmes over types."""

    def __init__(self, costs: Costs, bound: Bound, budget: Budget) -> None:
        self.costs, self.bound, self.budget = costs, bound, budget
        self.options = Options(costs)
        #: Programmes solved so far, and at which number of them a run ends.
        self.rounds = 0
        self._most_rounds = _MOST_SOLVED
        #: MB of every machine that the programme leaves for what packing wastes.
        self.reserved_mb = 0.0

    def begin(self, reserved_mb: float) -> None:
        """A new run, with so much memory of every machine left alone."""
        self.reserved_mb = reserved_mb
        self._most_rounds = self.rounds + _MOST_SOLVED

    def run(self, at_most: float = np.inf) -> CountSolution | None:
        """A number of instances for each component, and the programme's solution for them."""
        mixed = self._relax(None, min(self.bound.scale, at_most), at_most)
        if mixed is None:
            return None
        best = self._relax(self._settle(*mixed), mixed[0])
        for shrink in _SHRINK:
            if best is not None or self.spent():
                break
            scale = mixed[0] * shrink
            lower = self._relax(None, scale, at_most=scale)
            best = None if lower is None else self._relax(self._settle(*lower), scale)
        for _ in range(_PASSES):
            if best is None or self.spent():
                break
            again = self._lift(*best) or self._varied(*best)
            if again is None or again[0] <= best[0] * (1.0 + CLOSE):
                break
            best = again
        return best

    def _lift(
        self, scale: float, options: list[list[SizeClasses]], solution: TypeSolution
    ) -> CountSolution | None:
        """Where a thread limits and machines have room: more instances of what is limited."""
        step = min(1.0 / max(solution.fill, 0.5) - 1.0, _LONGEST_STEP)
        while step > CLOSE * 5:
            higher = scale * (1.0 + step)
            reopened = [
                own if not own or self._keeps_types(own[0], solution.spread[c][0], higher)
                else [own[0], *self.options.at(c, higher)]
                for c, own in enumerate(options)
            ]  # fmt: skip
            trial = self.solve(reopened, higher)
            if trial is not None and trial.fill <= 1.0:
                again = self._relax(self._settle(higher, reopened, trial), higher)
                if again is not None and again[0] > scale * (1.0 + CLOSE):
                    return again
            step /= 2
        return None

    def _keeps_types(self, option: SizeClasses, spread: FloatMatrix, scale: float) -> bool:
        """Whether all instances still fit the threads of the types they are on."""
        rate = self.options.rates_of(option) * (1.0 - 1e-9)
        fits = option.largest[:, None] * scale <= rate
        return bool(fits[spread > 1e-9].all())

    def _varied(
        self, scale: float, options: list[list[SizeClasses]], solution: TypeSolution
    ) -> CountSolution | None:
        better = self._vary(scale, options, solution)
        return None if better is None else self._relax(better, scale)

    # -- the programme ------------------------------------------------------------------------

    def _settle(
        self, scale: float, options: list[list[SizeClasses]], solution: TypeSolution
    ) -> list[list[SizeClasses]]:
        """One option for each component, those that matter most first, the others still mixed."""
        options = list(options)
        for c in self.by_cpu(options):
            if len(options[c]) == 1:
                continue
            weights = solution.weights[c]
            used = np.flatnonzero(weights > 1e-6)
            tried: list[tuple[float, int, TypeSolution]] = []
            for o in range(int(used[0]), int(used[-1]) + 1):
                one = [*options[:c], [options[c][o]], *options[c + 1 :]]
                trial = self.solve(one, scale)
                if trial is not None:
                    tried.append((trial.fill, o, trial))
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
        for c in self.by_cpu(options):
            programme = TypeProgramme(self.costs, options, scale, self.reserved_mb)
            now = programme.price_of(options[c][0], solution.prices)
            offers = [
                (programme.price_of(o, solution.prices), o) for o in self.options.at(c, scale)
            ]
            cheaper = sorted((p, o.total, o) for p, o in offers if p < now * (1.0 - CLOSE))
            for _, _, option in cheaper[:_OFFERS]:
                trial = self.solve([*options[:c], [option], *options[c + 1 :]], scale)
                if trial is not None and trial.fill < solution.fill * (1.0 - CLOSE):
                    options[c], solution, changed = [option], trial, True
                    break
        return options if changed else None

    def by_cpu(self, options: list[list[SizeClasses]]) -> list[int]:
        """Components that have options, those with most CPU at scale 1 first."""
        cost = self.costs.e.min(axis=1) * self.costs.problem.visits
        return [c for c in np.argsort(-cost, kind="stable").tolist() if options[c]]

    def spent(self) -> bool:
        """Whether to end with what there is: told to, or enough programmes were solved."""
        return self.rounds >= self._most_rounds or self.budget.spent(self.rounds)

    def solve(self, options: list[list[SizeClasses]], scale: float) -> TypeSolution | None:
        self.rounds += 1
        return TypeProgramme(self.costs, options, scale, self.reserved_mb).solve()

    def _relax(
        self, chosen: list[list[SizeClasses]] | None, start: float, at_most: float = np.inf
    ) -> CountSolution | None:
        """The largest scale at which the programme has room, its options and solution."""
        top = min(self.options.highest_scale(chosen) * (1.0 - 1e-9), at_most)
        low, high = 0.0, np.inf
        scale = min(start, top)
        best = None
        for turn in range(_ROUNDS):
            options = chosen or [self.options.at(c, scale) for c in range(len(self.costs.weighs))]
            solved = self.solve(options, scale)
            if solved is not None and solved.fill <= 1.0 + 1e-6:
                low = scale
                best = (scale, options, solved)
                if solved.fill >= 1.0 - CLOSE or scale >= top:
                    break
                guess = min(scale / max(solved.fill, 0.5), top)
            else:
                high = scale
                guess = scale * 0.9 if solved is None else scale / min(solved.fill, 2.0)
                # Memory falls with whole instances only: ever longer steps get past them.
                guess = min(guess, scale * (1.0 - CLOSE * 2.0**turn))
            if high <= low * (1.0 + CLOSE):
                break
            middle = 0.5 * (low + high) if high < np.inf else np.inf
            scale = guess if low < guess < high else middle
        return best

"""Nasiri's Fig. 13: the best pair of instance counts under Storm's own scheduler.

Every pair of counts of a topology with two components is placed by ``default``; the best of them is
what the paper calls optimal. Beside it the counts that other schedulers find, placed by themselves
and by ``default``.
"""

from __future__ import annotations

from itertools import product

from penstock import app
from penstock.errors import InputError
from penstock.model.problem import Problem
from penstock_bench.reproduce.figures import (
    Figures,
    FiguresByName,
    Told,
    bound_figures,
    figures_of_plan,
)
from penstock_bench.reproduce.paper_fields import BOUND, PaperSetting
from penstock_bench.reproduce.setting import problem_of

#: Labels of what ``default`` makes of counts.
BEST_PAIR = "default, best pair"


def with_counts_of(scheduler: str) -> str:
    return f"default, counts of {scheduler}"


def pair_figures(setting: PaperSetting, say: Told) -> FiguresByName:
    """``default`` with the best pair, and every scheduler of the setting."""
    problem = problem_of(setting)
    if len(problem.components) != 2:
        raise InputError(f"pairs need two components, not {len(problem.components)}")
    say(f"pairs up to {setting.most}")
    numbers = range(1, setting.most + 1)
    pairs = [_dealt(problem, pair) for pair in product(numbers, numbers)]
    figures: FiguresByName = {BEST_PAIR: max(pairs, key=_throughput)}
    for use in setting.uses:
        say(use.shown)
        planned = app.plan(problem, use.name, parameters=use.set)
        figures[use.shown] = figures_of_plan(planned)
        if planned.plan is not None:
            counts = tuple(planned.plan.placement.counts(2).tolist())
            figures[with_counts_of(use.shown)] = _dealt(problem, counts)
        if planned.bound is not None:
            figures[BOUND] = bound_figures(problem, planned.bound)
    return figures


def _dealt(problem: Problem, counts: tuple[int, ...]) -> Figures:
    return figures_of_plan(app.plan(problem.with_counts(counts), "default"))


def _throughput(figures: Figures) -> float:
    value = figures["throughput_per_s"]
    return value if isinstance(value, float) else 0.0

"""Nasiri's check of eq. 5: one component alone on a machine, the rate raised until it is full.

It starts at 8 tuples/s and adds 20 to 80 at random. Each reading is a simulation; the CPU of the
watched component's machine is held against what eq. 5 says. The other components have machines of
their own, the heaviest the one that is fastest for it, so that they are not in the way.
"""

from __future__ import annotations

import numpy as np

from penstock import app
from penstock.errors import InputError
from penstock.evaluate.assess import assess
from penstock.model.placement import Placement
from penstock.model.plan import Plan
from penstock.model.problem import Problem
from penstock.simulate.scenario import Scenario
from penstock.simulate.variants import offering
from penstock_bench.reproduce.figures import Figures, FiguresByName, Told
from penstock_bench.reproduce.paper_fields import PaperSetting
from penstock_bench.reproduce.setting import problem_of

#: Where the costs read off all types stand, as ``e.M1``.
PROFILED = "profiled"
_FIRST_PER_S, _LEAST_STEP, _MOST_STEP = 8.0, 20.0, 80.0


def cpu_figures(setting: PaperSetting, say: Told) -> FiguresByName:
    """The readings on each machine type, under its name."""
    problem = problem_of(setting)
    if setting.watch not in problem.labels:
        raise InputError(f'no component "{setting.watch}" to watch; known: {problem.labels}')
    watched = problem.labels.index(setting.watch)
    figures: FiguresByName = {}
    for number, kind in enumerate(problem.cluster.types):
        say(kind.name)
        machine = int(np.flatnonzero(problem.cluster.type_of == number)[0])
        placement = _alone(problem, watched, machine)
        rng = np.random.default_rng([number, watched])
        figures[kind.name] = _read(problem, placement, machine, setting.read_s, rng)
    figures[PROFILED] = {
        f"{name}.{kind}": read[name] for kind, read in figures.items() for name in ("e", "met")
    }
    return figures


def _alone(problem: Problem, watched: int, machine: int) -> Placement:
    cluster = problem.cluster
    free = [m for m in range(len(cluster.machines)) if m != machine]
    others = [c for c in range(len(problem.components)) if c != watched]
    if len(others) > len(free):
        raise InputError(f"{len(others) + 1} components need as many machines of their own")
    where = {watched: machine}
    heaviest_first = sorted(others, key=lambda c: -problem.visits[c] * problem.e[c].mean())
    for c in heaviest_first:
        where[c] = min(free, key=lambda m, c=c: problem.e[c, cluster.type_of[m]])  # type: ignore[misc]
        free.remove(where[c])
    components = sorted(where)
    return Placement.of(components, [where[c] for c in components])


def _read(
    problem: Problem, placement: Placement, machine: int, read_s: float, rng: np.random.Generator
) -> Figures:
    most = assess(problem, placement).sustainable_scale
    plan = Plan(problem, placement, "as declared")
    rate, rates, cpu, errors = _FIRST_PER_S, [], [], []
    while rate < most:
        predicted = 100.0 * assess(problem, placement, rate).utilisation[machine]
        scenario = offering(Scenario(duration_s=read_s), per_s=rate)
        seed = int(rng.integers(2**31))
        seen = (
            100.0 * app.simulate(plan, scenario, seed=seed).measured.machines[machine].utilisation
        )
        rates.append(rate)
        cpu.append(seen)
        errors.append(abs(float(seen - predicted)))
        rate += float(rng.uniform(_LEAST_STEP, _MOST_STEP))
    e, met = np.polyfit(rates, cpu, 1)
    return {
        "e": float(e),
        "met": float(met),
        "readings": float(len(errors)),
        "worst_error_points": max(errors),
        "mean_error_points": float(np.mean(errors)),
        "most_per_s": most,
    }

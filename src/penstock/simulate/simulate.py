"""One call for both models: runs with seeds of their own, and their result."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.simulate.fluid import run_fluid
from penstock.simulate.results import ENGINE, FLUID, SimResult
from penstock.simulate.scenario import Scenario
from penstock.simulate.work import MOST_TUPLES, require_affordable


def simulate_placement(
    problem: Problem,
    placement: Placement,
    scenario: Scenario,
    seed: int = 0,
    *,
    runs: int = 1,
    fluid: bool = False,
    most_tuples: float = MOST_TUPLES,
    progress: Callable[[float], None] = lambda _part: None,
    stop: Callable[[], bool] = lambda: False,
) -> SimResult:
    """Simulate a placement; ``progress`` is told which part of all is done.

    More work than ``most_tuples`` is refused before it starts (:mod:`.work`). Asked to stop it
    gives what there is, at least one look of the first run.
    """
    problem.order  # noqa: B018 - a cycle is a clear error here
    if fluid:
        run_result = run_fluid(
            problem,
            placement,
            scenario,
            most_tuples=most_tuples,
            progress=lambda s: progress(s / scenario.duration_s),
            stop=stop,
        )
        return SimResult(problem, run_result.scenario, seed, (run_result,), FLUID)
    require_affordable(problem, placement, scenario, runs=runs, most_tuples=most_tuples)
    from penstock.simulate.engine import run

    results = []
    for number, child in enumerate(np.random.SeedSequence(seed).spawn(runs)):
        done = number / runs

        def tell(seconds: float, done: float = done) -> None:
            progress(done + seconds / scenario.duration_s / runs)

        run_result = run(
            problem, placement, scenario, child, most_tuples=most_tuples, progress=tell, stop=stop
        )
        results.append(run_result)
        if results[-1].stopped:
            # Half a run beside whole ones would bend the means.
            results = results[:-1] or results
            break
    return SimResult(problem, scenario, seed, tuple(results), ENGINE)

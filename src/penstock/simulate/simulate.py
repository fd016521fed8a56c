"""One call for both models: runs with seeds of their own, and their result."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.simulate.fluid import run_fluid
from penstock.simulate.results import ENGINE, FLUID, SimResult
from penstock.simulate.scenario import Scenario


def simulate_placement(
    problem: Problem,
    placement: Placement,
    scenario: Scenario,
    seed: int = 0,
    *,
    runs: int = 1,
    fluid: bool = False,
    progress: Callable[[float], None] = lambda _part: None,
    stop: Callable[[], bool] = lambda: False,
) -> SimResult:
    """Simulate a placement; ``progress`` is told which part of all is done.

    Asked to stop it gives what there is, at least one look of the first run.
    """
    problem.order  # noqa: B018 - a cycle is a clear error here
    if fluid:
        made = run_fluid(
            problem,
            placement,
            scenario,
            progress=lambda s: progress(s / scenario.duration_s),
            stop=stop,
        )
        return SimResult(problem, made.scenario, seed, (made,), FLUID)
    from penstock.simulate.engine import run

    found = []
    for number, child in enumerate(np.random.SeedSequence(seed).spawn(runs)):
        done = number / runs

        def tell(seconds: float, done: float = done) -> None:
            progress(done + seconds / scenario.duration_s / runs)

        found.append(run(problem, placement, scenario, child, progress=tell, stop=stop))
        if found[-1].stopped:
            # Half a run beside whole ones would bend the means.
            found = found[:-1] or found
            break
    return SimResult(problem, scenario, seed, tuple(found), ENGINE)

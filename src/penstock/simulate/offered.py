"""The offered rate of each topology over time."""

from __future__ import annotations

import numpy as np

from penstock.errors import InputError
from penstock.model.arrays import FloatMatrix
from penstock.model.problem import Problem
from penstock.simulate.scenario import Scenario


def offered_rates(
    problem: Problem, sustainable: float, scenario: Scenario
) -> tuple[FloatMatrix, FloatMatrix]:
    """Offered rate of each topology in batches/s, in steps: their times and their rates.

    Shapes (topologies, steps + 1) and (topologies, steps); the last step never ends.
    """
    offered = scenario.offered
    if offered.per_s is not None:
        scale = offered.per_s / float(problem.demand.sum())
    elif offered.of_sustainable is not None:
        if not np.isfinite(sustainable):
            raise InputError(
                "nothing limits this plan, so it has no sustainable rate to offer a part of; "
                "give the rate in tuples/s"
            )
        scale = offered.of_sustainable * sustainable
    else:
        scale = 0.0
    times, factors = offered.pattern.steps(scenario.duration_s)
    rate = scale * problem.demand[:, None] * factors[None, :] / scenario.tuples_per_batch
    step_s = np.tile(np.append(times, np.inf), (len(problem.demand), 1))
    return step_s, rate

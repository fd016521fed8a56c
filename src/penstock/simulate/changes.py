"""When the loop is interrupted: for a look, or because something changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.model.problem import Problem
from penstock.simulate.scenario import Change, Scenario


@dataclass(frozen=True, slots=True)
class Moment:
    """A time at which the loop stops."""

    at_s: float
    #: ``None``: a look.
    change: Change | None = None


def moments(problem: Problem, scenario: Scenario) -> list[Moment]:
    looks = max(1, round(scenario.duration_s / scenario.sample_s))
    return [Moment(float(t)) for t in np.linspace(0.0, scenario.duration_s, looks + 1)[1:]]

"""Short ways to run the engine in a test."""

from __future__ import annotations

from typing import Any

from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.simulate.engine import SimulationEngine
from penstock.simulate.results import SimResult
from penstock.simulate.scenario import Arrivals, Offered, Scenario, ServiceTime, Shape
from penstock.simulate.simulate import simulate_placement

STEADY = ServiceTime(Shape.DETERMINISTIC)


def calm(per_s: float, duration_s: float = 10.0, **settings: Any) -> Scenario:
    """Evenly spaced tuples with constant service times, everything counted."""
    offered = Offered(of_sustainable=None, per_s=per_s, arrivals=Arrivals.EVEN)
    given = {"offered": offered, "service": STEADY, "warmup_s": 0.0, "duration_s": duration_s}
    return Scenario(**{**given, **settings})


def simulated(problem: Problem, placement: Placement, scenario: Scenario, **how: Any) -> SimResult:
    return simulate_placement(problem, placement, scenario, **how)


def ran(
    problem: Problem, placement: Placement, scenario: Scenario, seed: int = 0
) -> SimulationEngine:
    """An engine at the end of a scenario without changes."""
    engine = SimulationEngine(problem, placement, scenario, seed)
    while not engine.advance(scenario.duration_s):
        pass
    return engine

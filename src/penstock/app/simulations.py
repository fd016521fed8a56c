"""What happens when a plan runs, and how its latency grows with load."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.app.inputs import Source
from penstock.errors import Finding, InputError
from penstock.files.store import load
from penstock.model.plan import Plan
from penstock.simulate.load_curve import DEFAULT_LOADS, LoadCurve
from penstock.simulate.load_curve import load_curve as simulate_loads
from penstock.simulate.results import SimResult
from penstock.simulate.scenario import Scenario
from penstock.simulate.work import MOST_TUPLES


def simulate(
    plan: Plan,
    scenario: Scenario | Source | None = None,
    *,
    seed: int = 0,
    runs: int = 1,
    fluid: bool = False,
    most_tuples: float = MOST_TUPLES,
    progress: Callable[[float], None] = lambda _part: None,
    stop: Callable[[], bool] = lambda: False,
) -> SimResult:
    """What happens when a plan runs: a calm minute unless a scenario says otherwise.

    Several runs with seeds of their own give intervals over them; one gives them over its parts.
    What would handle more than ``most_tuples`` is refused.
    """
    # Only who simulates needs numba, and waits for it.
    from penstock.simulate.simulate import simulate_placement

    given = Scenario() if scenario is None else scenario
    wanted = given if isinstance(given, Scenario) else load(given)
    if not isinstance(wanted, Scenario):
        kind = type(wanted).__name__.lower()
        raise InputError(Finding(f"is a {kind}, not a scenario", str(given)[:200]))
    return simulate_placement(
        plan.problem,
        plan.placement,
        wanted,
        seed,
        runs=runs,
        fluid=fluid,
        most_tuples=most_tuples,
        progress=progress,
        stop=stop,
    )


def load_curve(
    plan: Plan,
    loads: Sequence[float] = DEFAULT_LOADS,
    *,
    scenario: Scenario | None = None,
    seconds: float | None = None,
    most_tuples: float = MOST_TUPLES,
    seed: int = 0,
    progress: Callable[[float, float], None] = lambda _load, _part: None,
    stop: Callable[[], bool] = lambda: False,
) -> LoadCurve:
    """Latency against load: a plan simulated at parts of its sustainable rate."""
    return simulate_loads(
        plan.problem,
        plan.placement,
        scenario,
        loads,
        seconds=seconds,
        most_tuples=most_tuples,
        seed=seed,
        progress=progress,
        stop=stop,
    )

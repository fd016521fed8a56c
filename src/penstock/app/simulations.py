"""What happens when a plan runs, and how its latency grows with load."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.app.answers import Comparison
from penstock.app.inputs import Source
from penstock.errors import Finding, InputError, UsageError
from penstock.files.store import load as load_file
from penstock.model.plan import Plan
from penstock.simulate.load_curve import DEFAULT_LOADS, LoadCurve
from penstock.simulate.load_curve import load_curve as simulate_loads
from penstock.simulate.results import SimResult
from penstock.simulate.scenario import Scenario
from penstock.simulate.variants import offering, saturated, shortened
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

    return simulate_placement(
        plan.problem,
        plan.placement,
        _scenario(scenario),
        seed,
        runs=runs,
        fluid=fluid,
        most_tuples=most_tuples,
        progress=progress,
        stop=stop,
    )


def scenario_for(
    plan: Plan,
    scenario: Scenario | Source | None = None,
    *,
    offered_per_s: float | None = None,
    load: float | None = None,
    saturate: bool = False,
    seconds: float | None = None,
) -> Scenario:
    """A scenario, the calm one if none is given, with another load or length.

    The load is a rate, a part of the plan's sustainable rate, or as much as goes through.
    """
    if (offered_per_s is not None) + (load is not None) + saturate > 1:
        raise UsageError("give one of --offered, --load and --saturate")
    chosen = _scenario(scenario)
    if seconds is not None:
        chosen = shortened(chosen, seconds)
    if saturate:
        return saturated(chosen, plan.problem, plan.placement)
    if offered_per_s is not None or load is not None:
        return offering(chosen, per_s=offered_per_s, of_sustainable=load)
    return chosen


def simulate_each(
    comparison: Comparison,
    load: float,
    *,
    seed: int = 0,
    stop: Callable[[], bool] = lambda: False,
    progress: Callable[[str], None] = lambda _scheduler: None,
) -> list[tuple[str, SimResult | None]]:
    """Every plan of a comparison in a calm minute, at a part of its own sustainable rate.

    Those without a rate have no result, and those for which there was no time are left out.
    """
    scenario = offering(Scenario(), of_sustainable=load)
    results: list[tuple[str, SimResult | None]] = []
    for row in comparison.rows:
        if stop():
            break
        if row.plan is None or row.plan.predicted.scale is None:
            results.append((row.scheduler, None))
            continue
        progress(row.scheduler)
        results.append((row.scheduler, simulate(row.plan, scenario, seed=seed)))
    return results


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


def _scenario(given: Scenario | Source | None) -> Scenario:
    if given is None or isinstance(given, Scenario):
        return given or Scenario()
    loaded = load_file(given)
    if not isinstance(loaded, Scenario):
        kind = type(loaded).__name__.lower()
        raise InputError(Finding(f"is a {kind}, not a scenario", str(given)[:200]))
    return loaded

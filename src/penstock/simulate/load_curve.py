"""Latency against load: one plan simulated at several parts of its sustainable rate.

Every load is a steady run that handles about as many tuples, so that the curve of a fast topology
and of a slow one take the same time; and all have the same seed, so that a load's figures do not
depend on which others are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isfinite

from penstock.errors import InputError
from penstock.evaluate.assess import assess
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.simulate.results import SimResult
from penstock.simulate.scenario import Scenario
from penstock.simulate.simulate import simulate_placement
from penstock.simulate.variants import offering
from penstock.simulate.work import MOST_TUPLES

DEFAULT_LOADS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
#: Tuples that all components together handle in all runs of a curve: some 15 s of work.
DEFAULT_TUPLES = 15_000_000
#: Shorter says nothing about queues, longer nothing more.
_LEAST_SECONDS, _MOST_SECONDS = 1.0, 3600.0
#: Looks of a run, for MSER-5 to find where it settles.
_LOOKS = 200


@dataclass(frozen=True)
class LoadPoint:
    """A run at a part of the sustainable rate."""

    load: float
    result: SimResult


@dataclass(frozen=True)
class LoadCurve:
    """The runs of a plan, the lowest load first."""

    problem: Problem
    seed: int
    #: Tuples/s of all topologies together at a load of 1.
    sustainable_per_s: float
    points: tuple[LoadPoint, ...]
    #: Ended early: higher loads are missing.
    stopped: bool = False


def load_curve(
    problem: Problem,
    placement: Placement,
    scenario: Scenario | None = None,
    loads: Sequence[float] = DEFAULT_LOADS,
    *,
    seconds: float | None = None,
    tuples: float = DEFAULT_TUPLES,
    most_tuples: float = MOST_TUPLES,
    seed: int = 0,
    progress: Callable[[float, float], None] = lambda _load, _part: None,
    stop: Callable[[], bool] = lambda: False,
) -> LoadCurve:
    """Simulate a placement at each load; ``progress`` is told the load and the part of all done.

    Each run takes ``seconds`` of simulated time, or as long as its part of ``tuples`` lasts; one
    that would handle more than ``most_tuples`` is refused. Asked to stop it gives the loads that
    are done.
    """
    base = scenario or Scenario()
    judged = assess(problem, placement)
    sustainable = float(judged.rate_per_s.sum())
    _check(base, loads, sustainable)
    handled_per_s = float(judged.component_rate_per_s.sum())
    ordered, points = sorted(set(loads)), list[LoadPoint]()
    for number, load in enumerate(ordered):
        duration_s = seconds or _seconds_of(tuples / len(ordered), load * handled_per_s)
        steady = replace(
            offering(base, of_sustainable=load),
            name=f"load {100 * load:g} %",
            duration_s=duration_s,
            sample_s=duration_s / _LOOKS,
        )

        def tell(part: float, done: int = number, load: float = load) -> None:
            progress(load, (done + part) / len(ordered))

        result = simulate_placement(
            problem, placement, steady, seed, most_tuples=most_tuples, progress=tell, stop=stop
        )
        if result.stopped or len(result.runs[0].looks) < 2:
            return LoadCurve(problem, seed, sustainable, tuple(points), stopped=True)
        points.append(LoadPoint(load, result))
    return LoadCurve(problem, seed, sustainable, tuple(points))


def _check(scenario: Scenario, loads: Sequence[float], sustainable: float) -> None:
    if not (isfinite(sustainable) and sustainable > 0):
        raise InputError("this plan has no sustainable rate, so there is no load to speak of")
    wrong = [load for load in loads if not (isfinite(load) and load > 0)]
    if wrong or not loads:
        raise InputError(f"loads are positive parts of the sustainable rate, not {wrong or 'none'}")
    if not scenario.is_steady:
        raise InputError(
            f"scenario {scenario.name} changes over time; a load curve needs one that does not"
        )


def _seconds_of(tuples: float, per_s: float) -> float:
    """How long that many tuples last, as a number that can be read."""
    seconds = min(max(tuples / per_s, _LEAST_SECONDS), _MOST_SECONDS)
    return float(f"{seconds:.2g}")

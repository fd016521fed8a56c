"""Scenarios made from others: more or less offered, as much as goes through, for less long."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite

from penstock.errors import InputError
from penstock.evaluate.assess import assess
from penstock.evaluate.latency import path_latency_ms
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.simulate.scenario import Offered, Scenario

#: Tuples in flight at saturation: so many for each instance, so that none runs dry, and so many
#: times those that are under way on the network.
_PER_INSTANCE = 20
_TIMES_UNDER_WAY = 4
#: Looks of a shorter run: enough for MSER-5 to tell its beginning from the rest.
_MOST_LOOKS = 60
#: A longer run has longer ones, so that there are never more than a scenario file may ask for.
_MOST_RESULTS = 20_000
#: As in files: beyond it a quantity means nothing.
_HIGHEST = 1e15


def offering(
    scenario: Scenario, *, per_s: float | None = None, of_sustainable: float | None = None
) -> Scenario:
    """The same with another rate, in the same pattern over time."""
    load = per_s if per_s is not None else of_sustainable
    if load is None or not (isfinite(load) and load > 0):
        raise InputError(f"the offered rate must be a positive number, not {load}")
    if load > _HIGHEST:
        raise InputError(f"the offered rate must be at most {_HIGHEST:g}, not {load:g}")
    offered = replace(scenario.offered, per_s=per_s, of_sustainable=of_sustainable, in_flight=None)
    return replace(scenario, offered=offered)


def shortened(scenario: Scenario, seconds: float) -> Scenario:
    """The same for another time, with as many results over time."""
    if not (isfinite(seconds) and seconds > 0):
        raise InputError(f"the simulated time must be a positive number of seconds, not {seconds}")
    if seconds > _HIGHEST:
        raise InputError(f"the simulated time must be at most {_HIGHEST:g} s, not {seconds:g}")
    looks = max(1, round(scenario.duration_s / scenario.sample_s))
    warmup_s = scenario.warmup_s
    if warmup_s is not None and warmup_s >= seconds:
        warmup_s = None
    sample_s = min(scenario.sample_s, seconds / min(looks, _MOST_LOOKS))
    sample_s = max(sample_s, seconds / _MOST_RESULTS)
    return replace(scenario, duration_s=seconds, warmup_s=warmup_s, sample_s=sample_s)


def saturated(scenario: Scenario, problem: Problem, placement: Placement) -> Scenario:
    """The same with as much offered as goes through; nothing times out or waits for a place."""
    judged = assess(problem, placement)
    rate = float(judged.rate_per_s.sum())
    if not (isfinite(rate) and rate > 0):
        raise InputError("this plan has no sustainable rate, so it cannot be saturated")
    under_way = rate * (path_latency_ms(judged) or 0.0) / 1e3
    window = int(_PER_INSTANCE * len(placement) + _TIMES_UNDER_WAY * under_way)
    offered = Offered(of_sustainable=None, in_flight=window)
    return replace(
        scenario, offered=offered, acking=False, queue_limit=None, max_spout_pending=None
    )

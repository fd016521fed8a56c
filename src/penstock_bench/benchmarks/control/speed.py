"""How long a turn takes, and weeks of rehearsal."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from penstock.control.loop import begin, turn
from penstock.control.observation import Observation
from penstock.control.policies import registry
from penstock.model.watch_rules import WatchRules
from penstock.planning.capacity_plans import CapacityPlanner
from penstock_bench.benchmarks.control.rehearsals import load, planner, score


def turn_ms(repeats: int, statistic: str = "calm") -> Iterator[float]:
    """A turn with nothing to do (calm), or one that ends a bin and forecasts (bin)."""
    policy, plans = registry.configured("penstock", {}), planner()
    everyone = np.ones(len(plans.problem.cluster.machines), dtype=np.bool_)
    rate = 0.4 * plans.bound_per_s
    made = plans.carrying(1.3 * rate, everyone)
    assert made is not None
    state = begin(plans.problem, plans, policy, WatchRules())
    calm: list[float] = []
    bins: list[float] = []
    for i in range(30 * (repeats + 100)):
        seen = Observation(
            10.0 * i, (rate,), (rate,), (0.0,), (0.1,), made.placement, everyone
        )  # fmt: skip
        began = time.perf_counter()
        _, state = turn(seen, state, policy)
        (bins if state.memory.new_bin else calm).append(1e3 * (time.perf_counter() - began))
    yield from (calm if statistic == "calm" else bins)[-repeats:]


def new_plan_s(repeats: int) -> Iterator[float]:
    """A decision with a plan that was not worked out before."""
    plans = planner()
    fresh = CapacityPlanner(plans.problem)
    everyone = np.ones(len(plans.problem.cluster.machines), dtype=np.bool_)
    current = None
    for i in range(repeats):
        began = time.perf_counter()
        made = fresh.carrying((0.3 + 0.05 * i) * fresh.bound_per_s, everyone, current)
        yield time.perf_counter() - began
        current = made.placement if made else None


def three_weeks_s(repeats: int, policy: str) -> Iterator[float]:
    """CPU seconds of three weeks on 180 machines."""
    for seed in range(100, 100 + repeats):
        load("taxi", None)
        began = time.process_time()
        score("taxi", policy, seed, None)
        yield time.process_time() - began

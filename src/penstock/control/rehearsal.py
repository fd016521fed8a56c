"""A policy rehearsed: the loop, with its guard rails, against an engine that is simulated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from penstock.control.decision import Decision
from penstock.control.detectors.detector import Detection
from penstock.control.loop import begin, turn
from penstock.control.observation import Observation
from penstock.control.policy import Policy
from penstock.control.recorded_load import RecordedLoad
from penstock.control.rehearsed_engine import FaultPlan, RehearsedEngine, SlowPlan
from penstock.control.scores import RehearsalSeries, Score, Scorekeeper
from penstock.errors import InputError
from penstock.model.watch_rules import WatchRules
from penstock.planning.capacity_plans import CapacityPlanner
from penstock.simulate.interval import EnginePauses

#: What runs at the beginning carries so many times the first rate.
_AT_FIRST = 1.3


@dataclass(frozen=True)
class RehearsalSetting:
    """How policies are rehearsed."""

    rules: WatchRules = field(default_factory=WatchRules)
    pauses: EnginePauses = field(default_factory=EnginePauses)
    faults: FaultPlan | None = None
    slow: SlowPlan | None = None
    #: Distance of turns, and of the windows in which latency is judged.
    turn_s: float = 10.0
    #: Stretches, from second to second, in which telemetry is missing.
    silent: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class RehearsalResult:
    """What became of one rehearsal."""

    score: Score
    series: RehearsalSeries
    #: Decisions that did something.
    decisions: tuple[Decision, ...]
    #: What detectors said, and when machines really became slow, with their names.
    detections: tuple[Detection, ...] = ()
    slowed: tuple[tuple[float, str], ...] = ()


#: Gets every turn: what was seen, decided and detected.
Journal = Callable[[Observation, Decision, tuple[Detection, ...]], None]


def rehearse(
    load: RecordedLoad,
    policy: Policy,
    planner: CapacityPlanner,
    setting: RehearsalSetting,
    seed: int = 0,
    journal: Journal = lambda _seen, _decision, _detections: None,
    stop: Callable[[], bool] = lambda: False,
) -> RehearsalResult:
    """Run a load through. The same seed gives the same result, and the same journal."""
    rng = np.random.default_rng([seed, 20])
    everyone = np.ones(len(planner.problem.cluster.machines), dtype=np.bool_)
    first = planner.carrying(load.at(0.0) * _AT_FIRST, everyone)
    if first is None:
        raise InputError("no plan exists for what the load begins with")
    target_s = setting.rules.latency_target_s
    engine = RehearsedEngine(
        planner, first.placement, setting.pauses, setting.faults, target_s, rng,
        setting.slow,
    )  # fmt: skip
    state = begin(planner.problem, planner, policy, setting.rules)
    keeper = Scorekeeper(planner, load, target_s)
    step_s = setting.turn_s
    detections: list[Detection] = []
    for number in range(int(load.duration_s / step_s)):
        offered = load.at(number * step_s)
        sample = engine.step(offered, step_s)
        known = not any(a <= engine.now_s < b for a, b in setting.silent)
        seen = engine.observe(sample, known=known)
        keeper.window(
            engine.now_s, step_s, offered, engine.model.carries_per_s, engine.machines_running,
            sample.latency_s, sample.backlog, sample.late,
            engine.lost_at_s[-1] if engine.lost_at_s else -np.inf, engine.up.copy() if
            not engine.up.all() else everyone,
        )  # fmt: skip
        decision, state = turn(seen, state, policy)
        if decision.refused:
            keeper.refusals += len(decision.refused)
        if decision.acts:
            engine.act(decision)
            keeper.decisions.append(decision)
        detections += state.detections
        journal(seen, decision, state.detections)
        if number % 1000 == 0 and stop():
            break
    score = keeper.score(policy.name, seed, engine.lost_at_s)
    machines = planner.problem.cluster.machines
    return RehearsalResult(
        score,
        keeper.series(),
        tuple(keeper.decisions),
        tuple(detections),
        tuple((at_s, machines[m].name) for at_s, m in engine.slowed),
    )

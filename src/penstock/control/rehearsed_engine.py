"""An engine that is simulated: the interval model, with machines that are lost and come back.

A lost machine is noticed after a while; then what ran there starts on another one, as the engine
does it for every policy. The machine that comes back is spare.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np

from penstock.control.decision import Decision
from penstock.control.observation import Observation
from penstock.model.arrays import BoolVector
from penstock.model.placement import Placement
from penstock.planning.capacity_plans import CapacityPlanner
from penstock.simulate.interval import EnginePauses, IntervalModel, IntervalSample, drawn_pause


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """A random machine in use is lost every so often, and comes back."""

    every_s: float = 2700.0
    back_after_s: float = 600.0


@dataclass(frozen=True, slots=True)
class SlowPlan:
    """A random machine in use runs at a part of its speed every so often, and recovers."""

    every_s: float = 7200.0
    speed: float = 0.6
    for_s: float = 3600.0


class RehearsedEngine:
    """What runs in a rehearsal."""

    def __init__(
        self,
        planner: CapacityPlanner,
        placement: Placement,
        pauses: EnginePauses,
        faults: FaultPlan | None,
        latency_target_s: float,
        rng: np.random.Generator,
        slow: SlowPlan | None = None,
    ) -> None:
        self.planner, self.pauses, self.faults, self.rng = planner, pauses, faults, rng
        self.model = IntervalModel(planner.problem, placement, pauses, latency_target_s)
        machines = len(planner.problem.cluster.machines)
        #: What is there, and what is known to be there.
        self.up: BoolVector = np.ones(machines, dtype=np.bool_)
        self.alive: BoolVector = self.up.copy()
        self.now_s = 0.0
        #: When losses happened.
        self.lost_at_s: list[float] = []
        self._next_fault_s = faults.every_s if faults else np.inf
        self._notice_s, self._restarted_s = np.inf, np.inf
        self._back: list[tuple[float, int]] = []
        self._paused_s = nan
        #: Machines that a change takes out of use, until it is through.
        self._draining: tuple[int, float] = (0, 0.0)
        #: When machines became slow, and which; when they recover.
        self.slowed: list[tuple[float, int]] = []
        self.slow = slow
        self._next_slow_s = slow.every_s if slow else np.inf
        self._recovers: list[tuple[float, int]] = []
        self._used: BoolVector = self._used_by(placement)

    @property
    def placement(self) -> Placement:
        return self.model.placement

    @property
    def machines_running(self) -> int:
        """Machines in use that are there, and those that are not drained yet."""
        leaving, until_s = self._draining
        return int((self._used & self.up).sum()) + (leaving if self.now_s <= until_s else 0)

    def step(self, offered_per_s: float, seconds: float) -> IntervalSample:
        """Let so much time pass, and what happens in it."""
        self.now_s += seconds
        if self.now_s > self._next_fault_s:
            self._lose()
        if self.now_s > self._next_slow_s:
            self._slow_down()
        while self._recovers and self._recovers[0][0] < self.now_s:
            self.model.slow(self._recovers.pop(0)[1], 1.0)
        if self.now_s > self._notice_s:
            self._notice()
        if self.now_s > self._restarted_s:
            self._restarted_s = np.inf
            self._recover()
        while self._back and self._back[0][0] < self.now_s:
            machine = self._back.pop(0)[1]
            self.up[machine] = True
            self.alive = self.alive.copy()
            self.alive[machine] = True
        return self.model.step(offered_per_s, seconds)

    def observe(self, sample: IntervalSample, *, known: bool = True) -> Observation:
        """What a watcher sees after a step; without telemetry nearly nothing."""
        offered, processed = sample.offered / sample.seconds, sample.processed / sample.seconds
        settled = self.model.pause_left_s <= 0.0 and self._restarted_s == np.inf
        if not known:
            unknown = (nan,)
            return Observation(
                self.now_s, unknown, unknown, unknown, unknown, self.placement, self.alive
            )
        return Observation(
            self.now_s,
            (offered,),
            (processed,),
            (sample.backlog,),
            (sample.latency_s,),
            self.placement,
            self.alive,
            self.model.cpu(processed),
            settled,
            paused_s=self._paused_s if settled else nan,
            held_back=float(sample.backlog > 0.0),
            stream_per_s=self.model.streams(processed),
        )

    def act(self, decision: Decision) -> float:
        """Carry a decision out; how long it stops the topology."""
        assert decision.placement is not None
        mean_s = self.pauses.rebalance_s if decision.restarts else self.pauses.shares_s
        pause_s = drawn_pause(mean_s, self.pauses, self.rng.random)
        self._paused_s = pause_s if decision.restarts else self._paused_s
        self._put(decision.placement, pause_s)
        return pause_s

    # -- machines -----------------------------------------------------------------------------

    def _put(self, placement: Placement, pause_s: float) -> None:
        used = self._used_by(placement)
        leaving = int((self._used & ~used & self.up).sum())
        self._draining = (leaving, self.now_s + pause_s)
        self._used = used
        self.model.change(placement, pause_s)
        self.model.lose(~self.up)

    def _used_by(self, placement: Placement) -> BoolVector:
        used = np.zeros(len(self.planner.problem.cluster.machines), dtype=np.bool_)
        used[placement.machine] = True
        return used

    def _lose(self) -> None:
        assert self.faults is not None
        self._next_fault_s += self.faults.every_s
        candidates = np.flatnonzero(self._used & self.up)
        if not len(candidates):
            return
        machine = int(self.rng.choice(candidates))
        self.lost_at_s.append(self.now_s)
        self.up[machine] = False
        self.model.lose(~self.up)
        self._notice_s = self.now_s + self.pauses.notice_s
        self._back.append((self.now_s + self.faults.back_after_s, machine))

    def _slow_down(self) -> None:
        assert self.slow is not None
        self._next_slow_s += self.slow.every_s
        candidates = np.flatnonzero(self._used & self.up & (self.model.speed >= 1.0))
        if not len(candidates):
            return
        machine = int(self.rng.choice(candidates))
        self.slowed.append((self.now_s, machine))
        self.model.slow(machine, self.slow.speed)
        self._recovers.append((self.now_s + self.slow.for_s, machine))

    def _notice(self) -> None:
        self._notice_s = np.inf
        self.alive = self.up.copy()
        restart_s = drawn_pause(self.pauses.restart_s, self.pauses, self.rng.random)
        if self.pauses.loss_stops_all:
            self.model.pause_left_s = max(self.model.pause_left_s, restart_s)
        self._restarted_s = self.now_s + restart_s

    def _recover(self) -> None:
        """What was lost runs elsewhere."""
        if self.up[self.placement.machine].all():
            return
        mended = self.planner.without_lost(self.placement, self.up)
        if mended is not None:
            self._put(mended, 0.0)

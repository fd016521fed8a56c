"""The loop on a running cluster: read, decide, write down, act; one turn after the other.

Everything that must survive a kill is in the journal: turns, proposals and what became of them.
What is in memory can be worked out again from there (:mod:`penstock.app.watching.memory`).
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isfinite, isnan, nan

from penstock.app.clusters import silent
from penstock.app.journal import Journal
from penstock.app.proposals import Pause
from penstock.app.watching.acting import Applier
from penstock.app.watching.cost_follower import CostFollower
from penstock.app.watching.costs import CostsFile
from penstock.app.watching.events import (
    FOR_HOOKS,
    EventKind,
    WatchEvent,
    detected,
    refused,
)
from penstock.app.watching.memory import state_from, with_costs
from penstock.app.watching.observe import observation_of
from penstock.app.watching.options import WatchOptions
from penstock.app.watching.proposal_desk import ProposalDesk, WatchMoment
from penstock.app.watching.system import MakePlanner, SystemMaker, WatchedSystem
from penstock.control.carried_out import not_made
from penstock.control.decision import Decision, DecisionKind, Refusal
from penstock.control.loop import LoopState, turn
from penstock.control.observation import Observation
from penstock.control.policies import registry as policies
from penstock.engines import registry as engines
from penstock.engines.base import Engine, Say, WatchSession
from penstock.engines.publisher import EngineAway
from penstock.engines.reading import Reading
from penstock.errors import InputError, PenstockError
from penstock.planning.capacity_plans import CapacityPlanner
from penstock.planning.task_limits import task_limit


@dataclass
class Watcher:
    """One cluster under watch. Made by :func:`penstock.app.watching.watch.watching`."""

    engine: Engine
    session: WatchSession
    options: WatchOptions
    say: Say = silent
    tell: Callable[[WatchEvent], None] = lambda _event: None
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    planner: Callable[..., CapacityPlanner] = CapacityPlanner
    system: WatchedSystem | None = None
    state: LoopState | None = None
    journal: Journal | None = None
    #: Keeps the profile up to date, where that is asked for.
    follower: CostFollower | None = None
    _seen: Observation | None = None
    _refused: frozenset[tuple[str, str]] = frozenset()
    #: How long the last change stopped the topology, once that is known.
    _paused_s: float = nan
    #: Why nothing can be seen, and what went wrong in the last turn.
    _blind: str = ""
    _trouble: str = ""

    def __post_init__(self) -> None:
        setting = self.options.watch
        self._policy = policies.configured(setting.policy, setting.parameters)
        self._costs = CostsFile(self.options.profile, self.say)
        make: MakePlanner = self.planner
        self._maker = SystemMaker(
            self.engine, self.options.topologies, self.options.weighted, self.options.headroom,
            make, self.say,
        )  # fmt: skip
        applier = Applier(
            self.session, self.options.history_path, self.options.wait_s, self.options.within_s,
            self.say, self.clock, self.sleep,
        )  # fmt: skip
        self._desk = ProposalDesk(self.options, applier, self._policy.name, self._tell)

    def close(self) -> None:
        if self.journal is not None:
            self.journal.close()

    # -- one turn -----------------------------------------------------------------------------

    def turn(self) -> None:
        """Look, decide, act as far as allowed. What fails is told, and the next turn goes on."""
        if self.follower is not None:
            self.follower.look_after()
        reading = self._read()
        if reading is None or self.system is None:
            return
        seen = observation_of(
            reading, self.system, self._seen.placement if self._seen else None,
            self._pause_of(reading),
        )  # fmt: skip
        if seen is None:
            self._blinded(f"not every instance of {self.system.problem.title} has a place yet")
            return
        if self._blind:
            self._event(EventKind.NOTICE, "telemetry and the cluster can be read again")
            self._blind = ""
        self._seen = seen
        assert self.journal is not None  # it was opened with what is watched
        try:
            self._decide(WatchMoment(self.system, reading, seen, self.journal))
        except (PenstockError, OSError, sqlite3.Error) as error:
            # Nothing is done that is not in the journal first; the next turn tries again.
            self._failed(str(error))
        else:
            self._trouble = ""

    def _read(self) -> Reading | None:
        """What is seen, and what is watched brought up to date."""
        try:
            with engines.naming_its_package(self.engine.name):
                reading = self.session.reading()
            system = self._maker.system(reading, self._costs.profile(), self.system)
        except (EngineAway, InputError) as error:
            self._blinded(str(error))
            return None
        if system is not self.system:
            self._take_up(system, reading.time_s)
        return reading

    def _blinded(self, why: str) -> None:
        """A turn in which nothing can be seen; it is told once, and is in the journal."""
        if why != self._blind:
            self._event(EventKind.FAILED, why)
        self._blind = why
        if self._seen is None or self.journal is None or self.state is None:
            return
        topologies = len(self._seen.offered_per_s)
        unknown = (nan,) * topologies
        seen = replace(
            self._seen, time_s=self.clock(), offered_per_s=unknown, processed_per_s=unknown,
            backlog=unknown, latency_s=unknown, cpu=None, settled=False, held_back=nan,
            telemetry_age_s=float("inf"), stream_per_s=None, instance_per_s=None,
        )  # fmt: skip
        decision, after = turn(seen, self.state, self._policy)
        self.state = not_made(self.state, after)
        self.journal.turn(seen, decision, after.detections)

    def _take_up(self, system: WatchedSystem, now_s: float) -> None:
        """Another problem: the first, or machines, topologies, costs or rates are others."""
        before, self.system = self.system, system
        path = self.options.journal_path
        if self.journal is not None:
            self.journal.close()
        path.parent.mkdir(parents=True, exist_ok=True)
        self.journal = Journal(system.problem, path, self.options.keep_s)
        state = self.state
        if before is not None and state is not None:
            state = with_costs(state, before, system)
        if state is None or before is None:
            self._seen = None
            rules = self.options.watch.rules
            state = state_from(path, self.journal, system, self._policy, rules, now_s)
        self.state = state
        machines = len(system.problem.cluster.machines)
        most = system.planner.bound_per_s
        self._event(
            EventKind.NOTICE,
            f"watching {system.problem.title} on {machines} machines, which carry "
            f"{most:.0f} tuples/s at most",
        )
        if limit := task_limit(system.problem):
            self._event(EventKind.NOTICE, str(limit))

    def _pause_of(self, reading: Reading) -> float:
        """How long the last change stopped the topology, once everything runs again."""
        if not isnan(reading.paused_s):
            return reading.paused_s
        since_s, began_s = reading.running_since_s, self._desk.changing_since_s
        if isfinite(began_s) and isfinite(since_s) and since_s > began_s:
            self._paused_s, self._desk.changing_since_s = since_s - began_s, nan
        return self._paused_s

    # -- deciding -----------------------------------------------------------------------------

    def _decide(self, now: WatchMoment) -> None:
        assert self.state is not None
        pause = now.journal.proposals.pause()
        before, busy = self._desk.look_after(self.state, pause, now)
        decision, after = turn(now.seen, before, self._policy)
        for detection in after.detections:
            self._tell(detected(detection))
        if decision.acts and (busy or pause is not None):
            decision, after = _withheld(decision, pause), not_made(before, after)
        self._tell_refused(decision)
        if decision.acts:
            self.state = self._desk.act(decision, before, after, now)
            return
        self.state = after
        now.journal.turn(now.seen, decision, after.detections)

    # -- telling ------------------------------------------------------------------------------

    def _tell_refused(self, decision: Decision) -> None:
        """A refusal that stands is told once."""
        now = frozenset((r.rule, r.what) for r in decision.refused)
        events = refused(decision)
        for event in events:
            key = (event.facts.get("rule"), event.facts.get("what"))
            if event.kind is EventKind.HELP or key not in self._refused:
                self._tell(event)
        self._refused = now

    def _failed(self, why: str) -> None:
        """Told once, however many turns it lasts."""
        if why != self._trouble:
            self._trouble = why
            self._event(EventKind.FAILED, f"this turn failed: {why}")

    def _event(self, kind: EventKind, text: str) -> None:
        self._tell(WatchEvent(self.clock(), kind, text))

    def _tell(self, event: WatchEvent) -> None:
        self.tell(event)
        hook = self.options.hook
        if hook is not None and event.kind in FOR_HOOKS:
            hook.tell(event.text, event.to_dict(), self.clock(), self.say)


def _withheld(decision: Decision, pause: Pause | None) -> Decision:
    """The same turn without doing anything."""
    if pause is None:
        # What was seen is from before; the next turn sees what came of it.
        rule, why = "one at a time", "an earlier proposal is being done"
    else:
        by = f"{pause.who}: {pause.why}" if pause.why else pause.who
        rule, why = "paused", f"penstock resume ends it ({by})"
    return Decision(
        decision.time_s, DecisionKind.NOTHING, decision.reason, decision.evidence,
        refused=(*decision.refused, Refusal(decision.reason, rule, why)),
    )  # fmt: skip

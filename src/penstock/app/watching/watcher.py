"""The loop on a running cluster: read, decide, write down, act; one turn after the other.

Everything that must survive a kill is in the journal: turns, proposals and what became of them.
What is in memory can be worked out again from there (:mod:`penstock.app.watching.memory`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from math import isfinite, nan

from penstock.app.clusters import silent
from penstock.app.journal import Journal
from penstock.app.proposals import Pause, Proposal, Status
from penstock.app.watching.acting import Applier
from penstock.app.watching.costs import CostsFile
from penstock.app.watching.events import (
    FOR_HOOKS,
    EventKind,
    WatchEvent,
    answered,
    decided,
    detected,
    refused,
)
from penstock.app.watching.memory import state_from, with_costs
from penstock.app.watching.observe import observation_of
from penstock.app.watching.options import Act, WatchOptions
from penstock.app.watching.plans import expired, plan_of, proposal_of, proposed_plan, record_of
from penstock.app.watching.system import MakePlanner, SystemMaker, WatchedSystem
from penstock.control.carried_out import failed, made, not_made
from penstock.control.decision import Decision, DecisionKind, Refusal
from penstock.control.loop import LoopState, turn
from penstock.control.observation import Observation
from penstock.control.policies import registry as policies
from penstock.engines import registry as engines
from penstock.engines.base import Ability, Engine, Say, WatchOrder, WatchSession
from penstock.engines.publisher import EngineAway
from penstock.engines.reading import Reading
from penstock.errors import InputError, PenstockError
from penstock.planning.capacity_plans import CapacityPlanner
from penstock.system.file_lock import locked

#: What waits is replaced by a proposal that carries more by at least this part.
_CARRIES_MORE = 0.1
#: Advice of the same kind for about the same rate is not told again for so long.
_ADVICE_S = 3600.0
_ENOUGH = (Status.APPLIED,)


@dataclass
class Watcher:
    """One cluster under watch. Made by :func:`watching`."""

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
    _seen: Observation | None = None
    _refused: frozenset[tuple[str, str]] = frozenset()
    #: When the last change began, and how long it stopped the topology once that is known.
    _changing_since_s: float = nan
    _paused_s: float = nan
    _blind: str = ""
    _advice: tuple[str, float, float] = ("", 0.0, -_ADVICE_S)

    def __post_init__(self) -> None:
        setting = self.options.watch
        self._policy = policies.configured(setting.policy, setting.parameters)
        self._costs = CostsFile(self.options.profile, self.say)
        make: MakePlanner = self.planner
        self._maker = SystemMaker(
            self.engine, self.options.topologies, self.options.weighted, self.options.headroom,
            make, self.say,
        )  # fmt: skip
        self._applier = Applier(
            self.session, self.options.history_path, self.options.wait_s, self.options.within_s,
            self.say, self.clock, self.sleep,
        )  # fmt: skip

    def close(self) -> None:
        if self.journal is not None:
            self.journal.close()

    # -- one turn -----------------------------------------------------------------------------

    def turn(self) -> None:
        """Look, decide, act as far as allowed. What fails is told, and the next turn goes on."""
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
        self._decide(seen, reading)

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

    def _pause_of(self, reading: Reading) -> float:
        """How long the last change stopped the topology, once everything runs again."""
        since_s, began_s = reading.running_since_s, self._changing_since_s
        if isfinite(began_s) and isfinite(since_s) and since_s > began_s:
            self._paused_s, self._changing_since_s = since_s - began_s, nan
        return self._paused_s

    # -- deciding -----------------------------------------------------------------------------

    def _decide(self, seen: Observation, reading: Reading) -> None:
        assert self.state is not None
        assert self.journal is not None
        pause = self.journal.proposals.pause()
        taken = self._look_after_proposals(seen, reading, pause)
        before = self.state
        decision, after = turn(seen, before, self._policy)
        for detection in after.detections:
            self._tell(detected(detection))
        if taken and decision.acts:
            # What was seen is from before; the next turn sees what came of it.
            decision = _withheld(decision, "one at a time", "an earlier proposal is being done")
            after = not_made(before, after)
        elif pause is not None and decision.acts:
            by = f"{pause.who}: {pause.why}" if pause.why else pause.who
            decision = _withheld(decision, "paused", f"penstock resume ends it ({by})")
            after = not_made(before, after)
        self._tell_refused(decision)
        if not decision.acts:
            self.state = after
            self.journal.turn(seen, decision, after.detections)
            return
        self._act(decision, before, after, seen, reading)

    def _act(
        self, decision: Decision, before: LoopState, after: LoopState, seen: Observation,
        reading: Reading,
    ) -> None:  # fmt: skip
        assert self.journal is not None
        assert self.system is not None
        assert decision.placement is not None
        status = {Act.ADVISE: Status.ADVISED, Act.ASK: Status.WAITING, Act.NOW: Status.BEGUN}
        act = self.options.act
        if act is not Act.NOW:
            self.state = not_made(before, after)
        if (act is Act.ADVISE and self._is_known(decision)) or (
            act is Act.ASK and self._waits_already(decision)
        ):
            self.journal.turn(seen, decision, after.detections)
            return
        plan = plan_of(decision.placement, self.system, reading.snapshot, self._policy.name)
        proposal = proposal_of(decision, plan, status[act], seen)
        if act is Act.ADVISE:
            proposal = replace(proposal, plan=None)
        self.journal.turn(seen, decision, after.detections, proposal)
        if act is Act.NOW:
            self._changing_since_s = self.clock()
            proposal = self._applier.carry_out(proposal, plan, reading.snapshot)
            self.journal.proposals.update(proposal)
            done = proposal.status in _ENOUGH
            self.state = after if done else failed(after, decision.rate_after_per_s, seen)
        self._tell(decided(decision, proposal, seen))

    def _is_known(self, decision: Decision) -> bool:
        """Whether the same advice was given lately."""
        kind, rate, told_s = self._advice
        alike = abs(decision.rate_after_per_s / max(rate, 1e-9) - 1.0) < _CARRIES_MORE
        if kind == decision.kind and alike and decision.time_s - told_s < _ADVICE_S:
            return True
        self._advice = (decision.kind, decision.rate_after_per_s, decision.time_s)
        return False

    def _waits_already(self, decision: Decision) -> bool:
        """Whether what waits will do; what carries too little makes room."""
        assert self.journal is not None
        waiting = [p for p in self.journal.proposals.open() if p.status is Status.WAITING]
        grows = decision.rate_after_per_s > decision.rate_before_per_s
        for proposal in waiting:
            grew = proposal.carries_per_s > proposal.carried_before_per_s
            enough = decision.rate_after_per_s <= proposal.carries_per_s * (1.0 + _CARRIES_MORE)
            if grew == grows and enough:
                return True
            self._settle(
                proposal.with_status(Status.EXPIRED, decision.time_s, "another is needed now")
            )
        return False

    # -- proposals from before ----------------------------------------------------------------

    def _look_after_proposals(
        self, seen: Observation, reading: Reading, pause: Pause | None
    ) -> bool:
        """Those that wait expire, those approved are done; whether something was done."""
        assert self.journal is not None
        touched = False
        for proposal in self.journal.proposals.open():
            if proposal.status is Status.BEGUN:
                touched = self._recovered(proposal, seen, reading, pause) or touched
            elif why := expired(proposal, seen, reading.snapshot, self.options.proposal_lasts_s):
                self._settle(proposal.with_status(Status.EXPIRED, seen.time_s, why))
            elif proposal.status is Status.APPROVED and not touched and pause is None:
                self._do_approved(proposal, seen, reading)
                touched = True
        return touched

    def _do_approved(self, proposal: Proposal, seen: Observation, reading: Reading) -> None:
        assert self.journal is not None
        assert self.state is not None
        if self.options.act is Act.ADVISE:
            why = "this watcher only advises"
            self._settle(proposal.with_status(Status.EXPIRED, seen.time_s, why))
            return
        by = proposal.who
        begun = replace(proposal, status=Status.BEGUN, status_s=seen.time_s)
        if not self.journal.proposals.update(begun, among=(Status.APPROVED,)):
            return
        self._changing_since_s = self.clock()
        done = self._applier.carry_out(begun, proposed_plan(proposal), reading.snapshot)
        done = replace(done, who=by)
        self._settle(done)
        if proposal.kind == DecisionKind.SHARES:
            return
        self.state = made(self.state, record_of(proposal, seen.time_s), seen.placement)
        if done.status not in _ENOUGH:
            self.state = failed(self.state, proposal.carries_per_s, seen)

    def _recovered(
        self, proposal: Proposal, seen: Observation, reading: Reading, pause: Pause | None
    ) -> bool:
        """Find what an interrupted apply left, as soon as the cluster is at rest."""
        assert self.system is not None
        if self.options.act is Act.ADVISE or pause is not None:
            self._tell_once(
                f"{proposal.id} was interrupted; it is looked after once allowed to act"
            )
            return True
        waited_s = seen.time_s - proposal.status_s
        if not seen.settled and waited_s < 2 * self.options.within_s:
            return True
        try:
            found = self._applier.recover(
                proposal, proposed_plan(proposal), reading, seen.placement, self.system
            )
        except PenstockError as error:
            self._tell_once(f"{proposal.id} was interrupted and is not made whole yet: {error}")
            return True
        self._settle(found)
        return True

    def _settle(self, proposal: Proposal) -> None:
        """Its new status into the journal, and told."""
        assert self.journal is not None
        if self.journal.proposals.update(proposal):
            self._tell(answered(proposal, self.clock()))

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

    def _tell_once(self, text: str) -> None:
        if ("", text) not in self._refused:
            self._event(EventKind.FAILED, text)
            self._refused |= {("", text)}

    def _event(self, kind: EventKind, text: str) -> None:
        self._tell(WatchEvent(self.clock(), kind, text))

    def _tell(self, event: WatchEvent) -> None:
        self.tell(event)
        hook = self.options.hook
        if hook is not None and event.kind in FOR_HOOKS:
            hook.tell(event.text, event.to_dict(), self.clock(), self.say)


def _withheld(decision: Decision, rule: str, why: str) -> Decision:
    """The same turn without doing anything."""
    return Decision(
        decision.time_s, DecisionKind.NOTHING, decision.reason, decision.evidence,
        refused=(*decision.refused, Refusal(decision.reason, rule, why)),
    )  # fmt: skip


@contextmanager
def watching(
    engine: Engine,
    options: WatchOptions,
    *,
    say: Say = silent,
    tell: Callable[[WatchEvent], None] = lambda _event: None,
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], None] = time.sleep,
    planner: MakePlanner = CapacityPlanner,
) -> Iterator[Watcher]:
    """A watcher, the only one of its cluster for as long as the block lasts."""
    engines.require(engine, Ability.WATCH)
    options.journal_path.parent.mkdir(parents=True, exist_ok=True)
    order = WatchOrder(say, options.telemetry, options.window_s, clock)
    with ExitStack() as stack:
        own = options.journal_path.with_name(f"{options.journal_path.name}.lock")
        stack.enter_context(locked(own, "another watcher"))
        with engines.naming_its_package(engine.name):
            session = stack.enter_context(engine.watch(order))
        if session.lock is not None:
            stack.enter_context(locked(session.lock, "another watcher of this cluster"))
        watcher = Watcher(engine, session, options, say, tell, clock, sleep, planner)
        stack.callback(watcher.close)
        yield watcher


def watch(
    engine: Engine,
    options: WatchOptions,
    *,
    stop: Callable[[], bool],
    once: bool = False,
    say: Say = silent,
    tell: Callable[[WatchEvent], None] = lambda _event: None,
) -> None:
    """Watch a cluster until told to stop: a turn now, and one every few seconds."""
    with watching(engine, options, say=say, tell=tell) as watcher:
        next_s = time.monotonic()
        while not stop():
            watcher.turn()
            if once:
                return
            next_s = max(next_s + options.every_s, time.monotonic())
            while not stop() and (left_s := next_s - time.monotonic()) > 0:
                time.sleep(min(left_s, _LOOKS_EVERY_S))


_LOOKS_EVERY_S = 0.5

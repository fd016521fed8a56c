"""Decisions as proposals: told, asked for, done at once; and what became of earlier ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import nan

from penstock.app.journal import Journal
from penstock.app.proposals import ChangeProposal, Pause, Status
from penstock.app.watching.acting import Applier
from penstock.app.watching.events import EventKind, WatchEvent, answered, decided
from penstock.app.watching.options import Act, WatchOptions
from penstock.app.watching.plans import expired, plan_of, proposal_of, proposed_plan, record_of
from penstock.app.watching.system import WatchedSystem
from penstock.control.carried_out import failed, made, not_made
from penstock.control.decision import Decision, DecisionKind
from penstock.control.loop import LoopState
from penstock.control.observation import Observation
from penstock.engines.reading import Reading
from penstock.errors import InputError, PenstockError

#: What waits is replaced by a proposal that carries more by at least this part.
_CARRIES_MORE = 0.1
#: Advice of the same kind for about the same rate is not told again for so long.
_ADVICE_S = 3600.0
_FIRST_STATUS = {Act.ADVISE: Status.ADVISED, Act.ASK: Status.WAITING, Act.NOW: Status.BEGUN}


@dataclass(frozen=True)
class WatchMoment:
    """One turn: what is watched, what was seen of it, and where it is written down."""

    system: WatchedSystem
    reading: Reading
    seen: Observation
    journal: Journal


@dataclass
class ProposalDesk:
    """Carries out what may be carried out, once, and keeps the journal's proposals up to date."""

    options: WatchOptions
    applier: Applier
    policy: str
    tell: Callable[[WatchEvent], None]
    #: When the change that is under way, or was last, began.
    changing_since_s: float = nan
    _advice: tuple[str, float, float] = ("", 0.0, -_ADVICE_S)
    _trouble: str = ""

    # -- a decision of this turn --------------------------------------------------------------

    def act(
        self, decision: Decision, before: LoopState, after: LoopState, now: WatchMoment
    ) -> LoopState:
        """Write the turn down and do what is allowed; the state that this leaves."""
        assert decision.placement is not None
        act, journal, seen = self.options.act, now.journal, now.seen
        known = (act is Act.ADVISE and self._is_known(decision)) or (
            act is Act.ASK and self._waits_already(decision, journal)
        )
        if known:
            journal.turn(seen, decision, after.detections)
            return not_made(before, after)
        plan = plan_of(decision.placement, now.system, now.reading.snapshot, self.policy)
        proposal = proposal_of(decision, plan, _FIRST_STATUS[act], seen)
        if act is Act.ADVISE:
            proposal = replace(proposal, plan=None)
        journal.turn(seen, decision, after.detections, proposal)
        if act is not Act.NOW:
            self.tell(decided(decision, proposal, seen))
            return not_made(before, after)
        self.changing_since_s = self.applier.clock()
        proposal = self.applier.carry_out(proposal, plan, now.reading.snapshot)
        journal.proposals.update(proposal)
        self.tell(decided(decision, proposal, seen))
        if proposal.status is Status.APPLIED:
            return after
        return failed(after, decision.rate_after_per_s, seen)

    def _is_known(self, decision: Decision) -> bool:
        """Whether the same advice was given lately."""
        kind, rate, told_s = self._advice
        alike = abs(decision.rate_after_per_s / max(rate, 1e-9) - 1.0) < _CARRIES_MORE
        if kind == decision.kind and alike and decision.time_s - told_s < _ADVICE_S:
            return True
        self._advice = (decision.kind, decision.rate_after_per_s, decision.time_s)
        return False

    def _waits_already(self, decision: Decision, journal: Journal) -> bool:
        """Whether what waits will do; what carries too little makes room."""
        waiting = [p for p in journal.proposals.open() if p.status is Status.WAITING]
        grows = decision.rate_after_per_s > decision.rate_before_per_s
        for proposal in waiting:
            grew = proposal.carries_per_s > proposal.carried_before_per_s
            enough = decision.rate_after_per_s <= proposal.carries_per_s * (1.0 + _CARRIES_MORE)
            if grew == grows and enough:
                return True
            why = "another is needed now"
            self._settle(proposal.with_status(Status.EXPIRED, decision.time_s, why), journal)
        return False

    # -- proposals of earlier turns -----------------------------------------------------------

    def look_after(
        self, state: LoopState, pause: Pause | None, now: WatchMoment
    ) -> tuple[LoopState, bool]:
        """Those that wait expire, those approved are done; whether something is under way."""
        busy = False
        for proposal in now.journal.proposals.open():
            if proposal.status is Status.BEGUN:
                self._recover(proposal, pause, now)
                busy = True
                continue
            why = self._why_expired(proposal, now)
            approved = proposal.status is Status.APPROVED
            if approved and self.options.act is Act.ADVISE:
                why = why or "this watcher only advises"
            if why:
                gone = proposal.with_status(Status.EXPIRED, now.seen.time_s, why)
                self._settle(gone, now.journal)
            elif approved and not busy and pause is None:
                state = self._do_approved(proposal, state, now)
                busy = True
        return state, busy

    def _why_expired(self, proposal: ChangeProposal, now: WatchMoment) -> str:
        lasts_s = self.options.proposal_lasts_s
        try:
            return expired(proposal, now.seen, now.reading.snapshot, lasts_s)
        except InputError as error:
            return f"its plan cannot be read: {error}"

    def _do_approved(
        self, proposal: ChangeProposal, state: LoopState, now: WatchMoment
    ) -> LoopState:
        begun = replace(proposal, status=Status.BEGUN, status_s=now.seen.time_s)
        if not now.journal.proposals.update(begun, among=(Status.APPROVED,)):
            return state
        self.changing_since_s = self.applier.clock()
        done = self.applier.carry_out(begun, proposed_plan(proposal), now.reading.snapshot)
        self._settle(replace(done, who=proposal.who), now.journal)
        if done.status is not Status.APPLIED:
            return failed(state, proposal.carries_per_s, now.seen)
        if proposal.kind == DecisionKind.SHARES:
            return state
        return made(state, record_of(proposal, now.seen.time_s), now.seen.placement)

    def _recover(self, proposal: ChangeProposal, pause: Pause | None, now: WatchMoment) -> None:
        """Find what an interrupted apply left, as soon as the cluster is at rest."""
        if self.options.act is Act.ADVISE or pause is not None:
            self._trouble_with(proposal, "it is looked after once the watcher may act", now)
            return
        # An engine that never comes to rest is not waited for: what is there counts.
        waited_s = now.seen.time_s - proposal.status_s
        if not now.seen.settled and waited_s < 2 * self.options.within_s:
            return
        try:
            found = self.applier.recover(
                proposal, proposed_plan(proposal), now.reading, now.seen.placement, now.system
            )
        except (PenstockError, OSError) as error:
            self._trouble_with(proposal, str(error), now)
            return
        self._settle(found, now.journal)

    def _settle(self, proposal: ChangeProposal, journal: Journal) -> None:
        """Its new status into the journal, and told."""
        if journal.proposals.update(proposal):
            self.tell(answered(proposal, self.applier.clock()))

    def _trouble_with(self, proposal: ChangeProposal, why: str, now: WatchMoment) -> None:
        """Told once, however many turns it lasts."""
        text = f"{proposal.id} was interrupted and is not made whole yet: {why}"
        if text != self._trouble:
            self._trouble = text
            self.tell(WatchEvent(now.seen.time_s, EventKind.FAILED, text))

"""Plans put in force for the loop: once, with a trace of what was meant, and found after a kill."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from penstock.app.applying import HistoryRecord
from penstock.app.proposals import ChangeProposal, Status
from penstock.app.watching.plans import plan_of
from penstock.app.watching.system import WatchedSystem
from penstock.change.guard import differences, stale
from penstock.change.history import APPLIED, NOT_ROLLED_BACK, ROLLED_BACK, Receipt
from penstock.engines.base import PublishOrder, Say, WatchSession
from penstock.engines.reading import Reading
from penstock.errors import PenstockError, StaleError
from penstock.model.placement import Placement
from penstock.model.plan import Plan
from penstock.model.snapshot import Snapshot

_STATUS = {
    APPLIED: Status.APPLIED,
    ROLLED_BACK: Status.ROLLED_BACK,
    NOT_ROLLED_BACK: Status.NOT_ROLLED_BACK,
}


@dataclass(frozen=True)
class Applier:
    """Tells an engine what was decided, and what became of it."""

    session: WatchSession
    history: Path
    wait_s: int = 2
    within_s: float = 120.0
    say: Say = lambda _text: None
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep

    def carry_out(self, proposal: ChangeProposal, plan: Plan, snapshot: Snapshot) -> ChangeProposal:
        """Publish the plan; the proposal with what came of it.

        It stays begun where that is not known: :meth:`recover` finds out.
        """
        publication = _Publication(self)
        try:
            publication.publish(plan, snapshot, restarts=proposal.kind != "shares")
        except (PenstockError, OSError) as error:
            why = str(error)
            receipt = publication.receipt
            if receipt is None:
                return proposal.with_status(Status.NOT_APPLIED, self.clock(), why)
            status = _STATUS.get(receipt.outcome, Status.BEGUN)
            told = proposal.with_status(status, self.clock(), why)
            return replace(told, receipt=receipt.id)
        assert publication.receipt is not None  # it was published
        applied = proposal.with_status(Status.APPLIED, self.clock())
        return replace(applied, receipt=publication.receipt.id)

    def recover(
        self, proposal: ChangeProposal, plan: Plan, reading: Reading, now: Placement,
        system: WatchedSystem,
    ) -> ChangeProposal:  # fmt: skip
        """What became of a proposal whose carrying out was interrupted, made whole.

        Everything as planned: applied; the plan is written once more, and nothing restarts. Nothing
        as planned: what runs is put in force as a plan, lest a later move follows the plan that was
        given up; nothing restarts. Something as planned: the rest follows.
        """
        snapshot = reading.snapshot
        reached = [
            not differences(plan.slots_of(deployed.topology), deployed)
            for deployed in snapshot.narrowed({t.name for t in plan.problem.topologies}).deployed
        ]
        forward = any(reached) and not stale(plan, snapshot)
        if forward:
            why = "interrupted; " + (
                "it was in force" if all(reached) else "what was missing was done afterwards"
            )
            target, status = plan, Status.APPLIED
        else:
            why = "interrupted; what ran before runs"
            target, status = plan_of(now, system, snapshot, plan.scheduler), Status.NOT_APPLIED
        publication = _Publication(self)
        publication.publish(target, snapshot, restarts=forward and not all(reached))
        assert publication.receipt is not None  # it was published
        found = proposal.with_status(status, self.clock(), why)
        return replace(found, receipt=publication.receipt.id)


@dataclass
class _Publication:
    """One plan on its way, and its receipt so far."""

    applier: Applier
    receipt: Receipt | None = None
    _record: HistoryRecord = field(init=False)

    def __post_init__(self) -> None:
        self._record = HistoryRecord(self.applier.history, self.applier.say)

    def publish(self, plan: Plan, snapshot: Snapshot, *, restarts: bool) -> None:
        """Put a plan in force; one that must not restart anything is refused if it would."""
        session = self.applier.session
        if reasons := stale(plan, snapshot):
            raise StaleError(*reasons)
        publication = session.prepare(plan, snapshot)
        pausing = [step.topology for step in publication.steps if step.pauses]
        if pausing and not restarts:
            raise StaleError(f"workers of {', '.join(pausing)} would restart, which was not meant")
        before = {machine for d in snapshot.deployed for _, ps in d.components for machine, _ in ps}
        machines = [plan.problem.cluster.machines[m].name for m in plan.placement.machines_used]
        session.use(sorted({*before, *machines}))
        order = PublishOrder(
            self.applier.say, self._keep, self.applier.wait_s, self.applier.within_s,
            self.applier.clock, self.applier.sleep,
        )  # fmt: skip
        session.publish(publication, order)
        beside = _machines_of_others(plan, snapshot)
        session.use(sorted({*machines, *beside}))

    def _keep(self, receipt: Receipt) -> None:
        self._record.keep(receipt)
        self.receipt = receipt


def _machines_of_others(plan: Plan, snapshot: Snapshot) -> set[str]:
    """Machines of topologies that the plan does not name."""
    mine = {t.name for t in plan.problem.topologies}
    return {
        machine
        for deployed in snapshot.deployed
        if deployed.topology not in mine
        for _, places in deployed.components
        for machine, _ in places
    }

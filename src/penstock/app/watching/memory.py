"""What the loop remembers, worked out anew from the journal: after a start, for other machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from penstock.app.journal import Journal, power_of
from penstock.app.journal_reader import read_journal
from penstock.app.proposals import ChangeProposal, Status
from penstock.app.watching.plans import record_of
from penstock.app.watching.system import WatchedSystem
from penstock.control.journal import JournalEntry
from penstock.control.loop import LoopState, OpenChange, begin
from penstock.control.policy import Policy
from penstock.control.provenance import provenance
from penstock.control.recall import recalled
from penstock.model.watch_rules import WatchRules

#: Changes that guard rails look back to.
_CHANGES_S = 3600.0
#: Statuses in which something was done to the cluster.
_DONE = (Status.BEGUN, Status.APPLIED, Status.ROLLED_BACK, Status.NOT_ROLLED_BACK)


def state_from(
    path: Path, journal: Journal, system: WatchedSystem, policy: Policy, rules: WatchRules,
    now_s: float,
) -> LoopState:  # fmt: skip
    """The state that turns so far leave."""
    problem, planner = system.problem, system.planner
    entries = read_journal(path, problem)
    past = provenance(entries, power_of(problem)) if entries else None
    state = begin(problem, planner, policy, rules, past)
    proposals = [
        proposal
        for proposal in journal.proposals.since(now_s - _CHANGES_S)
        if proposal.status in _DONE and proposal.kind != "shares"
    ]
    changes = [record_of(proposal, proposal.status_s) for proposal in proposals]
    state = recalled(state, entries, changes, policy)
    if not proposals or proposals[-1].status is not Status.APPLIED:
        return state
    return _to_be_judged(state, proposals[-1], entries, now_s)


def _to_be_judged(
    state: LoopState, newest: ChangeProposal, entries: Sequence[JournalEntry], now_s: float
) -> LoopState:
    """The newest change, if the time to judge it is still to come."""
    record = state.changes[-1]
    before = [entry.placement for entry in entries if entry.begin_s == newest.time_s]
    if not before or now_s - record.time_s >= state.rules.judge_after_s:
        return state
    return replace(state, open_change=OpenChange(record, before[0]))


def with_costs(state: LoopState, before: WatchedSystem, system: WatchedSystem) -> LoopState | None:
    """The same memory with other costs; ``None``: more than costs are different."""
    old, new = before.problem, system.problem
    same_machines = [m.name for m in old.cluster.machines] == [m.name for m in new.cluster.machines]
    same_streams = len(old.streams) == len(new.streams)
    if (
        before.runs != system.runs
        or old.labels != new.labels
        or not (same_machines and same_streams)
    ):
        return None
    setting = replace(state.setting, problem=new, planner=system.planner)
    return replace(
        state, setting=setting, healthy=system.planner, detected=state.bank.start(new),
        open_change=None,
    )  # fmt: skip

"""One turn of the loop: what is seen goes to the policy, what it proposes past the guard rails.

Pure: the same observation and state give the same decision and state. Who calls it has the clock,
takes observations from an engine or from a rehearsal, and carries decisions out.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf, isnan
from typing import Any

from penstock.control.decision import Decision, DecisionKind, Proposal, Refusal
from penstock.control.detectors.bank import BankMemory, DetectorBank
from penstock.control.detectors.detector import Detection
from penstock.control.guards import ChangeRecord, WantedChange, not_ready, refusal
from penstock.control.observation import Observation
from penstock.control.policy import Policy, RecallingPolicy, Setting
from penstock.control.provenance import ProvenanceData
from penstock.control.sick_machines import around_the_sick, drain, is_sick, named
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.model.watch_rules import WatchRules
from penstock.planning.capacity_plans import CapacityPlan, CapacityPlanner

#: Weight of the newest pause in what is expected of the next one.
_NEWEST_PAUSE = 0.3
#: Changes older than this are forgotten by guard rails.
_REMEMBERED_S = 3600.0
_NEVER = inf


@dataclass(frozen=True)
class OpenChange:
    """A change that was made and not judged yet."""

    record: ChangeRecord
    before: Placement


@dataclass(frozen=True)
class LoopState:
    """What the loop remembers between turns."""

    setting: Setting
    rules: WatchRules
    #: The policy's own.
    memory: Any
    changes: tuple[ChangeRecord, ...] = ()
    open_change: OpenChange | None = None
    shrinking_since_s: float = _NEVER
    #: Rates to which changes did not help, and how many machines were there then.
    useless_per_s: tuple[float, ...] = ()
    machines_then: int = 0
    last_paused_s: float = float("nan")
    #: Plans for machines as they should be; the setting's plan with sick ones as they are.
    healthy: CapacityPlanner | None = None
    bank: DetectorBank = field(default_factory=DetectorBank)
    detected: BankMemory = field(default_factory=lambda: BankMemory(()))
    #: What was detected in this turn.
    detections: tuple[Detection, ...] = ()


def begin(
    problem: Problem,
    planner: CapacityPlanner,
    policy: Policy,
    rules: WatchRules,
    past: ProvenanceData | None = None,
) -> LoopState:
    """The state before the first turn; policies that can begin with what ``past`` teaches."""
    setting = Setting(problem, planner, rules.latency_target_s, rules.pause_s)
    memory = policy.start()
    if past is not None and isinstance(policy, RecallingPolicy):
        memory = policy.recalled(past, setting)
    bank = DetectorBank()
    return LoopState(
        setting, rules, memory, healthy=planner, bank=bank, detected=bank.start(problem)
    )


def turn(seen: Observation, state: LoopState, policy: Policy) -> tuple[Decision, LoopState]:
    """Decide. A decision that is returned counts as made: whoever does not carry it out says so by
    what the next observation shows to run."""
    decision, state = _decided(*_examined(seen, _noted(seen, state)), policy)
    return named(decision, state.detected.active), state


def _examined(seen: Observation, state: LoopState) -> tuple[Observation, LoopState]:
    """What detectors say of a turn, and what it means for plans."""
    healthy = state.healthy or state.setting.planner
    detections, memory = state.bank.seen(seen, state.detected, healthy)
    state = replace(state, detections=detections, detected=memory)
    health = state.bank.health(memory)
    seen, setting = around_the_sick(seen, state.setting, healthy, health)
    return seen, state if setting is state.setting else replace(state, setting=setting)


def _decided(seen: Observation, state: LoopState, policy: Policy) -> tuple[Decision, LoopState]:
    proposal, memory = policy.propose(seen, state.memory, state.setting)
    state = replace(state, memory=memory)
    unready = not_ready(seen, state.rules)
    if unready is not None:
        rule, why = unready
        help_ = why if rule == "most_failed" else ""
        what = proposal.reason if proposal.wants_change else "any change"
        refused = (Refusal(what, rule, why),) if proposal.wants_change or help_ else ()
        return Decision(
            seen.time_s, DecisionKind.NOTHING, why, refused=refused, calls_for_help=help_
        ), state
    undone, state = _undone(seen, state)
    if undone is not None:
        return undone, state
    proposal = drain(seen, proposal, state.healthy) or proposal
    if not proposal.wants_change:
        return _nothing(seen, proposal), replace(state, shrinking_since_s=_NEVER)
    return _considered(seen, state, proposal)


def _nothing(seen: Observation, proposal: Proposal, *refused: Refusal) -> Decision:
    return Decision(
        seen.time_s, DecisionKind.NOTHING, proposal.reason, proposal.evidence,
        refused=(*proposal.refused, *refused),
    )  # fmt: skip


def _noted(seen: Observation, state: LoopState) -> LoopState:
    """What the last change taught, and what is old enough to be forgotten."""
    if state.changes and seen.time_s - state.changes[0].time_s > _REMEMBERED_S:
        recent = tuple(c for c in state.changes if seen.time_s - c.time_s <= _REMEMBERED_S)
        state = replace(state, changes=recent)
    if state.useless_per_s and int(seen.alive.sum()) != state.machines_then:
        state = replace(state, useless_per_s=())
    return with_pause(state, seen.paused_s)


def with_pause(state: LoopState, paused_s: float) -> LoopState:
    """What a change that is through teaches about the next one; told again, it teaches nothing."""
    if isnan(paused_s) or paused_s == state.last_paused_s:
        return state
    known = state.setting.pause_s
    pause_s = known + _NEWEST_PAUSE * (paused_s - known)
    return replace(state, setting=replace(state.setting, pause_s=pause_s), last_paused_s=paused_s)


def _considered(
    seen: Observation, state: LoopState, proposal: Proposal
) -> tuple[Decision, LoopState]:
    """The proposal as a plan, held against every rule."""
    setting, planner = state.setting, state.setting.planner
    carries_now = setting.carries_per_s(seen.placement)
    plan, shares_only = _plan(seen, setting, proposal, carries_now)
    if plan is None:
        refused = Refusal(
            proposal.reason, "no plan", "no plan exists on the machines that are there"
        )
        return _nothing(seen, proposal, refused), state
    shrinks = plan.carries_per_s < carries_now
    since_s = min(state.shrinking_since_s, seen.time_s) if shrinks else _NEVER
    state = replace(state, shrinking_since_s=since_s)
    moves = planner.moves(seen.placement, plan.placement)
    wanted = WantedChange(
        seen, state.rules, setting.problem, plan, carries_now, moves, shares_only, state.changes,
        since_s, state.useless_per_s, proposal.beyond_rate,
        inf if proposal.carry_per_s is None else proposal.carry_per_s,
    )  # fmt: skip
    no = refusal(wanted)
    if no is not None:
        return _nothing(seen, proposal, Refusal(proposal.reason, *no)), state
    decision = _made(seen, state, proposal, plan, wanted)
    if not decision.restarts:
        return decision, state
    record = ChangeRecord(seen.time_s, moves, plan.carries_per_s, carries_now, plan.machines)
    return decision, replace(
        state,
        changes=(*state.changes, record),
        open_change=OpenChange(record, seen.placement),
        shrinking_since_s=_NEVER,
    )


def _plan(
    seen: Observation, setting: Setting, proposal: Proposal, carries_now: float
) -> tuple[CapacityPlan | None, bool]:
    """A plan for what is proposed, and whether it takes new shares alone."""
    planner = setting.planner
    if proposal.placement is not None:
        return planner.as_plan(proposal.placement, seen.alive), False
    if proposal.carry_per_s is not None:
        if proposal.carry_per_s > carries_now and not proposal.beyond_rate:
            shared = planner.reshared(seen.placement)
            if planner.carries_per_s(shared) >= proposal.carry_per_s:
                return planner.as_plan(shared, seen.alive), True
        return planner.carrying(proposal.carry_per_s, seen.alive, seen.placement), False
    assert proposal.machines is not None  # it wants a change
    return planner.on_machines(proposal.machines, seen.alive, seen.placement), False


def _made(
    seen: Observation,
    state: LoopState,
    proposal: Proposal,
    plan: CapacityPlan,
    wanted: WantedChange,
) -> Decision:
    before = {*seen.placement.machines_used.tolist()}
    after = {*plan.placement.machines_used.tolist()}
    if wanted.shares_only:
        kind = DecisionKind.SHARES
    elif after - before:
        kind = DecisionKind.WAKE
    else:
        kind = DecisionKind.DRAIN if before - after else DecisionKind.PLACEMENT
    offered = seen.offered
    return Decision(
        seen.time_s,
        kind,
        proposal.reason,
        proposal.evidence,
        plan.placement,
        wanted.carries_now_per_s,
        plan.carries_per_s,
        1.0 - offered / max(wanted.carries_now_per_s, 1e-9),
        1.0 - offered / max(plan.carries_per_s, 1e-9),
        len(before),
        len(after),
        wanted.moves,
        0.0 if wanted.shares_only else state.setting.pause_s,
        plan.gap,
        proposal.refused,
    )


def _undone(seen: Observation, state: LoopState) -> tuple[Decision | None, LoopState]:
    """A change that grew and does not carry what was predicted is undone."""
    made = state.open_change
    if made is None or seen.time_s - made.record.time_s < state.rules.judge_after_s:
        return None, state
    state = replace(state, open_change=None)
    record = made.record
    # What a plan carries at most shows only while more waits than it takes.
    at_limit = seen.waiting > seen.offered * state.rules.latency_target_s
    enough = seen.processed >= state.rules.must_keep * record.carries_per_s
    grew = record.carries_per_s > record.carried_before_per_s
    if not (at_limit and grew) or enough or not state.rules.must_keep:
        return None, state
    if not seen.alive[made.before.machine].all() or is_sick(state.detected.active):
        return None, state  # the plan is not to blame
    reason = (
        f"undone: it was to carry {record.carries_per_s:.0f} tuples/s and carries "
        f"{seen.processed:.0f} while tuples wait"
    )
    planner = state.setting.planner
    decision = Decision(
        seen.time_s,
        DecisionKind.PLACEMENT,
        reason,
        (("predicted", record.carries_per_s), ("measured", seen.processed)),
        made.before,
        record.carries_per_s,
        record.carried_before_per_s,
        machines_before=record.machines,
        machines_after=len(made.before.machines_used),
        moves=planner.moves(seen.placement, made.before),
        pause_s=state.setting.pause_s,
    )
    back = ChangeRecord(
        seen.time_s, decision.moves, record.carried_before_per_s, record.carries_per_s,
        decision.machines_after,
    )  # fmt: skip
    return decision, replace(
        state,
        changes=(*state.changes, back),
        useless_per_s=(*state.useless_per_s, record.carries_per_s),
        machines_then=int(seen.alive.sum()),
    )

"""A decision as a plan that an engine can put in force, and as a proposal in the journal."""

from __future__ import annotations

import json
from dataclasses import replace

from penstock.app.plans import kinds_of_losses
from penstock.app.proposals import ChangeProposal, Status, proposal_id
from penstock.app.watching.system import WatchedSystem
from penstock.change.guard import stale
from penstock.control.decision import Decision
from penstock.control.guards import ChangeRecord
from penstock.control.observation import Observation
from penstock.evaluate.predict import predict
from penstock.files.store import dumps, load
from penstock.model.placement import Placement
from penstock.model.plan import Deployed, Plan
from penstock.model.problem import Problem
from penstock.model.snapshot import Snapshot
from penstock.model.terms import Terms
from penstock.planning.contingencies.same_counts import contingencies_same_counts
from penstock.schedulers.base import Budget

#: A load that differs by more than this part from the one that a proposal was made for is another.
_SAME_LOAD = 0.25


def plan_of(
    placement: Placement, system: WatchedSystem, snapshot: Snapshot, policy: str, seed: int = 0
) -> Plan:
    """The placement with what is predicted of it, and where instances go if a machine is lost."""
    problem = system.problem
    predicted, _ = predict(problem, placement)
    there = {m.name for m in snapshot.cluster.machines} - {*snapshot.avoided}
    away = tuple(m.name for m in problem.cluster.machines if m.name not in there)
    reachable = problem.with_terms(Terms(avoid=away)) if away else problem
    lost = contingencies_same_counts(reachable, placement, Budget(), kinds_of_losses(problem))
    return Plan(
        problem, placement, policy, seed=seed, predicted=predicted, if_lost=lost,
        deployed=_deployed(problem, snapshot),
    )  # fmt: skip


def proposal_of(
    decision: Decision, plan: Plan, status: Status, seen: Observation
) -> ChangeProposal:
    """What is written down before anything is touched."""
    text = dumps(plan)
    return ChangeProposal(
        proposal_id(text, decision.time_s), decision.time_s, decision.kind.value, decision.reason,
        decision.moves, decision.machines_after, seen.offered, decision.rate_after_per_s,
        decision.rate_before_per_s, status, decision.time_s, plan=text,
    )  # fmt: skip


def proposed_plan(proposal: ChangeProposal) -> Plan:
    """The very plan that was proposed."""
    plan = load(json.loads(proposal.plan or "null"))
    assert isinstance(plan, Plan)
    return plan


def record_of(proposal: ChangeProposal, time_s: float) -> ChangeRecord:
    """The change as guard rails remember it."""
    return ChangeRecord(
        time_s, proposal.moves, proposal.carries_per_s, proposal.carried_before_per_s,
        proposal.machines,
    )  # fmt: skip


def expired(proposal: ChangeProposal, seen: Observation, snapshot: Snapshot, lasts_s: float) -> str:
    """Why a proposal does not hold any more; empty if it does."""
    age_s = seen.time_s - proposal.time_s
    if age_s > lasts_s:
        return f"it is {age_s:.0f} s old, {lasts_s:g} s at most"
    if reasons := stale(proposed_plan(proposal), snapshot):
        return "; ".join(reasons)
    if seen.is_known and abs(seen.offered / proposal.offered_per_s - 1.0) > _SAME_LOAD:
        return f"it was made for {proposal.offered_per_s:.0f} tuples/s, and {seen.offered:.0f} come"
    return ""


def on_the_machines_of(plan: Plan, snapshot: Snapshot) -> Plan:
    """The plan stamped with what runs now: put in force again, it is not stale for being so."""
    return replace(plan, deployed=_deployed(plan.problem, snapshot))


def _deployed(problem: Problem, snapshot: Snapshot) -> tuple[Deployed, ...]:
    """Where everything that is planned runs, without what the engine places by itself."""
    mine = snapshot.narrowed({t.name for t in problem.topologies})
    planned = {c.name for t in problem.topologies for c in t.components}
    running = {c.name for t in mine.topologies for c in t.components}
    return mine.without_components(running - planned).deployed

"""What the loop does about sick machines under any policy: plan with their speed, then drain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from penstock.control.decision import Decision, Proposal
from penstock.control.detectors.bank import MachineHealth
from penstock.control.detectors.detector import Detection
from penstock.control.detectors.sick_machine import SickMachine
from penstock.control.observation import Observation
from penstock.control.policy import Setting
from penstock.planning.capacity_plans import CapacityPlanner


def around_the_sick(
    seen: Observation, setting: Setting, healthy: CapacityPlanner, health: MachineHealth | None
) -> tuple[Observation, Setting]:
    """The turn as policies and plans see it: slow machines slow, those that are out not there."""
    planner = healthy if health is None else healthy.at_speeds(health.speed)
    if planner is not setting.planner:
        setting = replace(setting, planner=planner, problem=planner.problem)
    if health is not None and health.out.any():
        seen = replace(seen, alive=seen.alive & ~health.out)
    return seen, setting


def drain(
    seen: Observation, proposal: Proposal, healthy: CapacityPlanner | None
) -> Proposal | None:
    """A plan without machines that are in use and must not be; ``None``: there are none.

    It carries what the one in force was meant to, or what the policy asks for where that is more.
    """
    here = np.unique(seen.placement.machine[~seen.alive[seen.placement.machine]])
    if not len(here) or healthy is None or not seen.settled:
        return None
    names = ", ".join(healthy.problem.cluster.machines[m].name for m in here.tolist())
    meant = healthy.carries_per_s(seen.placement)
    return Proposal(
        f"{names} must not be used any more",
        carry_per_s=max(meant, proposal.carry_per_s or 0.0),
        evidence=proposal.evidence,
        beyond_rate=True,
    )


def is_sick(active: Sequence[Detection]) -> bool:
    """Whether any machine is."""
    return any(d.kind == SickMachine.name for d in active)


def named(decision: Decision, active: Sequence[Detection]) -> Decision:
    """A decision that does something, with what goes on as evidence."""
    if not (decision.acts and active):
        return decision
    evidence = tuple((f"{d.kind} {d.subject}".strip(), d.value) for d in active)
    return replace(decision, evidence=(*decision.evidence, *evidence))

"""What every policy of the loop keeps to, as tests that anyone can run on their own.

Needs pytest (``pip install "penstock[contract]"``)::

    from penstock_bench.contract.policies import PolicyContract

    class TestMine(PolicyContract):
        policy = MyPolicy
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from math import nan
from typing import Any, ClassVar

import numpy as np

from penstock.control.decision import Proposal
from penstock.control.observation import Observation
from penstock.control.policy import Policy, Setting
from penstock.control.recorded_load import RecordedLoad
from penstock.control.rehearsal import RehearsalResult, RehearsalSetting, rehearse
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.planning.capacity_plans import CapacityPlanner
from penstock.schedulers.base import Budget
from penstock_bench.contract.builders import nasiri

_TURN_S = 10.0


@cache
def _planner() -> CapacityPlanner:
    problem: Problem = replace(nasiri("diamond", (4, 4, 4)), weighted=True)
    return CapacityPlanner(problem, levels=25, budget=lambda: Budget(iterations=1))


@cache
def _placement(part: float) -> Placement:
    planner = _planner()
    made = planner.carrying(part * planner.bound_per_s, np.ones(12, dtype=np.bool_))
    assert made is not None
    return made.placement


def seen_at(time_s: float, part: float, *, known: bool = True) -> Observation:
    """A calm moment at a part of the bound, with room for a third more."""
    planner = _planner()
    rate = part * planner.bound_per_s

    def told(value: float) -> tuple[float]:
        return (value if known else nan,)

    return Observation(
        time_s,
        told(rate),
        told(rate),
        told(0.0),
        told(0.01),
        placement=_placement(part / 0.75),
        alive=np.ones(12, dtype=np.bool_),
        cpu=np.full(12, 0.75) if known else None,
    )


class PolicyContract:
    """What every policy keeps to; a subclass named ``Test...`` says which one is tried."""

    policy: ClassVar[type[Policy]]
    parameters: ClassVar[Mapping[str, Any]] = {}

    @classmethod
    def made(cls) -> Policy:
        return cls.policy(**cls.parameters)

    @classmethod
    def proposals(cls, observations: list[Observation]) -> list[Proposal]:
        policy = cls.made()
        planner = _planner()
        setting = Setting(planner.problem, planner, 5.0, 12.0)
        memory, found = policy.start(), []
        for seen in observations:
            proposal, memory = policy.propose(seen, memory, setting)
            found.append(proposal)
        return found

    def test_it_says_who_it_is(self) -> None:
        assert self.policy.name
        assert self.policy.summary
        assert isinstance(self.policy.paper, str)
        declared: Any = self.policy
        assert is_dataclass(declared)
        for field in fields(declared):
            assert field.metadata.get("help"), f"{field.name} has no help"

    def test_the_same_observations_give_the_same_proposals(self) -> None:
        moments = [seen_at(_TURN_S * i, 0.3 + 0.1 * (i > 60)) for i in range(180)]
        assert self.proposals(moments) == self.proposals(moments)

    def test_missing_telemetry_is_not_zero(self) -> None:
        calm = [seen_at(_TURN_S * i, 0.4) for i in range(200)]
        silent = [seen_at(_TURN_S * i, 0.4, known=False) for i in range(200, 260)]
        for proposal in self.proposals([*calm, *silent])[200:]:
            assert not proposal.wants_change

    def test_a_proposal_says_what_it_wants_in_one_way_and_why(self) -> None:
        moments = [seen_at(_TURN_S * i, 0.3 + 0.3 * (i > 100)) for i in range(300)]
        for proposal in self.proposals(moments):
            assert proposal.reason
            wanted = [proposal.carry_per_s, proposal.machines, proposal.placement]
            assert sum(one is not None for one in wanted) <= 1
            if proposal.carry_per_s is not None:
                assert np.isfinite(proposal.carry_per_s)
                assert proposal.carry_per_s > 0

    def test_a_rehearsal_ends_and_the_same_seed_gives_the_same(self) -> None:
        first, second = self.rehearsed(), self.rehearsed()
        assert first.score == second.score
        assert first.decisions == second.decisions

    @classmethod
    def rehearsed(cls) -> RehearsalResult:
        """Two hours with a step up and back."""
        planner = _planner()
        rates = np.array([0.3] * 8 + [0.6] * 8 + [0.3] * 8) * planner.bound_per_s
        load = RecordedLoad("step", rates)
        return rehearse(load, cls.made(), planner, RehearsalSetting(), seed=1)

"""What the loop decides, with its reason; and what a policy proposes before guard rails see it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from math import nan

from penstock.model.placement import Placement


class DecisionKind(StrEnum):
    """What is to be done."""

    NOTHING = "nothing"
    #: New shares, nobody restarts.
    SHARES = "shares"
    #: Other counts or other places on the machines in use.
    PLACEMENT = "placement"
    #: Machines go out of use, what ran there goes elsewhere.
    DRAIN = "drain"
    #: Machines come into use.
    WAKE = "wake"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something that was considered and not done, and the rule that said no."""

    what: str
    rule: str
    why: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a policy wants: a rate to carry, so many machines, or a placement of its own."""

    reason: str
    #: Tuples/s that the plan is to carry.
    carry_per_s: float | None = None
    machines: int | None = None
    placement: Placement | None = None
    #: Numbers that led to it, by name.
    evidence: tuple[tuple[str, float], ...] = ()
    #: What it considered itself and did not propose.
    refused: tuple[Refusal, ...] = ()
    #: Wanted for another reason than what the plan carries, so that no dead band holds it back.
    beyond_rate: bool = False

    @property
    def wants_change(self) -> bool:
        wanted = (self.carry_per_s, self.machines, self.placement)
        return any(one is not None for one in wanted)


#: Most turns end with it.
STAY = Proposal("nothing to do")


@dataclass(frozen=True, slots=True)
class Decision:
    """What is done in one turn, and why. Rates are tuples/s of all topologies together."""

    time_s: float
    kind: DecisionKind
    reason: str
    evidence: tuple[tuple[str, float], ...] = ()
    placement: Placement | None = None
    #: What the plan in force and the new one carry, and how much of that is not needed.
    rate_before_per_s: float = nan
    rate_after_per_s: float = nan
    headroom_before: float = nan
    headroom_after: float = nan
    machines_before: int = 0
    machines_after: int = 0
    #: Instances that move, start or stop.
    moves: int = 0
    pause_s: float = 0.0
    #: How far the new plan's use of machines is from the least that any plan needs.
    gap: float = nan
    refused: tuple[Refusal, ...] = field(default=())
    #: Something a person has to look at.
    calls_for_help: str = ""

    @property
    def restarts(self) -> bool:
        """Whether an instance restarts or moves, or a machine comes or goes."""
        return self.kind not in (DecisionKind.NOTHING, DecisionKind.SHARES)

    @property
    def acts(self) -> bool:
        return self.kind is not DecisionKind.NOTHING

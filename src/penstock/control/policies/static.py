"""``static``: what most people run. The plan it begins with, never changed.

It begins with what carries ``of_highest`` times the highest rate it is told of, or, told of none,
with what runs. Cost: nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from penstock.control.decision import STAY, Proposal
from penstock.control.observation import Observation
from penstock.control.policy import Setting


@dataclass(frozen=True, slots=True)
class StaticPolicy:
    """One plan for all time."""

    name: ClassVar[str] = "static"
    summary: ClassVar[str] = "one plan for the highest rate, never changed"
    paper: ClassVar[str] = ""

    highest_per_s: float = field(
        default=0.0, metadata={"help": "the highest rate to expect; 0: 70 % of the bound"}
    )
    of_highest: float = field(default=1.1, metadata={"help": "what is carried, as a part of it"})

    def start(self) -> bool:
        return False

    def propose(self, seen: Observation, memory: Any, setting: Setting) -> tuple[Proposal, Any]:
        """Once at the beginning."""
        if memory or not (seen.is_known and seen.settled):
            return STAY, memory
        highest = self.highest_per_s or 0.7 * setting.planner.bound_per_s
        wanted = highest * self.of_highest
        return Proposal("the plan for the highest rate", carry_per_s=wanted), True

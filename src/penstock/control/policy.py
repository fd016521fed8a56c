"""What a policy is: a frozen value of parameters that proposes, from what is seen, what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

from penstock.control.decision import Proposal
from penstock.control.observation import Observation
from penstock.control.provenance import ProvenanceData
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.planning.capacity_plans import CapacityPlanner


@dataclass(frozen=True)
class Setting:
    """What a policy knows beside what it sees."""

    problem: Problem
    planner: CapacityPlanner
    #: The longest 95th percentile of latency that is fine.
    latency_target_s: float
    #: How long a change stopped the topology so far; before the first, as the rules say.
    pause_s: float

    def carries_per_s(self, placement: Placement) -> float:
        return self.planner.carries_per_s(placement)


@runtime_checkable
class Policy(Protocol):
    """Parameters are dataclass fields, each with a default and ``metadata={"help": ...}``.

    A policy has no state of its own: what it wants to remember is a value that it returns and gets
    back at the next turn. The same observations give the same proposals.
    """

    name: ClassVar[str]
    #: One sentence for ``penstock rehearse --help``.
    summary: ClassVar[str]
    #: Paper or document whose rules it follows, empty for our own.
    paper: ClassVar[str]

    def start(self) -> Any:
        """What it remembers before the first turn."""
        ...

    def propose(self, seen: Observation, memory: Any, setting: Setting) -> tuple[Proposal, Any]:
        """What to do now, and what to remember."""
        ...


@runtime_checkable
class RecallingPolicy(Protocol):
    """A policy that can begin with what a journal of before teaches."""

    def recalled(self, past: ProvenanceData, setting: Setting) -> Any:
        """What it remembers before the first turn, given the past."""
        ...


def kept_since(
    samples: Sequence[tuple[float, ...]], since_s: float
) -> tuple[tuple[float, ...], ...]:
    """Samples, each beginning with its time, that are not older."""
    first = next((i for i, one in enumerate(samples) if one[0] >= since_s), len(samples))
    return tuple(samples[first:])

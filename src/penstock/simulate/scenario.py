"""A scenario: what arrives, how the engine behaves, and what goes wrong when.

Everything has a default, so that ``Scenario()`` is a calm minute at 0.8 of the sustainable rate.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from penstock.model.plan import Plan
from penstock.simulate.patterns import Pattern, Steady

#: Storm 2's executor receive buffer and message time-out.
STORM_QUEUE = 32_768
STORM_TIMEOUT_S = 30.0


class Shape(StrEnum):
    """Of service times."""

    DETERMINISTIC = "deterministic"
    EXPONENTIAL = "exponential"
    LOGNORMAL = "lognormal"
    EMPIRICAL = "empirical"


@dataclass(frozen=True, slots=True)
class ServiceTime:
    """Variation of a component's service time around the profile's mean."""

    shape: Shape = Shape.EXPONENTIAL
    #: Lognormal: deviation over mean.
    variation: float = 1.0
    #: Empirical: measured times in any unit; only their shape is used.
    samples: tuple[float, ...] = ()


class Arrivals(StrEnum):
    """How tuples follow one another at a given rate."""

    POISSON = "poisson"
    EVEN = "even"


class WhenFull(StrEnum):
    """What a full queue does to its senders."""

    WAIT = "wait"
    DROP = "drop"


class Selectivity(StrEnum):
    """How a selectivity that is no whole number becomes tuples."""

    PROBABILITY = "probability"
    #: Every so many tuples in, one out, as of a window or a join.
    BATCH = "batch"


class Shuffle(StrEnum):
    """Whose shuffle grouping."""

    IN_TURN = "in-turn"
    LOAD_AWARE = "load-aware"


class Sharing(StrEnum):
    """How the busy threads of a full machine divide its CPU."""

    #: All alike, as operating systems do it.
    EQUAL = "equal"
    #: By what the plan expects each to need, as with CPU weights of control groups.
    BY_PLAN = "by-plan"


@dataclass(frozen=True, slots=True)
class Offered:
    """How much arrives. One of the first three says how much a factor of 1 is."""

    #: Part of the plan's sustainable rate.
    of_sustainable: float | None = 0.8
    #: Tuples/s of all topologies together, in the proportions of their demands.
    per_s: float | None = None
    #: As much as goes through: so many tuples are kept in flight, dealt to the spouts by share.
    in_flight: int | None = None
    pattern: Pattern = field(default_factory=Steady)
    arrivals: Arrivals = Arrivals.POISSON


@dataclass(frozen=True, slots=True)
class Slow:
    """A machine runs at a part of its speed."""

    at_s: float
    machine: str
    speed: float
    until_s: float | None = None


@dataclass(frozen=True, slots=True)
class Down:
    """A machine dies with everything on it, and may come back empty."""

    at_s: float
    machine: str
    until_s: float | None = None


@dataclass(frozen=True, slots=True)
class CutOff:
    """A rack loses its connection to all others."""

    at_s: float
    rack: str
    until_s: float | None = None


@dataclass(frozen=True)
class Replace:
    """Another plan takes over: spouts stop, after the pause the new placement starts.

    Tuples at instances that stay where they are stay, too; those at others are lost.
    """

    at_s: float
    plan: Plan
    pause_s: float = 0.0


Change: TypeAlias = Slow | Down | CutOff | Replace


@dataclass(frozen=True)
class Scenario:
    """What is simulated."""

    name: str = "steady"
    duration_s: float = 60.0
    #: Cut off at the beginning; ``None`` leaves it to MSER-5 (:mod:`.warmup`).
    warmup_s: float | None = None
    #: Results over time are kept at this distance.
    sample_s: float = 1.0
    offered: Offered = field(default_factory=Offered)
    service: ServiceTime = field(default_factory=ServiceTime)
    #: By component label, where it differs.
    services: tuple[tuple[str, ServiceTime], ...] = ()
    #: Tuples in an instance's queue; ``None``: no limit.
    queue_limit: int | None = STORM_QUEUE
    when_full: WhenFull = WhenFull.WAIT
    #: Tuples of a spout instance that are not acknowledged yet; ``None``: no limit.
    max_spout_pending: int | None = None
    acking: bool = True
    timeout_s: float = STORM_TIMEOUT_S
    replay: bool = True
    selectivity: Selectivity = Selectivity.PROBABILITY
    shuffle: Shuffle = Shuffle.IN_TURN
    sharing: Sharing = Sharing.EQUAL
    #: So many tuples travel and are handled as one, for speed.
    tuples_per_batch: int = 1
    #: Machines may use what the plan keeps free.
    use_headroom: bool = False
    changes: tuple[Change, ...] = ()

    @property
    def is_steady(self) -> bool:
        """Whether nothing changes during it."""
        return not self.changes and isinstance(self.offered.pattern, Steady)

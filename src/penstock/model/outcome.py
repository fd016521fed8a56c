"""What a scheduler answers: a placement, or what is missing for one."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import quantity
from penstock.model.placement import Placement

#: The resource of a shortfall in what a plan carries.
RATE = "tuples/s"


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Why something could not be placed. "No plan exists" is an answer, not an exception."""

    #: ``memory_mb``, ``cpu_points``, ``slots``, ``instances``, ``tuples/s``.
    resource: str
    needed: float
    available: float
    topology: str = ""
    component: str = ""
    machine: str = ""

    def __str__(self) -> str:
        who = "/".join(part for part in (self.topology, self.component) if part)
        where = f" on {self.machine}" if self.machine else ""
        needed, available = quantity(self.needed), quantity(self.available)
        what = f"needs {needed} {self.resource}, {available} available{where}"
        return f"{who}: {what}" if who else what


@dataclass(frozen=True)
class Outcome:
    """A scheduler's answer. Topologies that were refused have no instance in ``placement``."""

    placement: Placement | None
    shortfalls: tuple[Shortfall, ...] = ()
    #: Rounds of the algorithm's own loop.
    iterations: int = 0
    #: What the reader of the plan must know: assumptions, what was not looked at.
    notes: tuple[str, ...] = ()
    #: An upper bound on the scale proved by the scheduler itself, if it proves one.
    bound_scale: float | None = None
    #: What that bound holds for.
    bound_kind: str = ""
    #: Stopped by the budget or the user before it was done.
    interrupted: bool = False
    #: What was asked for and ``placement``, the best found, does not reach.
    missed: tuple[Shortfall, ...] = ()
    #: Machines that the scheduler puts to sleep, by name: nothing may count on them.
    asleep: tuple[str, ...] = ()
    #: Why no plan can exist, where that is proven; nobody need search.
    impossible: Shortfall | None = None

    @property
    def feasible(self) -> bool:
        return self.placement is not None and not self.shortfalls and not self.missed

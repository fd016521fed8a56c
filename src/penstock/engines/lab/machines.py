"""The machines of a lab: so many points of a core each."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

from penstock.errors import InputError

#: Points of all machines together must leave this much for masters, drivers and Penstock itself.
_LEFT_FOR_OTHERS = 20.0
POINTS_PER_CORE = 100.0


@dataclass(frozen=True, slots=True)
class LabMachine:
    """One machine: machines of the same points are of the same type."""

    name: str
    points: float

    @property
    def type(self) -> str:
        return f"cpu{self.points:g}".replace(".", "_")

    @property
    def cores(self) -> int:
        """Threads that can be busy at once."""
        return max(1, math.ceil(self.points / POINTS_PER_CORE))


def parse_machines(text: str, cores: int | None = None) -> tuple[LabMachine, ...]:
    """``90,50,30``: three machines, m1 to m3."""
    machines: list[LabMachine] = []
    for entry in text.split(","):
        try:
            points = float(entry)
        except ValueError:
            points = math.nan
        if not (math.isfinite(points) and points > 0):
            raise InputError(f'--machines takes points of a core, such as 90,50,30, not "{text}"')
        machines.append(LabMachine(f"m{len(machines) + 1}", points))
    room = POINTS_PER_CORE * (cores or os.cpu_count() or 1)
    asked = sum(machine.points for machine in machines)
    if asked > room - _LEFT_FOR_OTHERS:
        raise InputError(
            f"machines of {asked:g} points in all do not fit: this computer has {room:g}, and "
            f"{_LEFT_FOR_OTHERS:g} are left for the rest"
        )
    return tuple(machines)

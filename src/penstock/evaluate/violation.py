"""One broken limit."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import quantity


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken limit, in words a person acts on."""

    resource: str
    place: str
    needed: float
    available: float

    def __str__(self) -> str:
        needed, available = quantity(self.needed), quantity(self.available)
        return f"{self.place}: {needed} {self.resource}, {available} available"

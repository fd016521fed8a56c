"""One broken limit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken limit, in words a person acts on."""

    resource: str
    place: str
    needed: float
    available: float

    def __str__(self) -> str:
        return f"{self.place}: {self.needed:g} {self.resource}, {self.available:g} available"

"""``dhalion``: symptoms, a diagnosis, a resolution.

Floratou et al., VLDB 2017, doi:10.14778/3137765.3137786. Every ``every_s`` it looks at the metrics
since then. Back-pressure is the symptom of too little: it scales up by 1 + the time spent under
back-pressure over the time without. Nearly empty queues without back-pressure are the symptom of
too much: it scales down by a factor (``down``). A scaling down that is followed by back-pressure
did not help: it is put on the blacklist, as long as the rate is about what it was.

The paper scales the one bolt that is the bottleneck; what we plan has none, so all are scaled.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from penstock.control.decision import STAY, Proposal, Refusal
from penstock.control.observation import Observation
from penstock.control.policy import Setting

#: Tuples of more seconds waiting at the sources say that they are held back.
_HELD_BACK_S = 1.0
#: A rate that differs by less is about what it was.
_ABOUT = 0.1
#: No more than this at once, however long it was held back.
_MOST = 4.0


@dataclass(frozen=True, slots=True)
class DhalionMemory:
    """The stretch that is being looked at, and what is on the blacklist."""

    ends_s: float = float("-inf")
    samples: int = 0
    held_back: int = 0
    tuples: float = 0.0
    #: The rate at which it last scaled down, until the next look.
    shrunk_at: float | None = None
    blacklist: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class DhalionPolicy:
    """Back-pressure up, empty queues down, what did not help not again."""

    name: ClassVar[str] = "dhalion"
    summary: ClassVar[str] = "up on back-pressure, down on empty queues (Dhalion)"
    paper: ClassVar[str] = "Floratou et al. 2017, doi:10.14778/3137765.3137786"

    every_s: float = field(default=300.0, metadata={"help": "seconds between two looks"})
    down: float = field(default=0.8, metadata={"help": "what is carried after scaling down"})

    def start(self) -> DhalionMemory:
        return DhalionMemory()

    def propose(self, seen: Observation, memory: Any, setting: Setting) -> tuple[Proposal, Any]:
        """At each look: symptom, diagnosis, resolution."""
        assert isinstance(memory, DhalionMemory)
        if memory.ends_s == float("-inf"):
            return STAY, replace(memory, ends_s=seen.time_s + self.every_s)
        # A restart is no back-pressure.
        if seen.is_known and seen.settled:
            held = seen.waiting > _HELD_BACK_S * seen.offered
            memory = replace(
                memory,
                samples=memory.samples + 1,
                held_back=memory.held_back + held,
                tuples=memory.tuples + seen.offered,
            )
        if seen.time_s < memory.ends_s or not seen.is_known:
            return STAY, memory
        begun = DhalionMemory(seen.time_s + self.every_s, blacklist=memory.blacklist)
        if not memory.samples:
            return STAY, begun
        rate = memory.tuples / memory.samples
        part = memory.held_back / memory.samples
        carries = setting.carries_per_s(seen.placement)
        evidence = (("rate", rate), ("held back", part), ("carries", carries))
        if part > 0:
            if memory.shrunk_at is not None:
                begun = replace(begun, blacklist=(*begun.blacklist, memory.shrunk_at))
            factor = min(_MOST, 1.0 + part / max(1.0 - part, 1e-9))
            return Proposal("spouts were held back", carries * factor, evidence=evidence), begun
        if any(abs(rate / one - 1.0) < _ABOUT for one in memory.blacklist):
            why = "scaling down at this rate was followed by back-pressure"
            refused = (Refusal("scaling down", "blacklist", why),)
            return Proposal("queues are empty", evidence=evidence, refused=refused), begun
        begun = replace(begun, shrunk_at=rate)
        return Proposal("queues are empty", carries * self.down, evidence=evidence), begun

"""What a report is asked to hold, and what its reader must know beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.files.simulation_file import Simulation
from penstock.model.plan import Plan
from penstock.planning.defaults import DEFAULT_COUNTS_FROM
from penstock.planning.result import PlanResult
from penstock.schedulers import SCHEDULERS
from penstock.schedulers.base import Budget

DEFAULT_RIVALS = ("default", "rstorm", "hetero", "penstock")


def quick_schedulers() -> tuple[str, ...]:
    """All that plan in seconds; ``optimal`` tries everything and may not look at the clock."""
    return tuple(name for name in SCHEDULERS.usable() if name != "optimal")


@dataclass(frozen=True)
class ReportOptions:
    """What a report is to hold besides the plan, and how long that may take."""

    schedulers: Sequence[str] = DEFAULT_RIVALS
    #: Tried besides those, and shown where their plan carries more than the one reported on.
    others: Sequence[str] = ()
    seeds: int = 3
    seed: int = 0
    counts_from: str = DEFAULT_COUNTS_FROM
    before: Plan | None = None
    simulation: Simulation | None = None
    simulate: bool = True
    runs: int = 3
    #: Answers with the first seed that are there already, by scheduler.
    known: Mapping[str, PlanResult] = field(default_factory=dict)
    budget: Callable[[], Budget] = Budget
    stop: Callable[[], bool] = lambda: False
    progress: Callable[[str], None] = lambda _text: None


@dataclass
class ReportRemarks:
    """What the reader must know, gathered on the way."""

    texts: list[str] = field(default_factory=list)

    def __call__(self, text: str) -> None:
        if text not in self.texts:
            self.texts.append(text)

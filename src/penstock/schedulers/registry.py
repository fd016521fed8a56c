"""Schedulers by name: a table for what is built in, entry points for what others install."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import entry_points

from penstock.errors import PenstockError, UnknownNameError
from penstock.schedulers.a3 import A3Scheduler
from penstock.schedulers.ban import BanScheduler
from penstock.schedulers.base import Scheduler
from penstock.schedulers.even import DefaultScheduler
from penstock.schedulers.gr import GrScheduler
from penstock.schedulers.hetero import HeteroScheduler
from penstock.schedulers.isolation import IsolationScheduler
from penstock.schedulers.lcstream.scheduler import LcStreamScheduler
from penstock.schedulers.optimal import OptimalScheduler
from penstock.schedulers.penstock.scheduler import PenstockScheduler
from penstock.schedulers.proportional import ProportionalScheduler
from penstock.schedulers.rstorm import RStormScheduler
from penstock.schedulers.top import TopScheduler
from penstock.schedulers.tsstream import TsStreamScheduler

ENTRY_POINT_GROUP = "penstock.schedulers"

#: What makes a class a scheduler.
_PARTS = ("name", "summary", "paper", "looks", "solve")
_BUILT_IN: tuple[type[Scheduler], ...] = (
    DefaultScheduler,
    IsolationScheduler,
    RStormScheduler,
    TopScheduler,
    A3Scheduler,
    BanScheduler,
    GrScheduler,
    LcStreamScheduler,
    TsStreamScheduler,
    HeteroScheduler,
    OptimalScheduler,
    ProportionalScheduler,
    PenstockScheduler,
)


BUILT_IN = "built in"


@dataclass(frozen=True, slots=True)
class Registered:
    """A scheduler that can be asked for, or why an installed one cannot."""

    name: str
    #: ``built in``, or the distribution it comes from.
    origin: str
    scheduler: type[Scheduler] | None
    problem: str = ""


def registered() -> dict[str, Registered]:
    """All schedulers by name, built-in ones first; an installed one cannot take their names."""
    entries = {s.name: Registered(s.name, BUILT_IN, s) for s in _BUILT_IN}
    for entry in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda e: e.name):
        if entry.name in entries:
            continue
        origin = entry.dist.name if entry.dist else entry.value
        try:
            loaded = entry.load()
        # Whatever a stranger's module does on import must not stop the others.
        except Exception as error:
            entries[entry.name] = Registered(entry.name, origin, None, f"cannot be loaded: {error}")
            continue
        missing = [part for part in _PARTS if not hasattr(loaded, part)]
        problem = f"is not a scheduler: it lacks {', '.join(missing)}" if missing else ""
        entries[entry.name] = Registered(entry.name, origin, None if missing else loaded, problem)
    return entries


def get(name: str) -> type[Scheduler]:
    """The scheduler of that name."""
    entries = registered()
    if name not in entries:
        raise UnknownNameError("scheduler", name, entries)
    chosen = entries[name]
    if chosen.scheduler is None:
        raise PenstockError(f'scheduler "{name}" of {chosen.origin} {chosen.problem}')
    return chosen.scheduler

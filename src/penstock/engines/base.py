"""What an engine is: something that runs topologies, asked and told through one protocol.

An engine is a frozen dataclass whose fields are its options (where it is, whom to ask); the command
line and ``penstock.engine`` fill them in. What it can do is data (:class:`Capabilities`), and what
it cannot do is refused before anything is tried.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

from penstock.planning.defaults import DEFAULT_SCHEDULER

if TYPE_CHECKING:
    from penstock.change.history import Receipt
    from penstock.engines.lab.lab import Lab
    from penstock.engines.lab.machines import LabMachine
    from penstock.engines.publication import Publication
    from penstock.engines.reading import Reading
    from penstock.model.plan import Plan
    from penstock.model.snapshot import Snapshot
    from penstock.model.telemetry import Sample
    from penstock.model.topology import Topology

#: Tells the person something that is no result.
Say: TypeAlias = Callable[[str], None]


class Ability(StrEnum):
    """What may be asked of an engine; the value says it in a message."""

    SNAPSHOT = "say what runs on it"
    PUBLISH = "put a plan in force"
    TELEMETRY = "be measured while it runs"
    RUN = "run a topology from code"
    LAB = "run on a lab of unlike machines"
    DEMO = "show the closed loop on a lab"
    WATCH = "be watched while it runs"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an engine can do, and how it differs from others where a plan is made for it."""

    abilities: frozenset[Ability] = frozenset()
    #: The scheduler that plans for it, unless one is asked for by name.
    scheduler: str = DEFAULT_SCHEDULER
    #: Whether streams are divided by the plan's shares, as weighted groupings are.
    weighted: bool = False
    #: Whether instances can start and end when a machine is lost, and not only move.
    changes_counts: bool = False
    #: Components that it places by itself where a plan does not, such as ackers.
    places_itself: frozenset[str] = frozenset()
    #: What to look at where a cluster has left no telemetry.
    telemetry_hint: str = ""


@dataclass(frozen=True)
class PublishOrder:
    """How a plan is put in force, and who hears of it."""

    say: Say = lambda _text: None
    #: Called before anything is touched, and whenever the receipt says something new.
    keep: Callable[[Receipt], None] = lambda _receipt: None
    #: Seconds that tuples in flight are given.
    wait_s: int = 2
    #: Seconds until the placement must be the plan's; otherwise the old one is put back.
    within_s: float = 120.0
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep


class Session(Protocol):
    """A conversation with a running cluster; it ends with the block that opened it."""

    def snapshot(self) -> Snapshot:
        """Machines, topologies and who runs where, now."""
        ...

    def prepare(self, plan: Plan, snapshot: Snapshot) -> Publication:
        """What putting a plan in force would do; nothing is touched.

        Raises where the plan could not be put in force, or where nobody allowed it.
        """
        ...

    def publish(self, publication: Publication, order: PublishOrder) -> Receipt:
        """Put a plan in force, read the placement back until it is the plan's, or roll back."""
        ...


class WatchSession(Session, Protocol):
    """A conversation that lasts: read every few seconds, and told what to change.

    What was asked once may be lost at any time and found again: each call stands for itself, and
    raises :class:`penstock.engines.publisher.EngineAway` where another try may succeed.

    A plan in which every instance stays where it is and only shares differ is published as any
    other is, and nothing restarts: no step of its publication pauses.
    """

    @property
    def lock(self) -> Path | None:
        """A file beside what is written, where all who change this cluster meet; none: no such."""
        ...

    def reading(self) -> Reading:
        """What runs now, and what telemetry says of it; seldom more than a second of work."""
        ...

    def use(self, machines: Collection[str]) -> None:
        """Have exactly these machines in use, as far as the engine can take others out of use.

        Called before a plan is published with those of the old and of the new one, and afterwards
        with those of the new one. Nothing happens where it is so already.
        """
        ...


@dataclass(frozen=True)
class WatchOrder:
    """How a cluster is watched."""

    say: Say = lambda _text: None
    #: Folders of telemetry; none: where the engine keeps it.
    telemetry: tuple[str, ...] = ()
    #: Rates are means over the newest so many seconds.
    window_s: float = 30.0
    clock: Callable[[], float] = time.time


@dataclass(frozen=True)
class Batch:
    """What one batch of a run did."""

    number: int
    seconds: float
    samples: tuple[Sample, ...]

    def tuples(self, component: str) -> float:
        """How many tuples a component took in, or a spout emitted."""
        mine = [s for s in self.samples if s.component == component]
        return sum(
            s.produced if s.produced is not None else sum(i.tuples for i in s.inputs or ())
            for s in mine
        )

    def rate_per_s(self, component: str) -> float:
        """Tuples/s that a component took in."""
        return self.tuples(component) / self.seconds if self.seconds else 0.0

    def cpu_s(self, component: str) -> float:
        """Seconds of CPU that a component's instances used."""
        mine = [s for s in self.samples if s.component == component]
        return sum((s.cpu_points or 0.0) * s.window_ms for s in mine) / 1e5


@dataclass(frozen=True)
class RunOrder:
    """A topology to run from its code: what, on which input, where to leave what it did."""

    topology: Topology
    folder: Path
    #: The topology's file, where it has one; its code is beside it.
    home: Path | None = None
    code_file: Path | None = None
    #: The source: numbers at a rate, lines of files, or a topic of Kafka's.
    rows_per_batch: int = 20_000
    levels: tuple[float, ...] = (1.0,)
    every_s: float = 0.0
    #: A file of the rates at which numbers are offered, whether they are taken in or not.
    rates: Path | None = None
    files: Path | None = None
    files_per_batch: int = 1
    kafka: str | None = None
    #: Properties of the Kafka client; may hold passwords.
    kafka_client: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: Kept to while it runs; a new file in its place is taken over.
    plan: Path | None = None
    #: Gets what the engine prints; without, it is kept only where the run fails.
    log_file: Path | None = None
    say: Say = lambda _text: None
    on_batch: Callable[[Batch], None] = lambda _batch: None
    #: Asked after every batch.
    stop: Callable[[], bool] = lambda: False


@dataclass(frozen=True)
class ResultRows:
    """The newest rows of a stream that no component takes."""

    stream: str
    #: How many rows there are; the columns hold the first of them.
    total: int
    columns: Mapping[str, Sequence[object]] = field(default_factory=dict)


@dataclass(frozen=True)
class LoopObservation:
    """A run on a lab, watched when it was warm."""

    rate_per_s: float
    batch_s: float
    #: CPU points that each machine used.
    machine_points: Mapping[str, float]


@dataclass(frozen=True)
class ClosedLoopResult:
    """A topology on unlike machines, measured, planned, and run again under the plan."""

    plan: Plan
    machines: tuple[LabMachine, ...]
    rows_per_batch: int
    before: LoopObservation
    after: LoopObservation

    @property
    def gain(self) -> float:
        return self.after.rate_per_s / self.before.rate_per_s - 1


class Engine(Protocol):
    """What every engine has; a subclass writes those methods that its abilities need."""

    name: ClassVar[str]
    #: One sentence for a person who chooses.
    summary: ClassVar[str]
    capabilities: ClassVar[Capabilities]

    def adapt(self, topology: Topology) -> Topology:
        """The topology as this engine runs it, where it differs from what the file says."""
        return topology

    def connect(self, say: Say) -> AbstractContextManager[Session]:
        """Open a conversation with the running cluster (abilities SNAPSHOT and PUBLISH)."""
        raise NotImplementedError

    def watch(self, order: WatchOrder) -> AbstractContextManager[WatchSession]:
        """Open a conversation that lasts (WATCH, which needs SNAPSHOT and PUBLISH)."""
        raise NotImplementedError

    def telemetry(self) -> Sequence[str]:
        """Folders of the telemetry of this cluster, where nobody names them (TELEMETRY)."""
        raise NotImplementedError

    def run(self, order: RunOrder) -> None:
        """Run a topology until told to stop (RUN)."""
        raise NotImplementedError

    def results(self, folder: Path, rows: int) -> Sequence[ResultRows]:
        """The newest results of a run, the first rows of each (RUN)."""
        raise NotImplementedError

    def require_lab(self, say: Say) -> None:
        """Raise unless everything is there that a lab needs; fetch what can be fetched (LAB)."""
        raise NotImplementedError

    def start_lab(self, lab: Lab) -> str:
        """Start the engine on the machines of a lab; its address (LAB)."""
        raise NotImplementedError

    def closed_loop(
        self, topology: Topology, machines: Sequence[LabMachine], seconds: float, say: Say
    ) -> ClosedLoopResult:
        """Run a shipped topology on a lab, measure it, plan it, run it under the plan (DEMO)."""
        raise NotImplementedError


#: The methods that each ability needs.
METHODS: Mapping[Ability, tuple[str, ...]] = {
    Ability.SNAPSHOT: ("connect",),
    Ability.PUBLISH: ("connect",),
    Ability.TELEMETRY: ("telemetry",),
    Ability.RUN: ("run", "results"),
    Ability.LAB: ("require_lab", "start_lab"),
    Ability.DEMO: ("closed_loop",),
    Ability.WATCH: ("watch",),
}


def lacks(engine: Any) -> list[str]:
    """What a class misses of an engine: facts about itself, or methods that its abilities need."""
    missing = [part for part in ("name", "summary", "capabilities") if not hasattr(engine, part)]
    if missing:
        return missing
    abilities = engine.capabilities.abilities
    names = dict.fromkeys(name for ability in sorted(abilities) for name in METHODS[ability])
    missing = [name for name in names if not _is_own(engine, name)]
    return missing if hasattr(engine, "adapt") else [*missing, "adapt"]


def _is_own(engine: type, name: str) -> bool:
    """Whether a class has a method of its own, and not the one that does nothing."""
    own = getattr(engine, name, None)
    return own is not None and own is not getattr(Engine, name)

"""A run that keeps to a plan: placed as it says, replaced with it, going on when machines are lost.

The plan file is looked at before every batch; a new plan takes effect between two, once executors
are up at places that are new, which start while batches go on. A place that loses its last executor
ends Spark's session: what is left of the plan goes on from the checkpoint in a new one, and nothing
moves back until a new plan says so. So does a plan that leaves the machine that reads the input.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from penstock.engines.base import Batch
from penstock.engines.lab.process_identity import ProcessIdentity
from penstock.engines.spark.code import Code
from penstock.engines.spark.deployment import Deployment, PlaceBy
from penstock.engines.spark.losses import part_left, without_machines
from penstock.engines.spark.placement import (
    NobodyThere,
    Places,
    reader_of,
    require_placeable,
    settings,
)
from penstock.engines.spark.run_status import BatchStatus, RunStatus, write_status
from penstock.engines.spark.runner import LOST_AFTER_S, PlaceLost, Runner
from penstock.engines.spark.session import say_ui_address, spark_session
from penstock.engines.spark.sources import Source
from penstock.errors import InputError, PenstockError
from penstock.files.store import load
from penstock.model.plan import Plan
from penstock.model.topology import Kind, Topology

_ID_DIGITS = 8


def load_plan(path: Path, topology: Topology) -> Plan:
    """A plan for a topology, or an error that says why it is none."""
    plan = load(str(path))
    if not isinstance(plan, Plan):
        raise InputError(f"{path} is a {type(plan).__name__.lower()}, not a plan")
    planned = next((t for t in plan.problem.topologies if t.name == topology.name), None)
    if planned is None:
        names = ", ".join(t.name for t in plan.problem.topologies)
        raise InputError(f'{path} has no topology "{topology.name}"; it has {names}')
    wanted, there = _running(topology), _running(planned)
    if wanted != there:
        differ = ", ".join(sorted(wanted ^ there))
        raise InputError(f"{path} was made for another {topology.name}: they differ in {differ}")
    return plan


def plan_id_of(content: bytes) -> str:
    """A plan file's content, in a few digits."""
    return hashlib.sha256(content).hexdigest()[:_ID_DIGITS]


def _running(topology: Topology) -> set[str]:
    return {c.name for c in topology.components if c.kind is not Kind.ACKER}


@dataclass(frozen=True)
class _ComingPlan:
    """A plan whose new places are being made ready."""

    id: str
    plan: Plan
    ready: Future[None]


@dataclass
class PlanInForce:
    """The plan of a run, as its file has it now, without what is lost."""

    path: Path
    topology: Topology
    place_by: PlaceBy
    say: Callable[[str], None]
    lost: set[str] = field(default_factory=set)
    #: By hash of their files: the one in force, and the last that was refused, with the reason.
    id: str = ""
    refused: tuple[str, str] = ("", "")
    _seen: tuple[int, int] | None = None
    _plan: Plan | None = None
    _coming: _ComingPlan | None = None

    def __post_init__(self) -> None:
        self._seen = self._state()
        self.id, self._plan = self._read()

    @property
    def plan(self) -> Plan:
        assert self._plan is not None
        return without_machines(self._plan, self.lost)

    @property
    def deployment(self) -> Deployment:
        return Deployment.of(self.plan, self.topology.name, self.place_by)

    @property
    def machines_per_place(self) -> int:
        """The most machines of one place there are."""
        if self.place_by is not PlaceBy.TYPE:
            return 1
        return int(self.plan.problem.cluster.machines_per_type.max())

    @property
    def is_coming(self) -> bool:
        """Whether a new plan waits for its places."""
        return self._coming is not None

    def look(self, places: Places) -> bool:
        """Whether a new plan is followed from now on; one that cannot be is refused, and told.

        Its new places are made ready meanwhile; nobody waits for them.
        """
        if (state := self._state()) != self._seen:
            self._seen = state
            self._begin(places)
        coming = self._coming
        if coming is None or not coming.ready.done():
            return False
        self._coming = None
        if (error := coming.ready.exception()) is not None:
            if not isinstance(error, PenstockError):
                raise error
            self._refuse(coming.id, error)
            return False
        self.id, self._plan, self.lost = coming.id, coming.plan, set()
        self.say(f"following the new plan of {self.path}")
        return True

    def begin_anew(self) -> None:
        """In a new session: a plan that was still waiting for its places is read once more."""
        if self._coming is not None:
            self._coming = self._seen = None

    def _begin(self, places: Places) -> None:
        """Read the new plan, and have executors started where it needs them."""
        self._coming, number = None, self._file_id()
        try:
            number, plan = self._read()
            deployment = Deployment.of(plan, self.topology.name, self.place_by)
        except (PenstockError, OSError) as error:
            self._refuse(number, error)
            return
        ready: Future[None] = Future()
        if places.missing(deployment):
            threads = ThreadPoolExecutor(1, "places")
            ready = threads.submit(places.reach, deployment)
            threads.shutdown(wait=False)
        else:
            ready.set_result(None)
        self._coming = _ComingPlan(number, plan, ready)

    def _refuse(self, number: str, error: Exception) -> None:
        self.refused = (number, str(error))
        self.say(f"the new plan was refused, the previous one stays in force: {error}")

    def lose(self, places: list[str]) -> None:
        """Go on without the machines of places that are gone."""
        machines = self.plan.problem.cluster.machines
        gone = {m.name for m in machines if places and _place(m, self.place_by) in places}
        whole = self.plan
        self.lost |= gone
        left = part_left(whole, self.plan)
        self.say(
            f"lost {', '.join(sorted(gone))}: going on with the rest, which carries "
            f"{100 * left:.0f} % of what the plan did"
        )

    def _read(self) -> tuple[str, Plan]:
        """The plan and its number; of one that is replaced meanwhile, the later one."""
        while True:
            number = self._file_id()
            plan = load_plan(self.path, self.topology)
            if self._file_id() == number:
                return number, plan

    def _file_id(self) -> str:
        return plan_id_of(self.path.read_bytes()) if self.path.exists() else ""

    def _state(self) -> tuple[int, int] | None:
        try:
            status = self.path.stat()
        except OSError:
            return self._seen  # being replaced, or gone: the plan we have stays in force
        return status.st_mtime_ns, status.st_size


def _place(machine: object, place_by: PlaceBy) -> str:
    return str(getattr(machine, "type" if place_by is PlaceBy.TYPE else "name"))


@dataclass
class PlannedRun:
    """A topology on a cluster under a plan, whatever happens to the machines."""

    master: str
    topology: Topology
    code: Code
    source: Source
    folder: Path
    in_force: PlanInForce
    on_batch: Callable[[Batch], None]
    say: Callable[[str], None]
    every_s: float = 0.0
    lost_after_s: float = LOST_AFTER_S
    config: Mapping[str, str] = field(default_factory=dict)
    log_file: Path | None = None
    clock: Callable[[], float] = time.time
    _status: RunStatus = field(init=False)
    #: The session has to end, because the machine that reads the input is out of use.
    _must_move: bool = False
    #: The next batch is the first after a change.
    _has_changed: bool = False

    def __post_init__(self) -> None:
        me = ProcessIdentity.of(os.getpid())
        assert me is not None
        self._status = RunStatus(
            self.topology.name,
            f"{self.topology.name}-{me.pid}-{self.clock():.0f}",
            self.master,
            self.in_force.place_by.value,
            str(self.in_force.path.absolute()),
            me.pid,
            me.started,
        )

    def run(self, stop: Callable[[], bool]) -> None:
        """Until told to stop; in a session after another where machines are lost."""
        self.folder.mkdir(parents=True, exist_ok=True)
        doing = "it starts"
        while True:
            self._tell(doing)
            doing = self._in_one_session(stop)
            if not doing or stop():
                return
            self._has_changed = True

    def _in_one_session(self, stop: Callable[[], bool]) -> str:
        """Why another session has to follow; nothing if the run has come to its end."""
        deployment = self.in_force.deployment
        require_placeable(self.master, deployment)
        config = settings(deployment, self.in_force.machines_per_place) | dict(self.config)
        with spark_session(self.master, config=config, log_file=self.log_file) as spark:
            say_ui_address(spark, self.say)
            places = Places(spark, reader_of(deployment))
            try:
                places.adopt(deployment)
            except NobodyThere as nobody:
                if not self.in_force.lost:
                    raise
                # After one loss another one is likelier than a mistake.
                self.in_force.lose(nobody.places)
                return self._without_lost
            self.in_force.begin_anew()
            self._must_move = False
            self._tell("")
            runner = Runner(
                spark, self.topology, self.code, self.source, self.folder,
                partial(self._deployment, places), self.on_batch, places,
                lost_after_s=self.lost_after_s, every_s=self.every_s, on_status=self._after_batch,
                clock=self.clock,
            )  # fmt: skip
            try:
                runner.run(lambda: self._must_move or stop())
            except PlaceLost as lost:
                self.in_force.lose(lost.places)
                return self._without_lost
        return "another machine is to read the input" if self._must_move else ""

    @property
    def _without_lost(self) -> str:
        return f"it goes on without {', '.join(sorted(self.in_force.lost))}"

    def _deployment(self, places: Places) -> Deployment:
        changed = self.in_force.look(places)
        deployment = self.in_force.deployment
        if changed:
            places.use(deployment)
            self._has_changed = True
            self._must_move = places.reader not in deployment.places
        waits = "executors of the new plan start" if self.in_force.is_coming else ""
        if changed or waits != self._status.doing:
            self._tell(waits)
        return deployment

    def _after_batch(self, batch: BatchStatus) -> None:
        if self._has_changed and self._status.batches:
            pause = batch.ended_s - batch.seconds - self._status.batches[-1].ended_s
            self._status = replace(self._status, paused_s=max(0.0, pause))
        self._has_changed = False
        self._status = self._status.after(batch)
        self._tell(self._status.doing)

    def _tell(self, doing: str) -> None:
        """Leave word for whoever watches."""
        now = self.in_force
        places = {
            component: tuple(
                (p.machine, p.slot, part.share)
                for p, part in zip(
                    now.plan.places[self.topology.name, component], parts, strict=True
                )
            )
            for component, parts in now.deployment.instances.items()
        }
        self._status = replace(
            self._status, plan_id=now.id, refused_id=now.refused[0], refusal=now.refused[1],
            places=places, lost=tuple(sorted(now.lost)), doing=doing,
        )  # fmt: skip
        write_status(self.folder, self._status)

"""A run that keeps to a plan: placed as it says, replaced with it, going on when machines are lost.

The plan file is looked at before every batch; a new plan takes effect between two. A place that
loses its last executor ends Spark's session: what is left of the plan goes on from the checkpoint
in a new one, and nothing moves back until a new plan says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from penstock.engines.base import Batch
from penstock.engines.spark.code import Code
from penstock.engines.spark.deployment import Deployment, PlaceBy
from penstock.engines.spark.losses import part_left, without_machines
from penstock.engines.spark.placement import Places, require_placeable, settings
from penstock.engines.spark.runner import LOST_AFTER_S, PlaceLost, Runner
from penstock.engines.spark.session import say_ui_address, spark_session
from penstock.engines.spark.sources import Source
from penstock.errors import InputError, PenstockError
from penstock.files.store import load
from penstock.model.plan import Plan
from penstock.model.topology import Kind, Topology


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


def _running(topology: Topology) -> set[str]:
    return {c.name for c in topology.components if c.kind is not Kind.ACKER}


@dataclass
class PlanInForce:
    """The plan of a run, as its file has it now, without what is lost."""

    path: Path
    topology: Topology
    place_by: PlaceBy
    say: Callable[[str], None]
    lost: set[str] = field(default_factory=set)
    _seen: tuple[int, int] | None = None
    _plan: Plan | None = None

    def __post_init__(self) -> None:
        self._seen = self._state()
        self._plan = load_plan(self.path, self.topology)

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

    def look(self, adopt: Callable[[Deployment], None]) -> None:
        """Take over a new plan, if there is one and it can be followed; say why if it cannot."""
        if (state := self._state()) == self._seen:
            return
        self._seen = state
        before, lost = self._plan, self.lost
        try:
            self._plan, self.lost = load_plan(self.path, self.topology), set()
            adopt(self.deployment)
        except (PenstockError, OSError) as error:
            self._plan, self.lost = before, lost
            self.say(f"the new plan was refused, the previous one stays in force: {error}")
        else:
            self.say(f"following the new plan of {self.path}")

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

    def run(self, stop: Callable[[], bool]) -> None:
        while True:
            deployment = self.in_force.deployment
            require_placeable(self.master, deployment)
            config = settings(deployment, self.in_force.machines_per_place) | dict(self.config)
            with spark_session(self.master, config=config, log_file=self.log_file) as spark:
                say_ui_address(spark, self.say)
                places = Places(spark)
                places.adopt(deployment)
                runner = Runner(
                    spark, self.topology, self.code, self.source, self.folder,
                    partial(self._deployment, places), self.on_batch, places,
                    lost_after_s=self.lost_after_s, every_s=self.every_s,
                )  # fmt: skip
                try:
                    runner.run(stop)
                except PlaceLost as lost:
                    self.in_force.lose(lost.places)
                    if stop():
                        return
                else:
                    return

    def _deployment(self, places: Places) -> Deployment:
        self.in_force.look(places.adopt)
        return self.in_force.deployment

"""Apache Storm as an engine: asked through Nimbus or its UI, told through Nimbus."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from penstock.change.history import Receipt
from penstock.engines.base import (
    Ability,
    Capabilities,
    Engine,
    PublishOrder,
    Say,
    Session,
    WatchOrder,
    WatchSession,
)
from penstock.engines.lab import keeper
from penstock.engines.publication import Publication
from penstock.engines.storm.bridge import Bridge, open_bridge
from penstock.engines.storm.from_nimbus import read_nimbus
from penstock.engines.storm.from_ui import ask_ui, read_ui
from penstock.engines.storm.home import find_home
from penstock.engines.storm.lab_topology import telemetry_pattern
from penstock.engines.storm.permission import Permission, plan_file_of
from penstock.engines.storm.plans_in_force import names_in
from penstock.engines.storm.publish import parts_beside, prepare, publisher, read_plan_file
from penstock.engines.storm.snapshot import ACKER, snapshot_of
from penstock.engines.storm.watch import StormWatch
from penstock.errors import Finding, InputError, UsageError
from penstock.files.machine_types import load_machine_types
from penstock.model.plan import Plan
from penstock.model.snapshot import Snapshot
from penstock.system.file_lock import locked

if TYPE_CHECKING:
    from penstock.engines.lab.lab import Lab


@dataclass(frozen=True)
class StormEngine(Engine):
    """One Storm: that of a Nimbus, of a client's settings, behind a UI, or the lab's."""

    name: ClassVar[str] = "storm"
    summary: ClassVar[str] = "Apache Storm: who runs there, plans put in force, telemetry"
    capabilities: ClassVar[Capabilities] = Capabilities(
        frozenset(
            {Ability.SNAPSHOT, Ability.PUBLISH, Ability.TELEMETRY, Ability.WATCH, Ability.LAB}
        ),
        places_itself=frozenset({ACKER}),
        telemetry_hint="is penstock.storm.TelemetryReporter in the topology's "
        "topology.metrics.reporters? Its files appear after a minute",
    )

    nimbus: str | None = field(default=None, metadata={"help": "Nimbus, host or host:port"})
    ui: str | None = field(default=None, metadata={"help": "address of the UI, which is read-only"})
    storm_yaml: Path | None = field(default=None, metadata={"help": "storm.yaml of a client"})
    types: Path | None = field(
        default=None, metadata={"help": "file of machine types, `host: type` per line"}
    )
    plan_file: Path | None = field(
        default=None, metadata={"help": "where Nimbus' plan file is mounted here"}
    )

    def __post_init__(self) -> None:
        for name in ("storm_yaml", "types", "plan_file"):
            path = getattr(self, name)
            object.__setattr__(self, name, None if path is None else Path(path))
        ways = [self.nimbus, self.ui, self.storm_yaml]
        if sum(value is not None for value in ways) > 1:
            raise UsageError("give one of --nimbus, --ui and --storm-yaml")
        if self.storm_yaml is not None and not self.storm_yaml.is_file():
            raise InputError(Finding("cannot be read: there is no such file", str(self.storm_yaml)))
        if self.storm_yaml is not None and self.storm_yaml.name != "storm.yaml":
            message = "must be called storm.yaml, because Storm's client looks for that name"
            raise InputError(Finding(message, str(self.storm_yaml)))

    @contextmanager
    def connect(self, say: Say) -> Iterator[Session]:
        if self.ui is not None:
            yield StormUi(self.ui, self.machine_types)
            return
        with self._bridge(say) as bridge:
            yield StormSession(bridge, self.machine_types, self.plan_file)

    @contextmanager
    def watch(self, order: WatchOrder) -> Iterator[WatchSession]:
        if self.ui is not None:
            raise UsageError("the UI is too slow to be watched; use --nimbus or --storm-yaml")
        folders = order.telemetry or self._lab_telemetry()
        with self._bridge(order.say) as bridge:
            types = self.machine_types
            session = StormSession(bridge, types, self.plan_file)
            plan_file = Permission.asked(bridge, self.plan_file).plan_file
            yield StormWatch(session, bridge, types, plan_file, order, folders)

    @contextmanager
    def _bridge(self, say: Say) -> Iterator[Bridge]:
        settings = self.storm_yaml or (self._of_the_lab(say) if self.nimbus is None else None)
        folder = settings.absolute().parent if settings else None
        with open_bridge(self.nimbus, conf_dir=folder) as bridge:
            yield bridge

    def _lab_telemetry(self) -> Sequence[str]:
        """Where the lab's topologies report, those to come too."""
        lab = keeper.find(self.name)
        return self.telemetry() if lab is None else (telemetry_pattern(Path(lab.folder)),)

    def telemetry(self) -> Sequence[str]:
        lab = keeper.find(self.name)
        if lab is None:
            raise UsageError(
                "name the folder of the reporter's files with --telemetry: penstock.telemetry.dir "
                "of the topologies, or the workers' log folders (docs/storm.md)"
            )
        folders = sorted({str(file.parent) for file in Path(lab.folder).rglob("*.jsonl")})
        if not folders:
            raise InputError(f"the lab has no telemetry yet below {lab.folder}")
        return folders

    def require_lab(self, say: Say) -> None:
        find_home(os.environ, say=say)

    def start_lab(self, lab: Lab) -> str:
        from penstock.engines.storm.lab import start_lab

        return start_lab(lab)

    @property
    def machine_types(self) -> Mapping[str, str] | None:
        return load_machine_types(self.types) if self.types else None

    def _of_the_lab(self, say: Say) -> Path | None:
        """Where nobody says which Storm is meant, the lab that is up here."""
        if any(name in os.environ for name in ("STORM_CONF_DIR", "STORM_HOME")):
            return None
        lab = keeper.find(self.name)
        if lab is None or not lab.address:
            return None
        say("the Storm of the lab that is up here (penstock lab status --engine storm)")
        return Path(lab.address)


@dataclass(frozen=True)
class StormSession:
    """A Storm whose Nimbus is asked and told over a bridge."""

    bridge: Bridge
    machine_types: Mapping[str, str] | None
    #: As the operator names it; else the storm.yaml here must say the same as Nimbus.
    plan_file: Path | None = None

    def snapshot(self) -> Snapshot:
        return snapshot_of(read_nimbus(self.bridge), self.machine_types)

    def prepare(self, plan: Plan, snapshot: Snapshot) -> Publication:
        _, path = self._allowed(snapshot)
        publication = prepare(plan, snapshot)
        parts = parts_beside(publication, read_plan_file(path))
        return replace(publication, beside=tuple(names_in(parts)))

    def publish(self, publication: Publication, order: PublishOrder) -> Receipt:
        permission, path = self._allowed(publication.snapshot)
        writer = publisher(self.bridge, path, order, permission, self.machine_types)
        # A person and the loop may both want to, at the same time.
        with locked(path.with_name(f"{path.name}.lock"), "another publication"):
            return writer.publish(publication)

    def _allowed(self, snapshot: Snapshot) -> tuple[Permission, Path]:
        """What may be written, and where Nimbus reads the plan."""
        permission = Permission.asked(self.bridge, self.plan_file)
        return permission, plan_file_of(snapshot, permission, self.plan_file)


@dataclass(frozen=True)
class StormUi:
    """A Storm seen through its UI, which cannot be told anything."""

    url: str
    machine_types: Mapping[str, str] | None

    def snapshot(self) -> Snapshot:
        return snapshot_of(read_ui(ask_ui(self.url), self.url), self.machine_types)

    def prepare(self, plan: Plan, snapshot: Snapshot) -> Publication:
        raise UsageError("the UI is read-only; use --nimbus or --storm-yaml")

    def publish(self, publication: Publication, order: PublishOrder) -> Receipt:
        raise UsageError("the UI is read-only; use --nimbus or --storm-yaml")

"""A plan written for a running Storm, and the orders that make Storm take it up.

The plan file is replaced in one step; what it said of other topologies goes along. Then each
topology that changes is rebalanced: Storm stops its spouts, gives every executor its new place, and
restarts the workers whose executors are others. :mod:`penstock.engines.publisher` waits for it, and
goes back if it does not come.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from penstock.engines.base import PublishOrder
from penstock.engines.publication import Publication, PublicationStep
from penstock.engines.publication import prepare as prepare_publication
from penstock.engines.publisher import EngineAway, NotFollowed, PlanRecord, Publisher
from penstock.engines.storm.bridge import Bridge, BridgeError
from penstock.engines.storm.from_nimbus import read_nimbus
from penstock.engines.storm.permission import SHARES_FOLDERS, Permission
from penstock.engines.storm.plans_in_force import PlanPart, parts_in_force, plan_file_text
from penstock.engines.storm.snapshot import ACKER, snapshot_of
from penstock.files.writer import write_text
from penstock.model.plan import Places, Plan
from penstock.model.snapshot import Snapshot

__all__ = ["SHARES_FILE", "NotFollowed", "StormPlanWriter", "prepare", "publisher"]

_LOOK_EVERY_S = 1.0
#: Workers that are just starting are given this long before they are moved.
_START_WITHIN_S = 60.0
#: From the order to the new assignment, and a worker's start, as measured on a quiet machine.
_RESTART_S = 3.0 + 8.0
_ID_DIGITS = 8
#: The setting of a topology that says where its workers read shares.
SHARES_FILE = "penstock.shares.file"


def prepare(plan: Plan, snapshot: Snapshot) -> Publication:
    """What would change; nothing is touched. Ackers are the plugin's, unless they are planned."""
    return prepare_publication(plan, snapshot, places_itself=(ACKER,), restart_s=_RESTART_S)


def publisher(
    bridge: Bridge,
    plan_file: Path,
    order: PublishOrder,
    permission: Permission | None = None,
    machine_types: Mapping[str, str] | None = None,
) -> Publisher:
    """What puts a plan in force on the Storm behind a bridge."""
    allowed = Permission() if permission is None else permission
    return Publisher(StormPlanWriter(bridge, plan_file, order, allowed, machine_types), order)


@dataclass
class StormPlanWriter:
    """The plan file of Nimbus, shares for workers, and rebalances."""

    name: ClassVar[str] = "storm"

    bridge: Bridge
    plan_file: Path
    order: PublishOrder
    permission: Permission = field(default_factory=Permission)
    #: By host, machine or supervisor id, as given when the snapshot was taken.
    machine_types: Mapping[str, str] | None = None
    #: The plan file from before, and its parts for topologies that are not planned anew.
    _file_before: bytes | None = None
    _beside: list[PlanPart] = field(default_factory=list)

    def settle(self, publication: Publication) -> None:
        """Wait for executors that have not reported yet.

        A supervisor that is told to end a worker before that has written down its process leaves it
        running: it keeps its port, and the worker that should take its place cannot start.
        """
        topologies = {step.topology for step in publication.steps if step.pauses}
        deadline = self.order.clock() + _START_WITHIN_S
        is_said = False
        while self.order.clock() < deadline:
            starting = {
                t.name
                for t in read_nimbus(self.bridge, topologies).topologies
                if any(e.uptime_s <= 0 for e in t.executors)
            }
            if not starting:
                return
            if not is_said:
                names = ", ".join(sorted(starting))
                self.order.say(f"workers of {names} are starting; waiting for them")
                is_said = True
            self.order.sleep(_LOOK_EVERY_S)

    def begin(self, publication: Publication) -> PlanRecord:
        self._file_before = read_plan_file(self.plan_file)
        self._beside = parts_beside(publication, self._file_before)
        text = plan_file_text(publication.plan, self._beside)
        backup = self.plan_file.with_name(self.plan_file.name + ".before")
        if self._file_before is not None:
            write_text(backup, _text(self._file_before))
        return PlanRecord(
            plan_id=hashlib.sha256(text.encode()).hexdigest()[:_ID_DIGITS],
            plan_file=str(self.plan_file),
            backup=str(backup) if self._file_before is not None else "",
        )

    def write(self, plan: Plan) -> list[str]:
        write_text(self.plan_file, plan_file_text(plan, self._beside))
        return self._bring_shares(plan)

    def move(self, step: PublicationStep, deadline: float) -> str:
        """Nimbus takes no order while another is under way."""
        while True:
            try:
                self.bridge.ask(
                    "rebalance",
                    name=step.topology,
                    wait_s=self.order.wait_s,
                    # As many as the plan has: with fewer than it asks for, Storm's own scheduler
                    # would move everything as soon as the plan is gone.
                    workers=step.workers,
                    executors=dict(step.executors) or None,
                )
            except BridgeError as error:
                if error.kind not in ("failed", "not-reached") or self.order.clock() > deadline:
                    return str(error)
                self.order.sleep(_LOOK_EVERY_S)
            else:
                return ""

    def snapshot(self, topologies: Mapping[str, Places]) -> Snapshot:
        try:
            return snapshot_of(read_nimbus(self.bridge, topologies), self.machine_types)
        except BridgeError as error:
            raise EngineAway(str(error)) from None

    def restore(self, publication: Publication, *, settled: bool) -> list[str]:
        """The plan file from before, and its shares."""
        if self._file_before is not None and settled:
            write_text(self.plan_file, _text(self._file_before))
        trouble = self._bring_shares(publication.plan)
        if self._file_before is None and settled and not trouble:
            self.plan_file.unlink(missing_ok=True)
        return trouble

    def _bring_shares(self, plan: Plan) -> list[str]:
        """Workers read shares where their topology says: from a file, or from a blob of Storm's.

        They get what the plan file says now. What went wrong, or nothing.
        """
        if not plan.placement.has_shares:
            return []
        try:
            running = {t["name"]: t["id"] for t in self.bridge.ask("cluster")["topologies"]}
            for topology in plan.problem.topologies:
                if topology.name not in running:
                    return [f"{topology.name} does not run any more"]
                self._bring_shares_to(topology.name, running[topology.name])
        except (BridgeError, OSError) as error:
            return [f"the shares could not be brought to the workers: {error}"]
        return []

    def _bring_shares_to(self, name: str, run: str) -> None:
        settings = self.bridge.ask("topology", topology=run)
        path = settings.get(SHARES_FILE)
        if path is None:
            self.order.say(f"{name} has no {SHARES_FILE}: its streams stay divided evenly")
            return
        blobs = (settings.get("topology.blobstore.map") or {}).items()
        key = next((k for k, blob in blobs if (blob or {}).get("localname", k) == path), None)
        if key is not None:
            self.bridge.ask("put-blob", key=key, file=str(self.plan_file.absolute()))
        elif Path(path) == self.plan_file:
            return
        elif file := self.permission.shares_file(path):
            write_text(file, self.plan_file.read_text(encoding="utf-8"))
        else:
            self.order.say(
                f"{name} reads its shares from {path}, which was not written: copy the plan there "
                f"on every worker's machine, name its folder here in {SHARES_FOLDERS} of "
                "storm.yaml, or have the topology map a blob (docs/storm.md)"
            )


def read_plan_file(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def parts_beside(publication: Publication, file_before: bytes | None) -> list[PlanPart]:
    """What the plan file from before says of topologies that this plan does not name."""
    planned = {t.name for t in publication.plan.problem.topologies}
    return parts_in_force(file_before, publication.running, planned)


def _text(content: bytes) -> str:
    return content.decode("utf-8", errors="replace")

"""A Storm that is watched: Nimbus asked and telemetry read every few seconds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from penstock.change.guard import differences
from penstock.change.history import Receipt
from penstock.engines.base import PublishOrder, Session, WatchOrder
from penstock.engines.publication import Publication
from penstock.engines.publisher import EngineAway
from penstock.engines.reading import Reading
from penstock.engines.storm.bridge import Bridge, BridgeError
from penstock.engines.storm.from_nimbus import read_nimbus
from penstock.engines.storm.reading import reading_of
from penstock.engines.storm.snapshot import snapshot_of
from penstock.errors import InputError, UsageError
from penstock.files.store import load
from penstock.model.plan import Plan
from penstock.model.snapshot import Snapshot
from penstock.telemetry.kafka import PREFIX as KAFKA_PREFIX
from penstock.telemetry.newest_lines import NewestLines

#: A plan file may hold a large cluster; more than this is not read every few seconds.
_MOST_PLAN_BYTES = 64 << 20

#: A bridge that fails so often is started anew: it logs in again, and asks for the leader again.
_FRESH_AFTER = 6

Shares = Mapping[tuple[str, str], tuple[float, ...]]


@dataclass
class StormWatch:
    """A conversation with a Storm that lasts."""

    session: Session
    bridge: Bridge
    machine_types: Mapping[str, str] | None
    #: Where the plan in force is, as far as the operator's own settings say.
    plan_file: Path | None
    order: WatchOrder
    telemetry: Sequence[str]
    _lines: NewestLines = field(init=False)
    #: Readings that failed, one after another.
    _failed: int = 0
    _plan: Plan | None = None
    _plan_stamp: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if any(folder.startswith(KAFKA_PREFIX) for folder in self.telemetry):
            raise UsageError(
                "the watcher reads telemetry from files, not from Kafka: name folders with "
                "--telemetry, and leave the topic to penstock profile --follow"
            )
        # Twice as long, so that windows that end late are there when their time is looked at.
        self._lines = NewestLines(self.telemetry, 2 * self.order.window_s)

    @property
    def lock(self) -> Path | None:
        file = self.plan_file
        if file is None or not file.parent.is_dir():
            return None
        return file.with_name(f"{file.name}.watcher")

    def snapshot(self) -> Snapshot:
        return self.session.snapshot()

    def prepare(self, plan: Plan, snapshot: Snapshot) -> Publication:
        return self.session.prepare(plan, snapshot)

    def publish(self, publication: Publication, order: PublishOrder) -> Receipt:
        return self.session.publish(publication, order)

    def reading(self) -> Reading:
        try:
            seen = read_nimbus(self.bridge)
        except BridgeError as error:
            self._failed += 1
            if self._failed % _FRESH_AFTER == 0:
                self.bridge.close()
            raise EngineAway(str(error)) from None
        self._failed = 0
        snapshot = snapshot_of(seen, self.machine_types)
        now_s = self.order.clock()
        lines = self._lines.read(now_s)
        return reading_of(seen, snapshot, lines, now_s, self.order.window_s, self._shares(snapshot))

    def use(self, machines: Collection[str]) -> None:
        """A machine of Storm's is out of use when nothing is placed on it."""

    def _shares(self, snapshot: Snapshot) -> Shares:
        """Those of the plan in force, of components that are placed as it has them."""
        plan = self._plan_in_force()
        if plan is None or not plan.placement.has_shares:
            return {}
        planned = {t.name for t in plan.problem.topologies}
        obeyed = {
            d.topology
            for d in snapshot.deployed
            if d.topology in planned and not differences(plan.slots_of(d.topology), d)
        }
        shares = {}
        for (topology, component), places in plan.places.items():
            own = tuple(place.share for place in places if place.share is not None)
            if topology in obeyed and own and len(own) == len(places):
                shares[topology, component] = own
        return shares

    def _plan_in_force(self) -> Plan | None:
        """What the plan file says, read again when it changes; ``None`` where there is none."""
        if self.plan_file is None:
            return None
        try:
            status = self.plan_file.stat()
            if status.st_size > _MOST_PLAN_BYTES:
                return None
            stamp = (status.st_mtime_ns, status.st_size)
            if stamp != self._plan_stamp:
                loaded = load(self.plan_file)
                self._plan = loaded if isinstance(loaded, Plan) else None
                self._plan_stamp = stamp
        except (OSError, InputError):
            return None  # none, or one that is no plan: the scheduler does not follow it either
        return self._plan

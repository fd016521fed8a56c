"""The contract of engines as classes of tests: one for every engine, one for each ability.

A test class of yours takes :class:`EngineContract` and the contracts of the abilities that the
engine has, and makes a small cluster for them::

    class TestMine(SnapshotContract, PublishContract):
        engine = MyEngine

        def cluster(self, tmp_path, monkeypatch):
            ...  # one topology on one machine, and a second machine that is empty
            return MyEngine(folder=tmp_path)
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from penstock.change.guard import differences, stale
from penstock.change.history import APPLIED, BEGUN, ROLLED_BACK, Receipt
from penstock.change.in_force import plan_in_force
from penstock.engines import registry
from penstock.engines.base import (
    Ability,
    Batch,
    Capabilities,
    Engine,
    PublishOrder,
    RunOrder,
    Session,
    WatchOrder,
    lacks,
)
from penstock.engines.publisher import NotFollowed
from penstock.errors import PenstockError, UsageError
from penstock.files.document import document_of
from penstock.files.examples import load_topology, topology_names
from penstock.files.receipt_file import receipt_from, receipt_to_dict
from penstock.files.store import to_dict
from penstock.model.placement import Placement
from penstock.model.plan import Plan
from penstock.model.snapshot import Snapshot
from penstock.model.topology import Kind, Topology
from penstock.registry import parameters_of
from penstock.schedulers import SCHEDULERS

_NOW_S = 1_767_225_600.0
#: A run that has not ended a batch by then is stopped all the same.
_MOST_QUESTIONS = 10_000


def _silent(_text: str) -> None:
    pass


class EngineContract:
    """What every engine keeps to; a subclass named ``Test...`` says which one is tried."""

    engine: ClassVar[type[Engine]]

    def cluster(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
        """The engine, with a cluster of its own where an ability needs one."""
        return self.engine()

    def test_it_says_what_it_is(self) -> None:
        assert lacks(self.engine) == []
        assert self.engine.name == self.engine.name.lower()
        assert self.engine.summary
        assert isinstance(self.engine.capabilities, Capabilities)
        assert self.engine.capabilities.scheduler in SCHEDULERS.names()

    def test_every_option_has_a_default_and_says_what_it_is(self) -> None:
        self.engine()
        assert all(option.help for option in parameters_of(self.engine))

    def test_every_ability_is_tried(self) -> None:
        contracts: dict[Ability, type[EngineContract]] = {
            Ability.SNAPSHOT: SnapshotContract,
            Ability.PUBLISH: PublishContract,
            Ability.TELEMETRY: TelemetryContract,
            Ability.RUN: RunContract,
            Ability.WATCH: WatchContract,
        }
        abilities = sorted(self.engine.capabilities.abilities & {*contracts})
        kinds = type(self).__mro__
        untried = [contracts[one].__name__ for one in abilities if contracts[one] not in kinds]
        assert not untried, f"{type(self).__name__} must inherit {', '.join(untried)}, too"

    @pytest.mark.parametrize("ability", list(Ability))
    def test_what_it_cannot_do_is_refused_and_what_it_can_is_not(self, ability: Ability) -> None:
        if ability in self.engine.capabilities.abilities:
            registry.require(self.engine, ability)
            return
        with pytest.raises(UsageError, match=f"{self.engine.name} cannot {ability.value}"):
            registry.require(self.engine, ability)

    @pytest.mark.parametrize("name", topology_names())
    def test_a_topology_as_it_runs_it_is_a_topology(self, name: str) -> None:
        topology = load_topology(name)
        before = to_dict(topology)
        adapted = self.engine().adapt(topology)
        assert isinstance(adapted, Topology)
        assert to_dict(topology) == before
        assert _own_components(adapted) == _own_components(topology)
        assert self.engine().adapt(adapted) == adapted


class SnapshotContract(EngineContract):
    """Engines that can say what runs.

    ``cluster`` has one topology that runs and says what CPU its instances need.
    """

    def test_a_snapshot_fits_together(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        snapshot = _snapshot(self.cluster(tmp_path, monkeypatch))
        machines = set(snapshot.cluster.machine_index)
        assert [t.name for t in snapshot.topologies] == [d.topology for d in snapshot.deployed]
        for topology, deployed in zip(snapshot.topologies, snapshot.deployed, strict=True):
            assert deployed.id
            for component, places in deployed.components:
                assert component in topology.index
                assert {machine for machine, _ in places} <= machines
                assert all(slot >= 0 for _, slot in places)
        assert set(snapshot.avoided) <= machines
        assert not set(snapshot.left_out) & {t.name for t in snapshot.topologies}

    def test_what_runs_can_be_held_as_a_plan(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        snapshot = _snapshot(self.cluster(tmp_path, monkeypatch))
        now = plan_in_force(snapshot)
        assert stale(now, snapshot) == []
        for deployed in snapshot.deployed:
            assert differences(now.slots_of(deployed.topology), deployed) == []

    def test_looking_changes_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        engine = self.cluster(tmp_path, monkeypatch)
        with engine.connect(_silent) as session:
            first, second = session.snapshot(), session.snapshot()
        assert (first.topologies, first.deployed) == (second.topologies, second.deployed)


class TelemetryContract(EngineContract):
    """Engines whose telemetry may be asked for without naming folders."""

    def test_telemetry_is_somewhere_or_it_says_what_to_name(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with suppress(PenstockError):
            folders = self.cluster(tmp_path, monkeypatch).telemetry()
            assert folders
            assert all(isinstance(folder, str) for folder in folders)


class PublishContract(EngineContract):
    """Engines that put plans in force.

    All instances on ``cluster`` are on its first machine, and the second one is empty.
    """

    def obstinate(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
        """The same cluster, which takes no new placement."""
        raise NotImplementedError

    def test_preparing_touches_nothing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with self.cluster(tmp_path, monkeypatch).connect(_silent) as session:
            before = session.snapshot()
            publication = session.prepare(_moved(before), before)
            assert publication.any
            assert publication.changes.moves == 1
            assert session.snapshot().deployed == before.deployed

    def test_a_plan_is_in_force_afterwards_and_the_receipt_says_so(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with self.cluster(tmp_path, monkeypatch).connect(_silent) as session:
            plan = _moved(session.snapshot())
            receipts: list[Receipt] = []
            receipt = _publish(session, plan, receipts.append)
            _assert_in_force(plan, session.snapshot())
            again = session.prepare(plan, session.snapshot())
        assert not again.any
        # The first before anything is touched, so that a killed one leaves a trace.
        assert [r.outcome for r in receipts] == [BEGUN, APPLIED]
        assert receipts[-1] == receipt
        assert (receipt.engine, receipt.moves) == (self.engine.name, 1)
        assert {step.topology for step in receipt.steps} == set(receipt.topologies)

    def test_a_receipt_is_read_back_as_it_was(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with self.cluster(tmp_path, monkeypatch).connect(_silent) as session:
            receipt = _publish(session, _moved(session.snapshot()))
        document = receipt_to_dict(receipt) | {"document": to_dict(receipt.plan)}
        read = receipt_from(document_of(document, "receipt.json"))
        assert receipt_to_dict(read) == receipt_to_dict(receipt)

    def test_a_cluster_that_does_not_follow_has_its_old_placement_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with self.obstinate(tmp_path, monkeypatch).connect(_silent) as session:
            before = session.snapshot()
            receipts: list[Receipt] = []
            with pytest.raises(NotFollowed, match=ROLLED_BACK):
                _publish(session, _moved(before), receipts.append)
            assert session.snapshot().deployed == before.deployed
        assert receipts[-1].outcome == ROLLED_BACK
        assert receipts[-1].trouble


class WatchContract(PublishContract):
    """Engines that the loop can watch; ``cluster`` as for those that put plans in force."""

    def test_what_can_be_watched_can_be_told(self) -> None:
        abilities = self.engine.capabilities.abilities
        assert {Ability.SNAPSHOT, Ability.PUBLISH} <= abilities

    def test_a_reading_fits_its_snapshot(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with self.cluster(tmp_path, monkeypatch).watch(_order(tmp_path)) as session:
            reading = session.reading()
        snapshot = reading.snapshot
        machines = set(snapshot.cluster.machine_index)
        places = {
            (d.topology, component): places
            for d in snapshot.deployed
            for component, places in d.components
        }
        assert reading.time_s == _NOW_S
        assert set(reading.topologies) == {d.topology for d in snapshot.deployed}
        assert set(reading.machine_points) <= machines
        for topology, component, number in reading.instances:
            assert number < len(places[topology, component])
        for key, shares in reading.shares.items():
            assert len(shares) == len(places[key])
        for one in reading.topologies.values():
            rates = (one.offered_per_s, one.processed_per_s, one.backlog, one.latency_s)
            assert all(isnan(value) or value >= 0.0 for value in rates)
            assert isnan(one.held_back) or 0.0 <= one.held_back <= 1.0
        assert isnan(reading.telemetry_age_s) or reading.telemetry_age_s >= 0.0

    def test_reading_changes_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with self.cluster(tmp_path, monkeypatch).watch(_order(tmp_path)) as session:
            first, second = session.reading().snapshot, session.reading().snapshot
        assert (first.topologies, first.deployed) == (second.topologies, second.deployed)

    def test_what_runs_can_be_published_again_and_nothing_restarts(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """So that what an interrupted change left can be made whole."""
        with self.cluster(tmp_path, monkeypatch).watch(_order(tmp_path)) as session:
            before = session.snapshot()
            now = plan_in_force(before)
            publication = session.prepare(now, before)
            assert not any(step.pauses for step in publication.steps)
            assert _publish(session, now).outcome == APPLIED
            assert session.snapshot().deployed == before.deployed

    def test_machines_in_use_may_be_said_twice(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with self.cluster(tmp_path, monkeypatch).watch(_order(tmp_path)) as session:
            machines = [m.name for m in session.snapshot().cluster.machines]
            session.use(machines)
            session.use(machines)
            assert {m.name for m in session.snapshot().cluster.machines} == {*machines}

    def test_a_machine_out_of_use_is_still_there(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with self.cluster(tmp_path, monkeypatch).watch(_order(tmp_path)) as session:
            machines = [m.name for m in session.snapshot().cluster.machines]
            session.use(machines[:1])
            assert {m.name for m in session.snapshot().cluster.machines} == {*machines}


class RunContract(EngineContract):
    """Engines that run topologies from code."""

    def test_a_topology_runs_until_it_is_told_to_stop(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engine = self.cluster(tmp_path, monkeypatch)
        batches: list[Batch] = []
        asked = iter(range(_MOST_QUESTIONS))
        order = RunOrder(
            load_topology("linear"),
            tmp_path / "run",
            rows_per_batch=50,
            on_batch=batches.append,
            stop=lambda: bool(batches) or next(asked, None) is None,
        )
        engine.run(order)
        assert batches
        assert batches[0].rate_per_s("low") > 0
        (rows, *_) = engine.results(order.folder, 3)
        assert rows.total > 0
        assert all(len(column) == min(3, rows.total) for column in rows.columns.values())


def _own_components(topology: Topology) -> list[str]:
    return [c.name for c in topology.components if c.kind is not Kind.ACKER]


def _snapshot(engine: Engine) -> Snapshot:
    with engine.connect(_silent) as session:
        return session.snapshot()


def _order(tmp_path: Path) -> WatchOrder:
    """A clock that stands, and telemetry of which there is none yet."""
    return WatchOrder(telemetry=(str(tmp_path / "telemetry"),), clock=lambda: _NOW_S)


def _moved(snapshot: Snapshot) -> Plan:
    """What runs, with the last instance on the machine where nothing is."""
    now = plan_in_force(snapshot)
    used = set(now.placement.machine.tolist())
    empty = next(m for m in range(len(snapshot.cluster.machines)) if m not in used)
    machine, slot = np.array(now.placement.machine), np.array(now.placement.slot)
    machine[-1], slot[-1] = empty, 0
    return replace(now, placement=Placement.of(now.placement.component, machine, slot))


def _publish(
    session: Session, plan: Plan, keep: Callable[[Receipt], None] = lambda _receipt: None
) -> Receipt:
    """Time passes only by waiting."""
    now = [1_767_225_600.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    order = PublishOrder(keep=keep, within_s=5.0, clock=lambda: now[0], sleep=sleep)
    return session.publish(session.prepare(plan, session.snapshot()), order)


def _assert_in_force(plan: Plan, snapshot: Snapshot) -> None:
    running = {d.topology: d for d in snapshot.deployed}
    for topology in plan.problem.topologies:
        assert differences(plan.slots_of(topology.name), running[topology.name]) == []

"""Storm (of dictionaries), Spark and a toy keep the contract of engines that ships."""

import json
from pathlib import Path

import pytest
from tests.builders import all_on, build, cluster, topology
from tests.engines.spark.fake_run import FakeRun
from tests.engines.storm.fake_storm import FakeStorm
from tests.engines.toy_engine import ToyEngine, toy_cluster

from penstock.engines.lab import keeper
from penstock.engines.spark import watched_run
from penstock.engines.spark.engine import SparkEngine
from penstock.engines.storm import engine as storm_engine
from penstock.engines.storm.engine import StormEngine
from penstock.model.plan import Plan
from penstock_bench.contract.engines import (
    PublishContract,
    RunContract,
    SnapshotContract,
    TelemetryContract,
    WatchContract,
)


class TestStorm(SnapshotContract, WatchContract, TelemetryContract):
    engine = StormEngine

    def cluster(self, tmp_path, monkeypatch, obeys=True):
        storm = FakeStorm(tmp_path / "plan.json")
        storm.obeys = obeys
        monkeypatch.setattr(storm_engine, "open_bridge", storm.opened)
        monkeypatch.setattr(keeper, "find", lambda _engine: None)
        return StormEngine(nimbus="master")

    def obstinate(self, tmp_path, monkeypatch):
        return self.cluster(tmp_path, monkeypatch, obeys=False)


class TestToy(SnapshotContract, WatchContract, TelemetryContract):
    engine = ToyEngine

    def cluster(self, tmp_path, monkeypatch):
        toy_cluster(tmp_path)
        return ToyEngine(str(tmp_path))

    def obstinate(self, tmp_path, monkeypatch):
        toy_cluster(tmp_path)
        path = Path(tmp_path, "cluster.json")
        path.write_text(json.dumps(json.loads(path.read_text()) | {"obstinate": 99}))
        return ToyEngine(str(tmp_path))


class TestSpark(SnapshotContract, WatchContract, TelemetryContract, RunContract):
    engine = SparkEngine

    def cluster(self, tmp_path, monkeypatch, obeys=True):
        asked = {"cpu_points": 10.0, "instances": 1}
        machines = cluster(M1=2, every={"cpu_points": 100.0})
        problem = build(topology("a>b", a=asked, b=asked), machines)
        run = FakeRun(tmp_path, Plan(problem, all_on(problem), "test"), obeys=obeys)
        monkeypatch.setattr(watched_run, "read_status", run.read_status)
        monkeypatch.setattr(watched_run, "registered_workers", run.registered)
        return SparkEngine(master="local[1]", run_folder=run.folder)

    def obstinate(self, tmp_path, monkeypatch):
        return self.cluster(tmp_path, monkeypatch, obeys=False)

    @pytest.mark.spark
    def test_a_topology_runs_until_it_is_told_to_stop(self, tmp_path, monkeypatch):
        super().test_a_topology_runs_until_it_is_told_to_stop(tmp_path, monkeypatch)


def test_an_ability_without_its_contract_names_the_contract():
    class Partly(PublishContract):
        engine = ToyEngine

    missing = "Partly must inherit TelemetryContract, WatchContract, SnapshotContract, too"
    with pytest.raises(AssertionError, match=missing):
        Partly().test_every_ability_is_tried()

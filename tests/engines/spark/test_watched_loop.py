"""The loop on a run of Spark's that is written down: one step of load, one decision, one plan."""

import json

from tests.builders import cluster, profile, topology
from tests.engines.spark.fake_run import FakeRun

from penstock import app
from penstock.app.watching.options import Act, WatchOptions
from penstock.app.watching.watch import watching
from penstock.engines.spark import watched_run
from penstock.engines.spark.engine import SparkEngine
from penstock.engines.spark.run_status import BatchStatus
from penstock.files.store import save
from penstock.model.plan import Plan
from penstock.model.telemetry import Input, Sample
from penstock.model.watch_rules import WatchRules, WatchSetting
from penstock.planning.stage_plans import planner_for

BATCH_S = 5
#: A row costs a point in a and one in b: the machines carry 45, 25 and 15 rows/s.
POINTS = {"M1": {"cpu_points": 90.0}, "M2": {"cpu_points": 50.0}, "M3": {"cpu_points": 30.0}}
COSTS = profile(a=1.0, b=1.0)
PROBLEM = app.problem(
    topology("a>b"), cluster(types=POINTS, M1=1, M2=1, M3=1), COSTS, engine="spark"
)


class Stream:
    """Batch after batch of a run that takes all that it is offered."""

    def __init__(self, run):
        self.run, self.now, self.offered, self.number = run, 1_767_225_600.0, 0.0, 0

    def batch(self, rate):
        rows = rate * BATCH_S
        self.now, self.offered = self.now + BATCH_S, self.offered + rows
        task, samples = 0, []
        for component, places in self.run.status.places.items():
            for machine, _, share in places:
                samples.append(self._sample(task, component, machine, share * rows))
                task += 1
        self.run.did(
            BatchStatus(self.number, self.now, BATCH_S, rows, self.offered, rows, BATCH_S),
            samples,
        )
        self.number += 1

    def _sample(self, task, component, machine, rows):
        points = rows / BATCH_S
        is_spout = component == "a"
        return Sample(
            int(1000 * self.now), 1000 * BATCH_S, "t", component, task, machine, machine[:2], "77",
            inputs=() if is_spout else (Input("a", "default", rows),), outputs=(),
            produced=rows if is_spout else None, cpu_points=points, worker_cpu_points=2 * points,
        )  # fmt: skip


def test_a_step_of_load_takes_one_decision_and_the_run_follows(tmp_path, monkeypatch):
    planner = planner_for(PROBLEM, "proportional")
    first = planner.carrying(40.0, planner.problem.cluster.usable_cpu > 0)
    run = FakeRun(tmp_path, Plan(PROBLEM, first.placement, "test"))
    monkeypatch.setattr(watched_run, "read_status", run.read_status)
    monkeypatch.setattr(watched_run, "registered_workers", run.registered)
    save(COSTS, tmp_path / "profile.json")
    rules = WatchRules(latency_target_s=15.0, catching_up_s=5.0)
    setting = WatchSetting("ds2", {"every_s": 10.0, "warm_up": 0, "activation": 1}, rules)
    options = WatchOptions(
        tmp_path / "profile.json", setting, Act.NOW, window_s=10.0, history=tmp_path / "history"
    )
    stream, events = Stream(run), []
    with watching(
        SparkEngine(run_folder=run.folder), options, tell=events.append, clock=lambda: stream.now,
        sleep=lambda _seconds: None,
    ) as watcher:  # fmt: skip
        for turn in range(16):
            for _ in range(2):
                stream.batch(30.0 if turn < 6 else 65.0)
            watcher.turn()
        assert watcher._seen.offered == 65.0
    used = {m for places in run.status.places.values() for m, _, _ in places}
    # 65 rows/s take the two strong machines, in shares of 90 and 50 points.
    assert used == {"M1-1", "M2-1"}
    assert [round(share, 3) for _, _, share in run.status.places["a"]] == [0.643, 0.357]
    decided = [event.facts["status"] for event in events if event.kind == "decision"]
    assert decided == ["applied"], [event.line for event in events]
    assert json.loads(run.path.read_text())["format"] == "penstock/plan"

"""What is read off a topology on the lab, without a lab."""

import json
from types import SimpleNamespace

import pytest
from tests.engines.storm.fake_storm import FakeStorm

from penstock.engines.storm.trial import Trial, _made_per_s, _worker_points
from penstock.model.placement import Placement
from penstock.model.plan import Contingency, Plan
from penstock.model.problem import build
from penstock_bench.benchmarks import storm_faults


def line(time_ms, component, task, tuples, **fields):
    outputs = [{"stream": "default", "tuples": tuples}, {"stream": "__ack_init", "tuples": 9e9}]
    defaults = {"window_ms": 5000, "host": "m1", "worker": "6700", "worker_cpu_points": 1.0}
    return {"time_ms": time_ms, "component": component, "task": task, "outputs": outputs,
            **defaults, **fields}  # fmt: skip


def test_a_spouts_rate_is_that_of_its_executors_together():
    seen = [
        line(5000, "spout", 1, 100.0),
        line(10000, "spout", 1, 200.0),
        # Started later: one window of its own.
        line(10000, "spout", 2, 50.0),
        line(10000, "bolt", 3, 1e6),
    ]
    # 300 tuples in 10 s and 50 in 5 s; what goes to ackers is none of them.
    assert _made_per_s(seen, "spout") == pytest.approx(40.0)


def test_every_executor_of_a_worker_tells_the_same_of_it():
    seen = [
        line(5000, "a", 1, 0.0, worker_cpu_points=10.0),
        line(5000, "b", 2, 0.0, worker_cpu_points=10.0),
        line(10000, "a", 1, 0.0, worker_cpu_points=20.0),
        line(5000, "a", 3, 0.0, worker="6701", worker_cpu_points=4.0),
        line(5000, "a", 4, 0.0, host="m2", worker_cpu_points=7.0),
    ]
    # m1: (10 + 20) / 2 of one worker and 4 of the other.
    assert _worker_points(seen) == pytest.approx({"m1": 19.0, "m2": 7.0})


def test_lines_are_read_from_files_that_are_whole_and_from_those_that_are_not(tmp_path):
    trial = Trial(SimpleNamespace(folder=tmp_path), FakeStorm(tmp_path / "p"), "flow", ("src",))
    trial.telemetry.mkdir()
    old, new = line(1000, "src", 1, 1.0), line(9000, "src", 1, 2.0)
    (trial.telemetry / "w-000000.jsonl").write_text(f"{json.dumps(old)}\n{json.dumps(new)}\n")
    half = json.dumps(new)[:20]
    (trial.telemetry / ".w-000001.jsonl.part").write_text(f"{json.dumps(new)}\n{half}")
    assert trial.lines(5.0) == [new, new]


def test_a_contingency_moves_what_was_on_the_lost_machine(tmp_path):
    trial = Trial(SimpleNamespace(folder=tmp_path), FakeStorm(tmp_path / "p"), "flow", ("src",))
    snapshot = trial.snapshot()
    problem = build(snapshot.topologies, snapshot.cluster)
    placement = Placement.of([0, 0, 1, 1], [0, 1, 0, 1])
    lost = Contingency("b", (("src", 1, "a", 1), ("work", 1, "a", 0)))
    plan = Plan(problem, placement, "x", if_lost=(lost,))
    assert storm_faults._without(plan, "flow", "b") == {
        "src": (("a", 0), ("a", 1)),
        "work": (("a", 0), ("a", 0)),
    }

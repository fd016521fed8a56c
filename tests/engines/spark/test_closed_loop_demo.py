"""Watching a run on a lab: what counts, what is left out, what is predicted."""

from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.builders import SHAPES, cluster, profile, topology

from penstock.engines.base import Batch
from penstock.engines.lab.machines import parse_machines
from penstock.engines.spark.closed_loop_demo import ClosedLoop, predicted_points
from penstock.engines.spark.observed import BatchObservation, BatchWatch, RunObservation
from penstock.engines.spark.runner import TELEMETRY
from penstock.errors import PenstockError
from penstock.model.problem import build
from penstock.model.telemetry import Input, Sample
from penstock.telemetry.findings import NotMeasured


def sample(host, tuples, process_ms, component="low", spout=True):
    return Sample(
        0, 1000, "t", component, 0, host, "any", "w",
        inputs=() if spout else (Input("low", "default", tuples),),
        produced=tuples if spout else None, process_ms=process_ms,
    )  # fmt: skip


def lab(limited):
    held = {"m1": SimpleNamespace(is_limited=limited)}
    clock = iter(range(1, 1000))
    return SimpleNamespace(held=held, cpu_s=lambda: {"m1": 0.5 * next(clock)})


def test_batches_count_once_the_limits_are_on_and_two_more_have_passed():
    place = lab(limited=False)
    watch = BatchWatch(place, seconds=2.0, patience_until=float("inf"))
    for number in range(8):
        place.held["m1"].is_limited = number >= 2
        watch.see(Batch(number, 1.0, (sample("m1", 100.0, 1.0),)))
        # 0 and 1 before the limits, 2 and 3 left out, 4 and 5 watched.
        assert watch.is_done() == (number >= 5)
    found = watch.observed()
    assert [batch.number for batch in found.batches] == [4, 5]
    assert (found.rows, found.rate_per_s, found.batch_s) == (200, 100.0, 1.0)


def test_some_batches_of_a_run_have_their_own_rate_and_cpu():
    seen = RunObservation(
        tuple(
            BatchObservation(
                Batch(number, 2.0, (sample("m1", rows, 1.0),)), since_last_s, {"m1": cpu_s}
            )
            for number, (rows, cpu_s, since_last_s) in enumerate(
                [(10.0, 0.2, 1.4), (40.0, 0.8, 2.6), (10.0, 0.4, 1.4)]
            )
        )
    )
    few = seen.where(lambda batch: batch.number != 1)
    assert (few.rows, few.rate_per_s) == (20, 5.0)
    # 0.6 s of CPU in 4 s, and 1.4 in 6: one batch every 2 s, whenever it ended.
    assert few.machine_points == pytest.approx({"m1": 15.0})
    assert seen.machine_points == pytest.approx({"m1": 140 / 6})
    assert (few + few).machine_points == few.machine_points


def test_a_lab_that_does_not_warm_up_is_told():
    watch = BatchWatch(lab(limited=False), seconds=2.0, patience_until=0.0)
    with pytest.raises(PenstockError, match="did not warm up"):
        watch.is_done()


def test_the_speed_of_a_machine_is_by_the_clock():
    batch = Batch(
        0,
        1.0,
        (
            sample("m1", 100.0, 2.0),
            sample("m1", 100.0, 3.0, component="mid", spout=False),
            sample("m2", 50.0, 10.0),
        ),
    )
    # m1: 200 tuples in 100 * 2 ms + 100 * 3 ms; m2: 50 in 50 * 10 ms.
    found = RunObservation((BatchObservation(batch, 1.0, {}),)).tuples_per_busy_s()
    assert found == pytest.approx({"m1": 400.0, "m2": 100.0})


def test_cpu_is_predicted_from_costs_overhead_and_shares():
    graph = topology(SHAPES["linear"])
    kinds = cluster(M1=1, M2=1, every={"worker_cpu_points": 4.0})
    problem = build(graph, kinds, profile(low=0.1, mid=0.2, high=0.3, met=1.0), weighted=True)
    found = predicted_points(problem, {"M1-1": 0.75, "M2-1": 0.25}, 100.0)
    # 0.6 points per tuple/s of its share, an overhead of 1 in each of three, a worker of 4.
    assert found == pytest.approx({"M1-1": 45 + 3 + 4, "M2-1": 15 + 3 + 4})


def test_what_a_machine_uses_beside_its_workers_is_its_own():
    def told(host, worker, points):
        return replace(sample(host, 1.0, 1.0), worker=worker, worker_cpu_points=points)

    # Two instances of one worker tell the same; m1 has two workers: 10 and 5 points, then 20 and 5.
    batches = tuple(
        Batch(n, 1.0, (told("m1", "a", p), told("m1", "a", p), told("m1", "b", 5.0),
                       told("m2", "c", 8.0)))
        for n, p in enumerate((10.0, 20.0))
    )  # fmt: skip
    used = {"m1": 0.225, "m2": 0.085}
    found = RunObservation(
        tuple(BatchObservation(batch, 1.0, used) for batch in batches)
    ).own_points()
    # 22.5 less a mean of 15 and 5; 8.5 less 8.
    assert found == pytest.approx({"m1": 2.5, "m2": 0.5})


def test_costs_that_are_too_uncertain_are_measured_once_more(tmp_path, monkeypatch):
    machines = parse_machines("90,30")
    place = SimpleNamespace(machines=machines, slots=lambda _machine: 1)
    said, asked = [], []
    loop = ClosedLoop(place, "", SimpleNamespace(components=()), None, tmp_path, said.append)

    def observe(_self, name, _spark, _deployment, source, _seconds, **_options):
        # Two batches at each of the four loads; 0.4 of 30 points on two slots for 4 s, at 0.96 ms.
        assert (source.rows_per_batch, source.levels) == (1000, (0.2, 0.6, 1.0, 0.8))
        (tmp_path / name / TELEMETRY).mkdir(parents=True)
        seen = []
        for number in range(8):
            rows = round(source.rows_per_batch * source.levels[number % 4])
            (tmp_path / name / TELEMETRY / f"{number:09d}.jsonl").write_text(f"{name} {rows}")
            made = replace(sample("m1", float(rows), 1.0), worker_cpu_points=1.0)
            seen.append(BatchObservation(Batch(number, 4.0, (made,)), 4.0, {"m1": 0.4}))
        return RunObservation(tuple(seen))

    def profile_of(folder):
        asked.append(sorted(file.read_text() for file in folder.iterdir()))
        if len(asked) == 1:
            raise NotMeasured("too uncertain")
        return "a profile"

    monkeypatch.setattr(ClosedLoop, "alone", lambda _self: nullcontext())
    monkeypatch.setattr(ClosedLoop, "observe", observe)
    monkeypatch.setattr("penstock.engines.spark.closed_loop_demo.profile_of", profile_of)
    found, other = loop.costs(0.96e-3)
    first = sorted(f"measure-1 {rows}" for rows in (200, 600, 1000) for _ in range(2))
    assert asked == [first, sorted([*first, *(text.replace("-1", "-2") for text in first)])]
    assert (found, other.rows, said) == ("a profile", 4 * 800, ["too uncertain. Once more"])
    # 0.4 s of CPU in 4 s are 10 points, of which the worker used 1.
    assert loop.own_points == pytest.approx({"m1": 9.0})

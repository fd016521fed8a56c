"""Watching a run on a lab: what counts, what is left out, what is predicted."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.builders import SHAPES, cluster, profile, topology

from penstock.engines.spark.circle import Observed, Seen, _Watch, predicted_points
from penstock.engines.spark.runner import Batch
from penstock.errors import PenstockError
from penstock.model.problem import build
from penstock.model.telemetry import Input, Sample


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
    watch = _Watch(place, seconds=2.0, patience_until=float("inf"))
    for number in range(8):
        place.held["m1"].is_limited = number >= 2
        watch.see(Batch(number, 1.0, (sample("m1", 100.0, 1.0),)))
        # 0 and 1 before the limits, 2 and 3 left out, 4 and 5 watched.
        assert watch.is_done() == (number >= 5)
    found = watch.observed()
    assert [batch.number for batch in found.batches] == [4, 5]
    assert (found.rows, found.rate_per_s, found.batch_s) == (200, 100.0, 1.0)


def test_some_batches_of_a_run_have_their_own_rate_and_cpu():
    seen = Observed(
        tuple(
            Seen(Batch(number, 2.0, (sample("m1", rows, 1.0),)), 2.0, {"m1": cpu_s})
            for number, (rows, cpu_s) in enumerate([(10.0, 0.2), (40.0, 0.8), (10.0, 0.4)])
        )
    )
    few = seen.where(lambda batch: batch.number != 1)
    assert (few.rows, few.rate_per_s) == (20, 5.0)
    # 0.6 s of CPU in 4 s, and 1.4 in 6.
    assert few.machine_points == pytest.approx({"m1": 15.0})
    assert seen.machine_points == pytest.approx({"m1": 140 / 6})
    assert (few + few).machine_points == few.machine_points


def test_a_lab_that_does_not_warm_up_is_told():
    watch = _Watch(lab(limited=False), seconds=2.0, patience_until=0.0)
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
    found = Observed((Seen(batch, 1.0, {}),)).tuples_per_busy_s()
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
    found = Observed(tuple(Seen(batch, 1.0, used) for batch in batches)).own_points()
    # 22.5 less a mean of 15 and 5; 8.5 less 8.
    assert found == pytest.approx({"m1": 2.5, "m2": 0.5})

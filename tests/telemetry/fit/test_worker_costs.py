"""What a worker costs anyway is told from what it costs per tuple, on every machine type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from tests.telemetry.frames import HOUR, START_MS, Row, columns_of, slot_windows

from penstock.model.profile import WorkerCost
from penstock.telemetry.findings import CostFit
from penstock.telemetry.fit.points import Points
from penstock.telemetry.fit.worker_costs import WorkerWindows, crossing_cost, worker_costs
from penstock.telemetry.manifest import Manifest
from penstock.telemetry.schemas import TRAFFIC, WORKERS
from penstock.telemetry.slots.columns import Vocabulary, length, to_arrow
from penstock.telemetry.slots.files import StoreFiles
from penstock.telemetry.slots.fit_task import points_of
from penstock.telemetry.slots.hours import hour_summaries, hour_tables
from penstock.telemetry.slots.summaries import Summaries, worker_windows
from penstock.telemetry.slots.sums import SampleSizes, partial_sums

#: Two tasks of a worker use these and take in the same.
TASKS = (10.0, 20.0)


def run(kind: str, met: float, e: float, noise: float, seed: int, name: str = "") -> list[Row]:
    """Sixty windows of a worker that uses ``met`` anyway and ``e`` per tuple/s of both tasks."""
    spread = np.random.default_rng(seed).normal(0.0, noise, 60)
    rows: list[Row] = []
    for number, off in enumerate(spread.tolist()):
        rate = (10.0, 40.0, 80.0)[number % 3]
        whole = sum(TASKS) + met + e * 2 * rate + off
        rows += [
            {"run": name, "host": kind, "machine_type": kind, "task": task, "cpu_points": cpu,
             "rate": rate, "time_ms": START_MS + 10_000 * number, "worker_cpu_points": whole}
            for task, cpu in enumerate(TASKS, start=1)
        ]  # fmt: skip
    return rows


def sent(name: str, host: str, tuples_per_s: float, distance: str, **more: object) -> Row:
    """So much from a worker to one like it: the same, or on a host that is not otherwise seen."""
    there = host if distance == "same worker" else "away"
    ends = {"source_host": host, "target_host": there}
    ends |= {"source_worker": "6700", "target_worker": "6700", "source": "b", "hour": HOUR}
    return {"run": name, "tuples_per_s": tuples_per_s, "distance": distance, **ends, **more}


#: Costs by machine type, from windows, what components cost by type, and traffic.
Found = Callable[..., dict[str, WorkerCost]]


@pytest.fixture
def found(tmp_path: Path) -> Found:
    def found(
        *rows: list[Row], e: dict[str, float], traffic: Sequence[Row] = ()
    ) -> dict[str, WorkerCost]:
        summaries = summaries_of([row for some in rows for row in some], traffic, str(tmp_path))
        sizes = summaries.sizes()
        table = worker_windows(summaries, sizes)
        windows = WorkerWindows(
            points_of(table, summaries.vocabulary),
            summaries.text(table["machine_type"]),
            table["crossing"],
        )
        components = [
            CostFit("t", name, kind, 60, e=times * value, e_error=0.01 * value)
            for name, times in (("b", 1.0), ("c", 2.0))
            for kind, value in e.items()
        ]
        costs = worker_costs(windows, sizes.workers, summaries.own_cpu(), components)
        return {cost.machine_type: cost for cost in costs}

    return found


def summaries_of(rows: list[Row], traffic: Sequence[Row], root: str) -> Summaries:
    """Of one hour with this traffic, whatever its windows say of it."""
    vocabulary = Vocabulary()
    sums = partial_sums(slot_windows(rows, vocabulary), vocabulary, SampleSizes({}, {}))
    tables = hour_tables(sums, vocabulary, HOUR)
    tables["traffic"] = columns_of(traffic, to_arrow_schema(TRAFFIC), vocabulary)
    summaries = hour_summaries(sums, tables, vocabulary)
    for table in summaries.values():
        table["hour"] = np.full(length(table), vocabulary.number(HOUR))
    workers = to_arrow(tables["workers"], to_arrow_schema(WORKERS), vocabulary)
    path = StoreFiles(root).write("workers", HOUR, workers, [])
    return Summaries(root, Manifest(parts={"workers": {HOUR: path}}), vocabulary, summaries)


def test_a_line_is_fitted_where_tuples_cost_the_worker(found: Found) -> None:
    cost = found(run("M1", 2.0, 0.05, 0.1, 5), e={"M1": 1.0})["M1"]
    assert cost.cpu_points == pytest.approx(2.0, abs=0.1)
    assert cost.e == pytest.approx(0.05, rel=0.02)
    assert cost.e_error is not None
    assert 0 < cost.e_error < 0.002


def test_a_worker_whose_cpu_does_not_follow_the_tuples_costs_the_same_at_all_rates(
    found: Found,
) -> None:
    cost = found(run("M1", 5.0, 0.0, 0.5, 6), e={"M1": 1.0})["M1"]
    assert (cost.cpu_points, cost.e) == (pytest.approx(5.0, abs=0.3), 0.0)


def test_a_type_with_too_much_noise_gets_the_slope_that_its_speed_suggests(found: Found) -> None:
    # M2 does everything at half the cost; its own line is lost in noise.
    clear, noisy = run("M1", 2.0, 0.05, 0.1, 7), run("M2", 3.0, 0.025, 20.0, 8)
    cost = found(clear, noisy, e={"M1": 1.0, "M2": 0.5})["M2"]
    assert cost.e == pytest.approx(0.025, rel=0.03)
    # The median of sixty windows of so much noise is off by 20 · 1.25 / √60 points.
    assert cost.error == pytest.approx(20 * 1.2533 / np.sqrt(60), rel=0.5)
    assert abs(cost.cpu_points - 3.0) < 3 * 20 * 1.2533 / np.sqrt(60)


def test_a_type_seen_for_a_minute_is_not_taken_for_free(found: Found) -> None:
    # M2 does everything at half the cost and was seen in twelve windows.
    long, short = run("M1", 2.0, 0.05, 0.1, 7), run("M2", 3.0, 0.025, 0.1, 8)[:24]
    costs = found(long, short, e={"M1": 1.0, "M2": 0.5})
    assert costs["M2"].e == pytest.approx(0.025, rel=0.1)
    assert costs["M2"].cpu_points == pytest.approx(3.0, abs=0.5)
    # Of a minute alone nothing is said.
    assert found(short, e={"M2": 0.5}) == {}


#: Mean rate of both tasks of a worker in :func:`run`.
USUAL = 2 * (10 + 40 + 80) / 3


def test_tuples_that_leave_the_worker_cost_more(found: Found) -> None:
    """Of every tuple in the run "far" one and a half cross, of those in "near" none."""
    far, near = (
        run("M1", 2.0, 0.05 + 1.5 * 0.02, 0.05, 9, "far"),
        run("M1", 2.0, 0.05, 0.05, 10, "near"),
    )
    traffic = [
        sent("far", "M1", 1.5 * USUAL, "same rack"),
        # Acknowledgements: the model has none.
        sent("far", "M1", 9.0, "same rack", source="__acker"),
        sent("near", "M1", 7.0, "same worker"),
    ]
    cost = found(far, near, e={"M1": 1.0}, traffic=traffic)["M1"]
    assert cost.e_remote == pytest.approx(0.02, rel=0.02)
    assert cost.e == pytest.approx(0.05, rel=0.02)
    assert cost.cpu_points == pytest.approx(2.0, abs=0.1)


def test_where_all_workers_exchange_the_same_part_it_is_in_the_cost_of_every_tuple(
    found: Found,
) -> None:
    traffic = [sent("", "M1", 1.5 * USUAL, "same rack")]
    cost = found(run("M1", 2.0, 0.05, 0.1, 5), e={"M1": 1.0}, traffic=traffic)["M1"]
    assert (cost.e, cost.e_remote) == (pytest.approx(0.05, rel=0.02), 0.0)
    assert cost.e_remote_error is None


def test_a_type_that_never_changed_its_exchange_gets_the_cost_that_its_speed_suggests(
    found: Found,
) -> None:
    """M2 does everything at half the cost, and one of its tuples crosses at all times."""
    m1 = run("M1", 2.0, 0.05 + 1.5 * 0.02, 0.05, 9, "far"), run("M1", 2.0, 0.05, 0.05, 10, "near")
    m2 = run("M2", 3.0, 0.025 + 1.0 * 0.01, 0.05, 11, "far")
    traffic = [
        sent("far", "M1", 1.5 * USUAL, "same rack"),
        sent("near", "M1", 7.0, "same worker"),
        sent("far", "M2", USUAL, "same rack"),
    ]
    cost = found(*m1, m2, e={"M1": 1.0, "M2": 0.5}, traffic=traffic)["M2"]
    assert cost.e_remote == pytest.approx(0.01, rel=0.05)
    assert cost.e == pytest.approx(0.025, rel=0.05)
    assert cost.cpu_points == pytest.approx(3.0, abs=0.1)


def points(rate: np.ndarray, cpu: np.ndarray) -> Points:
    count = len(rate)
    whole = np.arange(count, dtype=np.int64)
    return Points(rate, cpu, np.zeros(count), 10_000 * whole, whole * 0, whole // 6, np.ones(count))


def test_a_tuple_that_stays_never_gives_cpu_back() -> None:
    """Noise would have it at less than nothing: all is in those that cross then."""
    dice = np.random.default_rng(3)
    rate, crossing = dice.uniform(10, 100, 200), dice.uniform(10, 100, 200)
    cpu = 2.0 + 0.02 * crossing - 0.001 * rate + dice.normal(0, 0.01, 200)
    assert crossing_cost(points(rate, cpu), crossing).value == pytest.approx(0.02, rel=0.03)

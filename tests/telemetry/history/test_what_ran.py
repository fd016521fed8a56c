"""What telemetry says of plans: only stretches count in which everything ran as planned."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.builders import cluster, place, profile, topology
from tests.telemetry.frames import START_MS, Row, rates_frame

from penstock.change.history import APPLIED, BEGUN, Receipt, TopologyReceipt
from penstock.evaluate.predict import predict
from penstock.model.plan import Plan
from penstock.model.problem import build
from penstock.telemetry.history.reader import UNMEASURED
from penstock.telemetry.history.tables import HistoryTables, why_not
from penstock.telemetry.history.what_ran import what_ran
from penstock.telemetry.store import Store

pytestmark = pytest.mark.spark

#: a and one b on M1-1, another b on M1-2. At rate r: a uses 0.1 r + 1, each b 0.1 r + 1 points.
HOMES = {1: ("a", "M1-1"), 2: ("b", "M1-1"), 3: ("b", "M1-2")}


def plan() -> Plan:
    problem = build(topology("a>b"), cluster(M1=2), profile(a=0.1, b=0.2, met=1.0, on=("M1",)))
    placement = place(problem, "a M1-1", "b M1-1", "b M1-2")
    return Plan(problem, placement, "penstock", predicted=predict(problem, placement)[0])


def applied(minute: float, **changes: object) -> Receipt:
    at_s = START_MS / 1000 + 60 * minute
    fields = {
        "plan_id": "abcd", "plan": plan(), "engine": "storm", "outcome": APPLIED,
        "began_s": at_s - 5, "ended_s": at_s, "steps": (TopologyReceipt("t", "t-1-1"),),
    }  # fmt: skip
    return Receipt(**{**fields, **changes})  # type: ignore[arg-type]


def at(minute: float, task: int, rate: float, **changes: object) -> Row:
    component, host = HOMES[task]
    cpu = (0.1 if component == "a" else 0.2) * rate + 1
    return {
        "component": component, "task": task, "host": host, "run": "t-1-1", "rate": rate,
        "cpu_points": cpu, "worker_cpu_points": 30.0 if host == "M1-1" else 20.0,
        "worker": "6700", "time_ms": START_MS + round(60_000 * minute), **changes,
    }  # fmt: skip


def minute_of(minute: float, rate: float = 100.0, **changes: object) -> list[Row]:
    """A window of each task, in the middle of a minute."""
    return window_of_each(minute + 0.5, rate, **changes)


def window_of_each(end: float, rate: float = 100.0, **changes: object) -> list[Row]:
    """A window of each task that ends at this minute; b is divided evenly."""
    shares = ((1, rate), (2, rate / 2), (3, rate / 2))
    return [at(end, task, r, **changes) for task, r in shares]


def test_rates_add_up_over_instances_and_cpu_over_machines(spark: SparkSession) -> None:
    done = applied(0)
    rows = [*minute_of(1, 100, held_back=0.4, queue_fill=0.1), *minute_of(2, 200, held_back=0.6)]
    found, others = what_ran(rates_frame(spark, rows), [done], [done])
    ran = found[done.id]
    assert others == {}
    assert ran.stretches == 2
    # 100 and 200 tuples/s, each for as long: 150, and b takes in as much with both instances.
    assert ran.rate_per_s == pytest.approx({("t", "a"): 150.0, ("t", "b"): 150.0})
    # M1-1: (11 + 11) and (21 + 21) points of threads; M1-2: 11 and 21.
    assert ran.threads_cpu == pytest.approx({"M1-1": 32.0, "M1-2": 16.0})
    # The worker's figure is told by each of its tasks and counts once.
    assert ran.processes_cpu == pytest.approx({"M1-1": 30.0, "M1-2": 20.0})
    assert ran.held_back == pytest.approx({"t": 0.5})
    assert ran.queue_fill == pytest.approx({("t", "a"): 0.1, ("t", "b"): 0.1})
    assert (ran.from_ms, ran.to_ms) == (START_MS + 80_000, START_MS + 150_000)


def test_what_is_not_the_plans_time_does_not_count(spark: SparkSession) -> None:
    first, second = applied(1), applied(5, outcome=BEGUN)
    rows = [
        *minute_of(0, 999),  # before it was placed
        *minute_of(2, 100),
        *minute_of(3, 999, run="t-2-9"),  # another submission
        *minute_of(4, 999, status="warm-up"),
        *minute_of(5, 999),  # the next plan was begun
    ]
    found, _ = what_ran(rates_frame(spark, rows), [first], [first, second])
    assert found[first.id].stretches == 1
    assert found[first.id].rate_per_s["t", "a"] == pytest.approx(100.0)


def test_stretches_in_which_somebody_ran_elsewhere_do_not_count(spark: SparkSession) -> None:
    done = applied(0)
    moved = [row | {"host": "M1-1"} for row in minute_of(2, 999)]
    silent = minute_of(3, 999)[:2]
    stray = [*minute_of(4, 999), at(4.5, 3, 999) | {"task": 9, "host": "M9"}]
    acker = [*minute_of(5, 100), at(5.5, 1, 999) | {"component": "__acker", "task": 99}]
    rows = [*minute_of(1, 100), *moved, *silent, *stray, *acker]
    found, _ = what_ran(rates_frame(spark, rows), [done], [done])
    # The first and the last: an acker that the plan does not name disturbs nobody.
    assert found[done.id].stretches == 2
    assert found[done.id].rate_per_s["t", "a"] == pytest.approx(100.0)
    found, others = what_ran(rates_frame(spark, moved), [done], [done])
    assert found == {}
    # a and b's own task on M1-1, and the task that should be on M1-2.
    assert others == {done.id: Counter({("t", "a", "M1-1"): 1, ("t", "b", "M1-1"): 2})}


def test_workers_from_before_the_plan_cost_seconds_and_not_a_minute(spark: SparkSession) -> None:
    """As on a busy Storm: all that is measured lies in the minute in which the plan was applied."""
    done = applied(3 / 60)
    old = [
        row | {"host": "M1-1", "worker": "6701"}
        for second in range(6, 14, 2)
        for row in window_of_each(second / 60, 999, window_s=2)
    ]
    rows = [row for s in range(20, 52, 2) for row in window_of_each(s / 60, window_s=2)]
    late = window_of_each(59 / 60, window_s=8)  # the computer had something else to do
    found, _ = what_ran(rates_frame(spark, [*old, *rows, *late]), [done], [done])
    # Stretches of 6 s: 18, 24, 30, 36, 42, 48 and 54 are as planned, 6 and 12 are not.
    assert found[done.id].stretches == 7
    assert found[done.id].rate_per_s["t", "a"] == pytest.approx(100.0)
    assert found[done.id].from_ms == START_MS + 18_000


def test_a_plan_without_a_measurement_says_what_was_missing() -> None:
    done = applied(0)
    everywhere = Counter({("t", "a", "M1-1"): 7, ("t", "b", "M1-1"): 7, ("t", "b", "M1-2"): 2})
    all_but_one = everywhere - Counter({("t", "b", "M1-2"): 2})
    assert why_not(done, Counter()) == "the telemetry given has nothing of it after its warm-up"
    assert why_not(done, everywhere) == (
        "in none of the 16 windows seen was every instance where the plan has it at the same "
        "time; did something move, or was the time too short?"
    )
    assert why_not(done, all_but_one) == (
        "in none of the 14 windows seen was every instance where the plan has it: none is of b "
        "on M1-2; was telemetry of a machine left out, or something moved?"
    )


def test_tables_survive_a_crash_and_know_why_nothing_was_measured(
    spark: SparkSession, tmp_path: Path
) -> None:
    store = Store(spark, str(tmp_path / "tables"))
    tables = HistoryTables(store)
    done, silent = applied(0), applied(50, steps=(TopologyReceipt("t", "t-7-7"),))
    receipts = [(done, "the receipt"), (silent, "another")]
    assert tables.take_in(receipts) == 2
    assert tables.take_in(receipts) == 0  # known already
    assert tables.take_in([(done, "the receipt, changed")]) == 1
    outcomes = tables.measure(rates_frame(spark, minute_of(1)), [done, silent])
    assert list(outcomes) == [done.id]
    manifest = store.manifest()
    assert manifest.facts[UNMEASURED] == {silent.id: why_not(silent, Counter())}
    rows = store.read(manifest, "applied").orderBy("id").collect()
    assert [(r["id"], r["receipt"]) for r in rows] == [
        (done.id, "the receipt, changed"), (silent.id, "another"),
    ]  # fmt: skip
    # A writer that dies before its commit leaves the tables as they were.
    frame = store.read(manifest, "measured_rates")
    store.write_by(
        "id", "measured_rates", frame.withColumn("rate_per_s", frame.rate_per_s * 9), "x"
    )
    (row,) = store.read(store.manifest(), "measured_rates").collect()
    assert (row["rate_per_s"], row["throughput_per_s"]) == pytest.approx((100.0, 200.0))
    (cpu,) = store.read(manifest, "predicted_cpu").where("machine = 'M1-2'").where(
        f"id = '{done.id}'"
    ).collect()  # fmt: skip
    # M1-1 is full first: 0.1 r + 1 + 0.2 r / 2 + 1 = 100 at r = 490; M1-2 then uses 0.1 * 490 + 1.
    assert cpu["cpu_points"] == pytest.approx(50.0)

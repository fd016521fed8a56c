"""How far a step is, while Spark works on it; how far a follower is behind."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.telemetry.pipeline import Pipeline
from penstock.telemetry.source import open_source
from penstock.telemetry.step_watch import StepState, StepWatch
from penstock.telemetry.store import Store
from penstock_bench.benchmarks.recordings import write_volume

pytestmark = pytest.mark.spark


def test_tasks_and_the_records_they_have_read_are_seen_while_they_work(
    spark: SparkSession, tmp_path: Path
):
    """Eight tasks of ten records; all but the first wait until the watch has seen it end."""
    seen: list[StepState] = []
    go = tmp_path / "go"

    def tell(state: StepState) -> None:
        seen.append(state)
        # Spark tells of records and of tasks by different ways, each in its time.
        if state.records and state.tasks_done:
            go.touch()

    watch = StepWatch(spark, tell, every_s=0.05)
    count, signal = watch.count, str(go)

    def work(batches):
        import time
        from pathlib import Path

        for batch in batches:
            first = batch.column(0).to_pylist()[0]
            while first >= 10 and not Path(signal).exists():
                time.sleep(0.02)
            count(batch.num_rows)
            yield pa.record_batch([batch.column(0)], ["id"])

    with watch.during("take in"):
        rows = spark.range(0, 80, 1, 8).mapInArrow(work, "id bigint").collect()
    assert len(rows) == 80
    assert {state.name for state in seen} == {"take in"}
    # The first task was seen to end while all others waited, with its ten records.
    first = next(state for state in seen if state.records and state.tasks_done)
    assert (first.tasks_done, first.tasks, first.records) == (1, 8, 10)
    # The next step begins at none.
    with watch.during("fits"):
        assert watch._state("fits", watch.clock(), 80).records == 0


def test_the_pace_so_far_says_how_long_the_rest_will_take():
    # 3 of 12 tasks in 6 s: the 9 others take 18 s. 500 records in 10 s are 50 a second.
    state = StepState("take in", 10.0, tasks_done=3, tasks=12, tasks_s=6.0, records=500)
    assert (state.left_s, state.records_per_s) == (18.0, 50.0)
    assert StepState("take in", 10.0, 0, 12, 6.0, 0).left_s is None


def test_a_pipeline_tells_of_its_steps_and_a_follower_how_far_it_is_behind(
    spark: SparkSession, tmp_path: Path
):
    folder = tmp_path / "telemetry"
    write_volume(folder, 3000, components=3, types=2)
    told: list[str] = []
    seen = []
    # The last of 500 windows of ten seconds ends at 01:23:20; the clock shows a minute later.
    last_s = 1_767_225_600 + 5000
    pipeline = Pipeline(
        spark,
        Store(spark, str(tmp_path / "store")),
        clock=lambda: last_s + 60.0,
        step_told=lambda state: told.append(state.name),
    )
    assert pipeline.timings.watch != Pipeline(spark, Store(spark, str(tmp_path))).timings.watch
    source = open_source(spark, str(folder))
    pipeline.follow(source, seen.append, every_s=0.1, stop=lambda: bool(seen))
    assert seen[0].lag is not None
    # The newest record is as old as its own window says: within ten seconds of the end.
    assert seen[0].lag.newest_record_s == pytest.approx(60.0, abs=10.0)
    assert seen[0].lag.batch_s == 0.0
    assert set(told) <= {step.name for step in seen[0].timings}

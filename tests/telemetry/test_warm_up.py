"""How much of a worker's first seconds is left out, of long runs and of short ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.model.telemetry import Sample
from penstock.telemetry.pipeline import Pipeline
from penstock.telemetry.settings import Settings, fitting_warm_up_s
from penstock.telemetry.store import Store

START_MS = 1_767_225_600_000


@pytest.mark.parametrize(
    ("first_s", "longest_s", "left_out_s"),
    [
        (10.0, 3600.0, 60.0),  # a minute is usual
        (10.0, 120.0, 60.0),
        (5.0, 50.0, 25.0),  # half of a shorter run
        (None, None, 60.0),  # nobody said how old workers were
    ],
)
def test_a_short_run_loses_half_of_itself_at_most(first_s, longest_s, left_out_s):
    assert fitting_warm_up_s(first_s, longest_s) == left_out_s


def test_the_first_window_never_counts_in_a_short_run():
    # Processes start in it: it ended after 15 s, the run after 23.
    assert 15.0 < fitting_warm_up_s(15.0, 23.0) < 15.001


def samples(*uptimes_s: float) -> Iterator[Sample]:
    """Windows of five seconds of one spout in eight tasks: 0.01 points per tuple/s, at 3 loads."""
    for number, uptime_s in enumerate(uptimes_s):
        tuples = (4000.0, 2000.0, 1000.0)[number % 3]
        for task in range(8):
            yield Sample(
                time_ms=START_MS + int(1000 * uptime_s),
                window_ms=5000,
                topology="t",
                component="read",
                task=task,
                host="laptop",
                machine_type="any",
                worker="1",
                run="r",
                inputs=(),
                produced=tuples + task,
                cpu_points=0.01 * (tuples + task) / 5 + 1.0,
                uptime_s=uptime_s,
            )


@pytest.mark.spark
def test_a_run_of_thirty_seconds_yields_a_profile(spark: SparkSession, tmp_path: Path) -> None:
    said: list[str] = []
    pipeline = Pipeline(spark, Store(spark, str(tmp_path)), progress=said.append)
    pipeline.take_in_samples(samples(5, 10, 15, 20, 25, 30), "short")
    found = pipeline.measure()
    assert not found.not_ready
    assert found.quality.windows == {"used": 32, "warm-up": 16}  # 15 s and later
    assert "the run took only 30 s: its first 15 s are left out as warm-up (--warm-up)" in said
    # It goes on: now a minute is left out, of what was there before, too.
    pipeline.take_in_samples(samples(*range(35, 185, 5)), "longer")
    assert pipeline.measure().quality.windows == {"used": 25 * 8, "warm-up": 11 * 8}


@pytest.mark.spark
def test_the_warm_up_asked_for_is_kept_to(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = Pipeline(spark, Store(spark, str(tmp_path)), Settings(warm_up_s=60.0))
    pipeline.take_in_samples(samples(5, 10, 15, 20, 25, 30), "short")
    (missing,) = pipeline.measure().not_ready
    assert missing.why == (
        "no window with tuple counts and CPU after the warm-up; run longer, or see --warm-up"
    )

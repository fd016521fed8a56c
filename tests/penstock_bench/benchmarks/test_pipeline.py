"""Short forms of ``penstock bench pipeline``: nothing lost, nothing twice, nowhere else different.

Each runs the real command in processes of its own. The long forms are the benchmark's.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.cli.main import main
from penstock.engines.spark.standalone import standalone_cluster
from penstock.telemetry.manifest import Manifest
from penstock_bench.benchmarks import pipeline, pipeline_cluster
from penstock_bench.benchmarks.peer import aggregate_with_duckdb
from penstock_bench.benchmarks.recordings import everywhere, random_problem, write_volume

# One after another: each starts a Spark of its own on all cores.
pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def _java_in_haste(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small work in many processes: the time goes into compiling, not into running."""
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


@pytest.fixture
def _in_this_session(spark, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """Undisturbed runs use the session of the other tests, which is warm."""

    def profile(folder: Path, *options: str) -> dict[str, Any]:
        with pytest.raises(SystemExit) as left:
            main(["profile", str(folder), "--json", *options])
        streams = capsys.readouterr()
        assert left.value.code == 0, streams.err
        answer: dict[str, Any] = json.loads(streams.out)
        return answer

    monkeypatch.setattr(pipeline, "run_profile", profile)


@pytest.mark.usefixtures("_in_this_session")
def test_good_records_are_all_used_and_bad_ones_all_named():
    unused, misjudged, ways = pipeline._broken(records=3000, share=0.2, seed=2)
    assert (unused, misjudged) == (0, 0)
    assert ways >= 20


def test_a_standalone_cluster_of_two_workers_makes_the_same_tables(
    tmp_path: Path, request: pytest.FixtureRequest
):
    folder = tmp_path / "telemetry"
    write_volume(folder, 6000, components=4, types=3)
    with standalone_cluster(2) as cluster:
        pipeline_cluster.profile_on(cluster.master, folder, tmp_path / "cluster")
        running = list(cluster.daemons.running)
    assert all(daemon.process.poll() is not None for daemon in running)
    request.getfixturevalue("_in_this_session")
    pipeline.run_profile(folder, "--store", str(tmp_path / "local"), "--partial")
    assert pipeline.different_rows(tmp_path / "local", tmp_path / "cluster") == 0


def test_the_peer_finds_the_same_costs_and_pairs(tmp_path: Path):
    write_volume(tmp_path, 24_000, components=3, types=2)
    costs, pairs = aggregate_with_duckdb(tmp_path)
    problem = random_problem("volume", 3, 2, 1)
    truth = {(c.row, c.machine_type): c for c in problem.profile.costs}
    assert len(costs) == len(everywhere(problem)) == 6
    for _, component, kind, samples, e, met, _ in costs:
        assert samples >= 4000
        # Plain least squares with 1 % wild readings is off by some per cent, not by a factor.
        assert e == pytest.approx(truth[component, kind].e, rel=0.3)
        assert np.isfinite(met)
    assert pairs > 0


def test_rows_are_compared_as_often_as_they_occur(tmp_path: Path):
    # Two stores that differ in one row only, which one of them has twice.
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name, values in (("one", [1, 2, 2]), ("other", [1, 2])):
        part = tmp_path / name / "streams" / "part=1"
        part.mkdir(parents=True)
        pq.write_table(pa.table({"x": values}), part / "a.parquet")
        manifest = tmp_path / name / "manifest"
        manifest.mkdir()
        parts = {"streams": {"1": "streams/part=1"}}
        (manifest / "00000001.json").write_bytes(Manifest(1, parts).to_bytes())
    assert pipeline.different_rows(tmp_path / "one", tmp_path / "other") == 1

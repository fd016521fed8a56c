"""The loader of measured Storm runs: hand-made Parquet, and the real one where it is at hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.penstock_bench.pdsp.pdsp_files import write_pdsp

from penstock.errors import InputError
from penstock_bench.data import data_folder
from penstock_bench.pdsp.runs import PlanEdge, load_runs


def test_runs_operators_and_edges_are_joined(tmp_path):
    write_pdsp(tmp_path)
    runs = load_runs(tmp_path)
    first = runs.run_id.tolist().index("word|big|2|100000")
    assert runs.bolt_parallelism[first] == 2
    assert runs.parallelism[first] == {"spout": 10, "split": 2, "count": 2, "sink": 1}
    assert runs.selectivity[first] == {"split": 6.0, "count": 1.0}
    assert set(runs.busy_threads[first]) == {"split"}  # count's execute time rounds to zero
    assert runs.edges["word"][0] == PlanEdge("spout", "split", "shuffle", True)
    assert len(runs.where(runs.saturated)) == int(runs.saturated.sum())
    assert runs.where(runs.saturated).parallelism == tuple(
        p for p, s in zip(runs.parallelism, runs.saturated, strict=True) if s
    )


def test_a_missing_flag_is_not_true(tmp_path):
    write_pdsp(tmp_path, flags=None)
    assert not load_runs(tmp_path).valid.any()


def test_all_that_is_missing_is_said_at_once(tmp_path):
    write_pdsp(tmp_path, without=("cpu_percent_steady_node_mean", "valid"))
    (tmp_path / "edges.parquet").unlink()
    (tmp_path / "operators.parquet").write_text("not Parquet")
    with pytest.raises(InputError) as caught:
        load_runs(tmp_path)
    text = str(caught.value)
    assert f"{tmp_path / 'edges.parquet'}: no such file" in text
    assert "cpu_percent_steady_node_mean: no such column" in text
    assert "valid: no such column" in text
    assert "operators.parquet: not a Parquet file that can be read" in text
    assert len(caught.value.findings) == 4


def test_an_empty_folder_names_three_files(tmp_path):
    with pytest.raises(InputError) as caught:
        load_runs(tmp_path)
    assert len(caught.value.findings) == 3


@pytest.fixture(scope="module")
def measured() -> Path:
    folder = data_folder() / "pdsp-storm"
    if not folder.is_dir():
        pytest.skip(f"no measured runs in {folder}; PENSTOCK_DATA names another folder")
    return folder


@pytest.mark.data
def test_the_measured_runs_are_as_their_readme_says(measured):
    runs = load_runs(measured)
    assert len(runs) >= 871  # more are kept back
    assert len(set(runs.machine_type.tolist())) == 3
    assert set(runs.nodes.tolist()) == {5.0}
    # Saturated runs are below what was offered, steady, and never without a rate.
    assert (runs.rate_per_s[runs.saturated] < 0.93 * runs.offered_per_s[runs.saturated]).all()
    assert runs.source_steady[runs.saturated].all()
    used = runs.where(runs.valid & runs.source_steady)
    assert np.isfinite(used.cpu_percent).all()
    assert (used.cpu_percent > 0).all()
    assert set(runs.plan.tolist()) <= set(runs.edges)

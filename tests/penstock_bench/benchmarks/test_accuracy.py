"""The accuracy benchmark on small hand-made files: what is held out stays out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.penstock_bench.pdsp.pdsp_files import write_pdsp

from penstock.errors import InputError
from penstock_bench.benchmarks import accuracy, left_out
from penstock_bench.benchmarks.left_out import PooledNodeCpu, vectors_left_out
from penstock_bench.benchmarks.suite import run_suite
from penstock_bench.data import VARIABLE
from penstock_bench.pdsp.nodecpu import NodeForm
from penstock_bench.pdsp.runs import load_runs


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("data") / "pdsp-storm"
    made.mkdir()
    write_pdsp(made)
    return made


@pytest.fixture(scope="module")
def runs(folder):
    return load_runs(folder)


@pytest.fixture(autouse=True)
def _forget(monkeypatch):
    """Measures are cached for the life of a process; tests change the data."""
    cached = [value for value in vars(accuracy).values() if hasattr(value, "cache_clear")]
    for function in cached:
        function.cache_clear()
    yield
    for function in cached:
        function.cache_clear()


def test_folds_hold_one_vector_of_one_pair(runs):
    folds = vectors_left_out(runs, 4)
    # 3 plans × 2 machine types × 5 vectors, each with four others.
    assert len(folds) == 30
    assert vectors_left_out(runs, 5) == []
    for fold in folds:
        assert not (fold.held & fold.training).any()
        assert len(set(runs.vector[fold.held].tolist())) == 1
        assert len(set(runs.plan[fold.held].tolist())) == 1
        assert (fold.training | fold.held).all()
    for fold, strict in zip(folds, left_out.everywhere(runs, folds), strict=True):
        assert (strict.held == fold.held).all()
        held_out = runs.bolt_parallelism[fold.held][0]
        assert not (strict.training & (runs.bolt_parallelism == held_out)).any()


def test_a_new_application_shows_two_runs_of_different_vectors(runs):
    folds = left_out.application_left_out(runs, runs.rate_per_s)
    assert len(folds) == 6
    for fold in folds:
        shown = fold.pair & fold.training
        assert shown.sum() == 2
        rates = runs.rate_per_s[fold.pair]
        assert sorted(runs.rate_per_s[shown]) == [rates.min(), rates.max()]
        # Nothing of the application but those two, on no machine type.
        same_app = runs.app == runs.app[fold.held][0]
        assert (fold.training & same_app).sum() == 2
        assert not set(runs.vector[fold.held].tolist()) & set(runs.vector[shown].tolist())


CPU_MODELS = {
    "plain": lambda runs: left_out.node_form(NodeForm.PLAIN),
    "saturating": lambda runs: left_out.node_form(NodeForm.SATURATING),
    "ours": PooledNodeCpu,
}


@pytest.mark.parametrize("name", CPU_MODELS)
def test_held_out_measurements_never_reach_the_prediction_of_cpu(runs, name):
    fold = vectors_left_out(runs, 2)[7]
    changed = runs.cpu_percent.copy()
    changed[fold.held] *= 3
    other = tuple(
        {"split": 99.0} if held else selectivity
        for held, selectivity in zip(fold.held, runs.selectivity, strict=True)
    )
    twisted = replace(runs, cpu_percent=changed, selectivity=other)
    predictions = [CPU_MODELS[name](r)(r, fold) for r in (runs, twisted)]
    assert (predictions[0] == predictions[1]).all()


@pytest.mark.parametrize(
    "model",
    [
        left_out.universal,
        left_out.ceiling,
        left_out.constant_execute_time,
        left_out.pooled_scaling,
    ],
)
def test_held_out_measurements_never_reach_the_prediction_of_throughput(runs, model):
    saturated = runs.where(runs.saturated)
    fold = vectors_left_out(saturated, 3)[4]
    changed = saturated.rate_per_s.copy()
    changed[fold.held] /= 7
    predictions = [model(r, fold) for r in (saturated, replace(saturated, rate_per_s=changed))]
    assert (predictions[0] == predictions[1]).all()


def test_ours_beats_the_plain_line_where_nodes_saturate(runs):
    folds = vectors_left_out(runs, 2)[:10]
    models = {"plain": left_out.node_form(NodeForm.PLAIN), "ours": PooledNodeCpu(runs)}
    predicted = left_out.predict(runs, folds, models)
    error = {k: np.nanmedian(np.abs(v / runs.cpu_percent - 1)) for k, v in predicted.items()}
    assert error["ours"] < 0.05 < error["plain"]
    unheld = ~np.any([fold.held for fold in folds], axis=0)
    assert np.isnan(predicted["ours"][unheld]).all()


def test_replicates_are_compared_only_at_rates_that_are_close(runs):
    some = runs.where((runs.plan == "word") & (runs.vector == "10,2,2,1"))
    # One kept up with 100,000/s and one saturated on each machine type: never close, or one pair.
    assert len(left_out.near_replicates(some, some.cpu_percent)) == 2
    twice = replace(some, rate_per_s=np.full(4, 100.0), cpu_percent=np.array([10.0, 12, 20, 20]))
    found = left_out.near_replicates(twice, twice.cpu_percent, 0.05)
    assert sorted(found) == pytest.approx([0.0, 2 / 11])


@pytest.mark.slow
def test_the_suite_runs_and_says_what_holds(folder, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(folder.parent))
    report = run_suite("accuracy")
    assert [table.title.split(",")[0] for table in report.tables][:2] == [
        "Node CPU from the measured rate",
        "Node CPU",
    ]
    names = [row[0] for row in report.tables[0].rows]
    assert "ours" in names
    assert "the paper's claim" in names
    assert len(report.results) == 6
    assert all(result.goal is not None and result.value >= 0 for result in report.results)
    by_name = {result.name: result for result in report.results}
    assert by_name["node CPU on vectors left out, median error"].value < 5.5


def test_without_the_data_the_remedy_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(InputError, match="set PENSTOCK_DATA to the folder that has pdsp-storm"):
        run_suite("accuracy")

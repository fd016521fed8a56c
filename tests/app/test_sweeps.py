"""Sweeps: cells that are finished stay finished, failures are rows, the table is the same."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from penstock.app.sweep_cells import cells_of, run_cell
from penstock.app.sweep_store import TABLE, CellStore
from penstock.engines.spark.session import spark_session
from penstock.engines.spark.standalone import standalone_cluster
from penstock.engines.spark.sweep_job import finished, run_tasks
from penstock.files.store import load

SUITE = {
    "format": "penstock/sweep",
    "version": 1,
    "problems": [{"topology": "linear", "cluster": "nasiri-testbed"}],
    "schedulers": ["hetero", "default"],
    "seeds": 2,
    "scenarios": [{"load": 0.8, "seconds": 5}, {"saturate": True, "seconds": 5}],
}


@pytest.fixture
def cells():
    return cells_of(load(SUITE))


def fails_on_three(cell):
    if cell.number == 3:
        raise ValueError("three is too many")
    return {**cell.names, "twice": 2 * cell.number}


def test_a_grid_is_every_combination_with_a_key_of_its_own(cells):
    assert len(cells) == 8
    assert len({cell.key for cell in cells}) == 8
    assert [cell.key for cell in cells] == [cell.key for cell in cells_of(load(SUITE))]
    other = cells_of(load({**SUITE, "runs": 2}))
    assert cells[0].key != other[0].key


def test_a_cell_is_a_row_with_plan_and_simulation(cells):
    row = run_cell(cells[0])
    assert row["scheduler"] == "hetero"
    assert row["completed_per_s"] == pytest.approx(0.8 * row["planned_scale"], rel=0.1)
    assert row == run_cell(cells[0])


def test_a_cell_without_a_plan_says_why():
    suite = {**SUITE, "problems": [{"topology": "linear", "met": 500}]}
    row = run_cell(cells_of(load(suite))[0])
    assert not row["placed"]
    assert "cpu_points" in row["why_not"]


def test_what_goes_wrong_in_a_cell_is_its_result(cells):
    found = finished((cells[3].key, cells[3]), fails_on_three)
    assert found["row"]["error"] == "ValueError: three is too many"
    assert found["row"]["cell"] == 3
    assert "Traceback" in found["trace"]


def test_the_store_keeps_cells_and_forgets_them(tmp_path, cells):
    store = CellStore(tmp_path)
    for cell in reversed(cells):
        store.keep(finished((cell.key, cell), fails_on_three))
    keys = [cell.key for cell in cells]
    first = store.write_table(keys).read_bytes()
    assert pq.read_table(tmp_path / TABLE)["cell"].to_pylist() == list(range(8))
    assert store.write_table(keys).read_bytes() == first
    store.forget([keys[0]])
    assert store.read(keys[0]) is None
    (tmp_path / "cells" / f"{keys[1]}.json").write_text("{broken", encoding="utf-8")
    assert store.read(keys[1]) is None


@pytest.mark.parametrize("text", ["[]", "3", "null", '{"key": "KEY"}', '{"key": "KEY", "row": 1}'])
def test_a_cell_that_somebody_changed_is_run_again(tmp_path, cells, text):
    store, key = CellStore(tmp_path), cells[0].key
    store.keep(finished((key, cells[0]), fails_on_three))
    assert store.read(key) is not None
    (tmp_path / "cells" / f"{key}.json").write_text(text.replace("KEY", key), encoding="utf-8")
    assert store.read(key) is None


@pytest.mark.spark
def test_on_spark_a_failed_cell_is_a_row_and_a_second_start_runs_only_what_is_left(tmp_path, cells):
    store = CellStore(tmp_path)
    seen = []
    tasks = [(cell.key, cell) for cell in cells]
    with spark_session("local[2]") as spark:
        run_tasks(spark, tasks[:5], fails_on_three, store.keep, seen.append)
        left = [task for task in tasks if store.read(task[0]) is None]
        assert [cell.number for _, cell in left] == [5, 6, 7]
        run_tasks(spark, left, fails_on_three, store.keep, seen.append)
    assert sorted(one["row"]["cell"] for one in seen) == list(range(8))
    table = pq.read_table(store.write_table([key for key, _ in tasks])).to_pylist()
    assert [row["error"] is None for row in table] == [True] * 3 + [False] + [True] * 4


@pytest.mark.spark
def test_a_cluster_of_two_workers_makes_the_table_that_this_process_makes(tmp_path, cells):
    here, there = CellStore(tmp_path / "here"), CellStore(tmp_path / "there")
    for cell in cells:
        here.keep(finished((cell.key, cell), run_cell))
    with (
        standalone_cluster(2) as cluster,
        spark_session(cluster.master) as spark,
    ):
        run_tasks(spark, [(cell.key, cell) for cell in cells], run_cell, there.keep)
    keys = [cell.key for cell in cells]
    tables = [pq.read_table(store.write_table(keys)).to_pylist() for store in (here, there)]
    assert tables[0] == tables[1]


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path):
    from penstock.errors import InputError

    Path(tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be made"):
        CellStore(tmp_path / "file")

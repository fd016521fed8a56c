"""A rehearsal is kept as it goes: killed and started again it ends with the same table."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from penstock import app
from penstock.app.rehearsal import RehearsalOptions, recorded_load
from penstock.cli import main
from penstock.control.recorded_load import RecordedLoad
from penstock.control.rehearsed_engine import FaultPlan
from penstock.errors import InputError
from penstock.files.store import load
from penstock.planning.capacity_plans import CapacityPlanner
from penstock.report.page.html import to_html
from penstock.report.pages.rehearsal import rehearsal_page, rehearsed_rows
from penstock.schedulers.base import Budget

PROBLEM = app.problem("diamond", "nasiri-testbed", weighted=True)


def short() -> Budget:
    return Budget(iterations=1)


PLANNER = CapacityPlanner(PROBLEM, levels=20, budget=short)
LOAD = RecordedLoad("test", np.array([0.3, 0.3, 0.6, 0.6]) * PLANNER.bound_per_s)
OPTIONS = RehearsalOptions(policies=("penstock", "static"), seeds=2, faults=FaultPlan(400, 200))


def rehearsed(out: Path, **how) -> app.Rehearsal:
    return app.rehearse(PROBLEM, [LOAD], OPTIONS, out=out, planner=PLANNER, **how)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.slow
def test_one_that_was_stopped_goes_on_and_ends_with_the_same(tmp_path):
    whole = rehearsed(tmp_path / "whole")
    turns = iter([False, False, True])
    stopped = rehearsed(tmp_path / "parts", stop=lambda: next(turns))
    assert stopped.was_stopped
    assert len(stopped.rows) == 2
    kept = []
    again = rehearsed(tmp_path / "parts", progress=lambda _score, was_kept: kept.append(was_kept))
    assert kept == [True, True, False, False]
    assert [row.score for row in again.rows] == [row.score for row in whole.rows]
    # Journals too, byte for byte.
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


@pytest.mark.spark
def test_on_spark_it_is_the_same_as_here_and_goes_on_where_it_was(tmp_path):
    whole = rehearsed(tmp_path / "here")
    turns = iter([False, True])
    rehearsed(tmp_path / "spark", stop=lambda: next(turns))  # one of four, as if killed
    again = rehearsed(tmp_path / "spark", master="local[2]")
    assert [row.score for row in again.rows] == [row.score for row in whole.rows]
    assert contents(tmp_path / "spark") == contents(tmp_path / "here")


#: Ends itself as kill -9 would, in the middle of keeping the third cell: its journal is there.
DIES = """
import os, signal, sys
from penstock.app import rehearsal_store
from penstock.cli.main import main

written = []
replace_file = rehearsal_store.replace_file

def dying(path, content):
    replace_file(path, content)
    written.append(path)
    if len(written) == 5:
        os.kill(os.getpid(), signal.SIGKILL)

rehearsal_store.replace_file = dying
main(sys.argv[1:])
"""


@pytest.mark.slow
def test_one_that_was_killed_ends_with_the_same_table(tmp_path, capsys):
    tables = []
    load = tmp_path / "load.csv"
    load.write_text("".join(f"{300 * i},{10 + i}\n" for i in range(4)))
    arguments = ["rehearse", str(load), "--seeds", "3", "-c", "nasiri-testbed"]
    for name in ("whole", "killed"):
        out = tmp_path / name
        whole = [*arguments, "--policy", "static", "--out", str(out)]
        if name == "killed":
            died = subprocess.run([sys.executable, "-c", DIES, *whole], capture_output=True)
            assert died.returncode == -signal.SIGKILL
            assert len(list((out / "cells").glob("*.json"))) == 2
        with pytest.raises(SystemExit) as left:
            main.main(whole)
        assert left.value.code == 0
        tables.append(capsys.readouterr().out)
    assert tables[0] == tables[1]
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


CHANGES = {
    "cut": lambda text: text[:100],
    "a figure": lambda text: text.replace('"changes": ', '"changes": 9'),
    "another type": lambda text: text.replace('"seed": 0', '"seed": [0]'),
    "a number alone": lambda text: "5",
    "deep nesting": lambda text: "[" * 100_000,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_was_half_written_or_changed_counts_as_not_there(tmp_path, change):
    whole = rehearsed(tmp_path)
    # Which cell has which name is chance: it is the one that every change changes.
    cells = (tmp_path / "cells").glob("*.json")
    cell = next(path for path in cells if '"seed": 0' in path.read_text())
    before = contents(tmp_path)
    cell.write_text(change(cell.read_text()))
    assert contents(tmp_path) != before
    assert [row.score for row in rehearsed(tmp_path).rows] == [row.score for row in whole.rows]
    assert contents(tmp_path) == before


def test_the_watch_file_of_the_best_can_be_used(tmp_path):
    result = rehearsed(tmp_path)
    assert load(tmp_path / "watch.yaml") == result.best_watch
    assert result.best in OPTIONS.policies


def test_the_page_shows_every_policy_and_its_picture():
    result = app.rehearse(PROBLEM, [LOAD], OPTIONS, planner=PLANNER)
    rows = rehearsed_rows([(row.score, row.series) for row in result.rows])
    assert [(row.policy, len(row.scores)) for row in rows] == [("penstock", 2), ("static", 2)]
    page = to_html(rehearsal_page("test", rows, result.best, pictures=True))
    assert page.count("<svg") >= 1
    assert "static" in page


@pytest.mark.slow
def test_the_command_prints_rows_as_json(tmp_path, capsys):
    path = tmp_path / "load.csv"
    path.write_text("".join(f"{300 * i},{10 + i}\n" for i in range(4)))
    arguments = ["rehearse", str(path), "-c", "nasiri-testbed", "--policy", "static", "--json"]
    with pytest.raises(SystemExit) as left:
        main.main(arguments)
    assert left.value.code == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["format"] == "penstock/rehearsal"
    assert [row["policy"] for row in printed["rows"]] == ["static"]


def test_other_files_are_no_watch_rules():
    with pytest.raises(InputError, match="not watch rules"):
        app.watch_setting({"format": "penstock/terms", "version": 1})


@pytest.mark.parametrize("cut", [{"days": 0.01}, {"median_s": 1800.0}])
def test_a_load_of_which_nothing_is_left_is_refused(tmp_path, cut):
    # Nothing for the first 20 minutes, and in two of each three steps of ten minutes.
    path = tmp_path / "load.csv"
    path.write_text("".join(f"{600 * i},{9 * (i % 3 == 2)}\n" for i in range(12)))
    with pytest.raises(InputError, match="no rate is above zero in what is left"):
        recorded_load(path, RehearsalOptions(**cut), 100.0)

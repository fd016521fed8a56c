"""Results of benchmarks are JSON, and pages are rendered from it."""

from __future__ import annotations

import json

import pytest

from penstock.errors import InputError
from penstock.report.page.json_reader import from_dict
from penstock.report.page.markdown import to_markdown
from penstock.report.provenance import Provenance
from penstock_bench.benchmarks.results import (
    RESULTS_FOLDER,
    SuiteRun,
    read_runs,
    results_page,
    runs_text,
    with_run,
)
from penstock_bench.benchmarks.suite import FigureTable, Report, Result, suite_names

REPRODUCTION = RESULTS_FOLDER / "reproduce.json"
KEPT = sorted(path for path in RESULTS_FOLDER.glob("*.json") if path != REPRODUCTION)
GOAL = Result("time | all", 1.2345678, "s", 1.0, 2.0, 3, "at_most", 1.0)
TABLE = FigureTable("Times", ["problem", "time"], [["a", "1.2 s"], ["b", "10.5 s"]])


def _run(command: str, remark: str = "") -> SuiteRun:
    source = Provenance(command, "2026-11-19 10:00 UTC", "a computer", commit="abc", seconds=7.0)
    return SuiteRun("core", source, Report([GOAL], [TABLE], ["x: failed"]), remark=remark)


def test_what_is_written_is_read_again(tmp_path):
    runs = [_run("penstock bench core"), _run("penstock bench core --quick", "on a busy day")]
    path = tmp_path / "core.json"
    path.write_text(runs_text(runs))
    assert read_runs(path) == runs
    (first, _) = json.loads(path.read_text())["runs"]
    assert first["run"]["commit"] == "abc"
    assert first["results"][0]["value"] == 1.2345678


def test_a_run_takes_the_place_of_one_by_the_same_command():
    whole, part, again = (
        _run("penstock bench core"),
        _run("penstock bench core --only x"),
        _run("penstock bench core", "again"),
    )
    assert with_run([whole, part], again) == [part, again]


def test_markdown_says_where_figures_come_from_and_which_goals_are_missed():
    text = to_markdown(results_page([_run("penstock bench core")]), level=2)
    assert "commit abc; command penstock bench core; written 2026-11-19 10:00 UTC, in 7 s" in text
    assert "### Times\n\n| problem | time |\n| --- | ---: |\n| a | 1.2 s |" in text
    assert "| time \\| all | 1.235 | s | 1 … 2 | ≤ 1 | NO |" in text


@pytest.mark.parametrize("text", ["", "{}", '{"format": "penstock/bench-results", "version": 2}'])
def test_a_file_of_something_else_is_refused(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(InputError, match="is not a file of benchmark results"):
        read_runs(path)


def test_results_in_the_repository_are_of_suites_and_say_where_they_come_from():
    assert KEPT
    for path in KEPT:
        for run in read_runs(path):
            assert run.suite == path.stem
            assert run.suite in suite_names()
            assert run.provenance.commit
            assert run.provenance.machine
            assert run.provenance.command.startswith(f"penstock bench {run.suite}")


def test_pages_in_the_repository_are_rendered_from_the_results():
    for path in KEPT:
        text = to_markdown(results_page(read_runs(path)), level=2)
        assert path.with_suffix(".md").read_text(encoding="utf-8").endswith(text)


def test_the_papers_evaluations_in_the_repository_are_rendered_from_their_json():
    kept = json.loads(REPRODUCTION.read_text(encoding="utf-8"))
    text = to_markdown(from_dict(kept))
    assert REPRODUCTION.with_suffix(".md").read_text(encoding="utf-8").endswith(text)

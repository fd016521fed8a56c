"""Benchmark suites: data that says what is measured, how often, and what must hold."""

from __future__ import annotations

import inspect
import json
from dataclasses import replace

import pytest

from penstock.cli.main import main
from penstock.errors import PenstockError, UnknownNameError
from penstock.evaluate.capacity import capacity
from penstock.files.document import read_document
from penstock_bench.benchmarks import core, suite
from penstock_bench.benchmarks.loops import sustainable_scale_by_loops
from penstock_bench.benchmarks.reference_loop import ReferenceLoop
from penstock_bench.benchmarks.suite import (
    _SUITES,
    FigureTable,
    NotMeasurableHere,
    Result,
    _entries,
    _measure,
    run_suite,
    suite_names,
)


def result(value: float, direction: str, goal: float | None) -> Result:
    return Result("x", value, "ms", value, value, 1, direction, goal)


@pytest.mark.parametrize(
    ("value", "direction", "goal", "holds", "text"),
    [
        (2.0, "at_most", 2.0, True, "≤ 2"),
        (2.1, "at_most", 2.0, False, "≤ 2"),
        (2.0, "at_least", 2.0, True, "≥ 2"),
        (1.9, "at_least", 2.0, False, "≥ 2"),
        (1.9, "", None, None, ""),
    ],
)
def test_a_goal_holds_at_its_limit(value, direction, goal, holds, text):
    found = result(value, direction, goal)
    assert (found.holds, found.goal_text) == (holds, text)


@pytest.mark.parametrize(("share", "holds"), [(0.95, False), (0.9, False), (0.5, None)])
def test_seconds_are_judged_on_an_idle_machine_only(share, holds):
    found = replace(result(2.1, "at_most", 2.0), reference=ReferenceLoop(0.1, share))
    assert found.holds is holds
    assert Result.from_dict(json.loads(json.dumps(found.to_dict()))) == found


def test_what_needs_an_idle_machine_has_looks_at_it_before_and_after(monkeypatch):
    looks = iter([ReferenceLoop(0.1, 1.0), ReferenceLoop(0.2, 0.4)] + [ReferenceLoop(0.1, 1.0)] * 2)
    monkeypatch.setattr(suite.reference_loop, "look", lambda: next(looks))
    monkeypatch.setattr(suite, "_measure", lambda _entry: lambda repeats: iter([5.0] * repeats))
    entry = {"name": "x", "measure": "x", "unit": "s", "goal": {"at_most": 1}, "needs_idle": True}
    report, told = suite.Report([], [], []), []
    suite._add(report, dict(entry), quick=False, progress=told.append)
    suite._add(report, dict(entry), quick=False, progress=told.append)
    # A later figure may come from an earlier run: the busiest look counts for it, too.
    assert [found.reference.share for found in report.results] == [0.4, 0.4]
    assert report.holds
    assert (
        told[-1] == "  reference loop 200 ms, with 40 % of a core; not judged, the machine is busy"
    )
    suite._add(report, {**entry, "needs_idle": False}, quick=False, progress=told.append)
    assert not report.holds


#: Two parts, one of which this machine cannot measure.
PARTS = """
module: core
tables: [{measure: rows, part: first}]
benchmarks:
  - {name: a, part: first, measure: one, unit: s}
  - {name: b, part: second, measure: none, unit: s, goal: {at_most: 1}}
"""


@pytest.fixture
def _two_parts(tmp_path, monkeypatch):
    def none(repeats):
        raise NotMeasurableHere("no control groups")

    measures = {
        "rows": lambda: FigureTable("t", ["x"], []), "one": lambda repeats: iter([1.0]),
        "none": none,
    }  # fmt: skip
    (tmp_path / "parts.yaml").write_text(PARTS)
    monkeypatch.setattr(suite, "_SUITES", tmp_path)
    monkeypatch.setattr(suite, "_measure", lambda entry: measures[entry["measure"]])


@pytest.mark.usefixtures("_two_parts")
def test_a_part_of_a_suite_is_its_tables_and_its_benchmarks():
    report = run_suite("parts", only="first")
    assert ([t.title for t in report.tables], [r.name for r in report.results]) == (["t"], ["a"])
    with pytest.raises(UnknownNameError, match="first"):
        run_suite("parts", only="frist")


@pytest.mark.usefixtures("_two_parts")
def test_what_this_machine_cannot_measure_is_said_and_not_judged():
    report = run_suite("parts", only="second")
    assert (report.left_out, report.failures) == (["b: no control groups"], [])
    assert report.holds


@pytest.mark.usefixtures("_two_parts")
def test_results_are_kept_after_each_measure(tmp_path):
    kept = []
    run_suite("parts", keep=lambda report: kept.append((len(report.tables), len(report.results))))
    assert kept == [(1, 0), (1, 1), (1, 1)]


@pytest.mark.usefixtures("_two_parts")
def test_a_run_that_did_not_end_is_kept_as_one(tmp_path, monkeypatch, capsys):
    path, seen = tmp_path / "kept.json", []
    original = suite._add

    def add(report, *rest):
        if path.exists():
            seen.append(json.loads(path.read_text())["runs"][0]["interrupted"])
        original(report, *rest)

    monkeypatch.setattr(suite, "_add", add)
    with pytest.raises(SystemExit):
        main(["bench", "parts", "--results", str(path)])
    (run,) = json.loads(path.read_text())["runs"]
    assert seen == [True, True]
    assert run["interrupted"] is False
    assert run["left_out"] == ["b: no control groups"]
    assert "not judged: b: no control groups" in capsys.readouterr().err


def test_a_core_gives_its_loop_something():
    found = suite.reference_loop.look()
    assert found.seconds > 0
    assert 0 < found.share <= 1.1


def test_the_suites_are_those_that_ship():
    assert "core" in suite_names()
    with pytest.raises(UnknownNameError, match='no benchmark suite "cor"; did you mean "core"'):
        run_suite("cor")


@pytest.mark.slow
def test_the_core_suite_answers_with_figures_goals_and_whether_they_hold(capsys):
    """Whether they do is for a quiet machine to say, not for a test."""
    with pytest.raises(SystemExit) as left:
        main(["bench", "core", "--quick", "--json"])
    streams = capsys.readouterr()
    found = json.loads(streams.out)
    assert (found["format"], found["version"], found["suite"]) == ("penstock/bench", 1, "core")
    assert len(found["results"]) >= 5
    for row in found["results"]:
        assert {"name", "value", "unit", "goal", "holds"} <= set(row)
        assert row["value"] >= 0
        assert row["least"] <= row["value"] <= row["most"]
        assert row["holds"] is None or isinstance(row["holds"], bool)
        # What is under way is told, but not among the results.
        assert f"… {row['name']}\n" in streams.err
    held = all(row["holds"] is not False for row in found["results"])
    assert left.value.code == (0 if held else 1)


def test_the_peer_of_the_benchmark_computes_the_same(monkeypatch):
    """Plain loops over a random placement of 60 instances on 20 machines."""
    for seed in range(3):
        problem, placement = core._random_placement(20, 60, 10, 3, seed)
        fast = capacity(problem, placement).scale
        assert sustainable_scale_by_loops(problem, placement) == pytest.approx(fast, rel=1e-12)


def test_the_quick_form_of_a_suite_leaves_out_or_shortens():
    suite = {
        "module": "core",
        "benchmarks": [
            {"name": "a", "measure": "x", "with": {"n": 100}, "quick": {"n": 1}},
            {"name": "b", "measure": "x", "with": {"n": 5}, "quick": "skip"},
            {"name": "c", "measure": "x", "module": "other"},
        ],
    }
    whole = [(e["name"], e["module"], e.get("with")) for e in _entries(suite, "benchmarks", False)]
    assert whole == [("a", "core", {"n": 100}), ("b", "core", {"n": 5}), ("c", "other", None)]
    short = [(e["name"], e["module"], e.get("with")) for e in _entries(suite, "benchmarks", True)]
    assert short == [("a", "core", {"n": 1}), ("c", "other", None)]


@pytest.mark.parametrize("name", suite_names())
def test_every_suite_names_measures_that_exist(name):
    suite = read_document(_SUITES / f"{name}.yaml").value
    for quick in (False, True):
        for kind in ("tables", "benchmarks"):
            for entry in _entries(suite, kind, quick):
                asked = inspect.signature(_measure(entry)).parameters
                assert set(entry.get("with", {})) <= set(asked)


def interrupted_after(monkeypatch, benchmarks: int) -> list[str]:
    """Ctrl-C while one of the core suite's benchmarks runs; the names of those before."""
    run, names = suite._run, []

    def one(entry, quick):
        if len(names) == benchmarks:
            raise KeyboardInterrupt
        names.append(entry["name"])
        return run(entry, quick)

    monkeypatch.setattr(suite, "_run", one)
    return names


def test_ctrl_c_keeps_what_was_measured_before(monkeypatch, capsys):
    names = interrupted_after(monkeypatch, 1)
    with pytest.raises(SystemExit) as left:
        main(["bench", "core", "--quick", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert ([row["name"] for row in found["results"]], found["interrupted"]) == (names, True)
    assert left.value.code == 130


def test_a_failure_is_told_at_once_and_the_rest_goes_on(monkeypatch):
    def one(entry, quick):
        if entry["name"] == names[0]:
            raise PenstockError("no such luck")
        return result(1.0, "", None)

    names = [entry["name"] for entry in _entries(_document("core"), "benchmarks", quick=True)]
    monkeypatch.setattr(suite, "_run", one)
    said = []
    report = run_suite("core", quick=True, progress=said.append)
    assert report.failures == [f"{names[0]}: no such luck"]
    assert said[said.index(names[0]) + 1] == "  could not be measured: no such luck"
    assert len(report.results) == len(names) - 1
    assert not report.holds


def _document(name):
    return read_document(_SUITES / f"{name}.yaml").value

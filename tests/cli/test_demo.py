"""``penstock demo`` and ``penstock generate``: what they leave behind can be used at once."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from penstock.cli import demo
from penstock.model.telemetry import UNKNOWN_TYPE
from penstock.telemetry.findings import NotReady


@pytest.fixture
def hasty(monkeypatch):
    """Runs half as long, of which the first leaves a cost unknown, as on a busy computer."""
    measure, seen = demo._measure, []

    def too_little_at_first(spark, folder):
        found = measure(spark, folder)
        seen.append(found)
        if len(seen) > 1:
            return found
        missing = NotReady("low", UNKNOWN_TYPE, "only 10 windows")
        return replace(found, findings=replace(found.findings, not_ready=(missing,)))

    monkeypatch.setattr(demo, "_BATCHES", 9)
    monkeypatch.setattr(demo, "_measure", too_little_at_first)


@pytest.mark.spark
@pytest.mark.alone
@pytest.mark.usefixtures("spark", "hasty")
def test_the_demo_measures_plans_compares_and_leaves_its_results(run):
    code, out, err = run("demo -o results")
    assert code == 0, err
    assert "low is not known yet: only 10 windows\nThe run goes on" in out
    assert err.endswith("done\n")
    steps = (
        *("1. Run", "2. Measure", "3. Measured beside", "4. Plan it", "6. The best"),
        "9. Is it true?",
        "10. All of it on one page",
    )
    for step in steps:
        assert step in out
    left = {path.name for path in Path("results").iterdir()}
    assert left == {"run", "profile.json", "plan.json", "plan.svg", "report.html"}
    assert ElementTree.parse("results/plan.svg").getroot().tag.endswith("svg")
    assert Path("results/report.html").resolve().as_uri() in out
    assert run("show results/plan.json")[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        "",
        "--components 4 --machines 5 --machine-types 2 --seed 9",
        "--topologies 3 --mixed-groupings --memory",
        "--components 1 --machines 1 --machine-types 1",
    ],
)
def test_what_is_generated_is_planned(run, options):
    code, out, err = run(f"generate {options} -o made")
    assert (code, out) == (0, "")
    # The last line is the command to try.
    hint = err.splitlines()[-1].removeprefix("try: penstock ")
    code, out, err = run(hint)
    assert code == 0, err
    assert "planned by penstock" in out
    files = " ".join(str(path) for path in Path("made").iterdir())
    assert run(f"validate {files} --rates")[0] == 0


def test_the_same_seed_makes_the_same_files(run):
    for folder in ("one", "two"):
        run(f"generate --seed 3 -o {folder}")
    run("generate --seed 4 -o other")
    same = [Path(folder, "topology-t1.yaml").read_bytes() for folder in ("one", "two", "other")]
    assert same[0] == same[1] != same[2]


def test_a_large_problem_is_written_as_json(run):
    _, out, _ = run("generate --machines 2001 -o made --json")
    assert {Path(name).suffix for name in json.loads(out)["files"]} == {".json"}
    assert run("validate made/cluster.json")[1] == (
        "made/cluster.json: cluster, 2,001 machines of 3 types\n"
    )

"""``penstock report``: from a plan or a problem, to a file or to stdout; clear where it cannot."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

QUICK = "--schedulers default --seeds 1 --no-simulate"


def test_a_plan_becomes_one_html_file(run, plans):
    pytest.importorskip("matplotlib")
    code, out, err = run(f"report hetero.json --current default.json {QUICK}")
    assert (code, out) == (0, "")
    assert err.startswith("wrote report.html (")
    text = Path("report.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "Before and after" in text
    for way_out in ("http:", "https:", "<script", "@import", "src="):
        assert way_out not in text


@pytest.mark.parametrize(
    ("option", "begins"),
    [("--markdown", "# linear on"), ("--latex", r"\documentclass"), ("--csv", "section,block")],
)
def test_other_views_are_printed(run, plans, option, begins):
    code, out, err = run(f"report hetero.json {QUICK} {option}")
    assert (code, err) == (0, "")
    assert out.startswith(begins)


def test_an_example_is_planned_and_reported(run):
    code, out, _ = run(f"report -e linear -c nasiri-testbed -s hetero {QUICK} --json")
    told = json.loads(out)
    assert code == 0
    assert (told["format"], told["version"]) == ("penstock/report", 1)
    assert told["title"] == "linear on nasiri-testbed"


def test_json_and_csv_agree(run, plans):
    told = json.loads(run(f"report hetero.json {QUICK} --json")[1])
    rows = csv.DictReader(io.StringIO(run(f"report hetero.json {QUICK} --csv")[1]))
    answer = told["sections"][0]["blocks"][0]["figures"][0]
    line = next(row for row in rows if row["row"] == answer["name"])
    assert float(line["value"]) == answer["value"]
    assert line["unit"] == answer["unit"] == "tuples/s"


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["md", "json", "csv", "tex"])
def test_the_ending_says_the_format(run, plans, ending):
    code, out, err = run(f"report hetero.json {QUICK} -o r.{ending}")
    assert (code, out) == (0, "")
    assert f"wrote r.{ending}" in err
    assert Path(f"r.{ending}").stat().st_size > 1000


def test_a_simulation_of_the_plan_is_taken(run, plans):
    pytest.importorskip("numba")
    run("simulate hetero.json --duration 3 --out sim.json")
    code, out, err = run(f"report hetero.json {QUICK} --simulation sim.json --markdown")
    assert (code, err) == (0, "")
    assert "from a file that was given, not run here" in out
    assert run("validate sim.json")[1].startswith("sim.json: simulation, scenario steady, 3 s")


@pytest.mark.slow
def test_plans_are_simulated_here(run, plans):
    pytest.importorskip("numba")
    code, out, err = run("report hetero.json --schedulers default --seeds 1 --runs 2 --markdown")
    assert (code, err) == (0, "")
    assert "95 % interval over 2 runs" in out
    assert "## Simulation" in out
    assert "p99 against load" in out
    # A calm minute has nothing to show over time.
    assert "Nothing changes during it" in out
    assert "Rates, latency and CPU over the simulated time" not in out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("report hetero.json -o r.pdf", 2, 'no format has the ending ".pdf"'),
        ("report hetero.json --json --csv", 2, "give only one of --json, --csv"),
        ("report", 2, "name a topology file"),
        ("report hetero.json -c nasiri-small", 2, "a plan carries its cluster"),
        ("report missing.json", 1, "missing.json"),
        ("report hetero.json --schedulers defalt --json", 1, 'did you mean "default"?'),
        ("report hetero.json --simulation default.json --json", 1, "is a plan, not a simulation"),
        ("report hetero.json --current nothing.json --json", 1, "nothing.json"),
        ("report hetero.json --no-simulate -o no/such/r.md", 1, "cannot be written"),
    ],
)
def test_mistakes_are_told(run, plans, command, code, message):
    seen, _, err = run(command)
    assert message in err
    assert seen == code


def test_no_plan_is_told_as_plan_tells_it(run):
    code, _, err = run(f"report -e linear -c nasiri-testbed --met 500 -s hetero {QUICK} --json")
    assert code == 4
    assert "hetero finds no plan" in err


def test_a_simulation_of_something_else_is_refused(run, plans):
    pytest.importorskip("numba")
    run("plan -e star -c nasiri-testbed -s hetero -o star.json")
    run("simulate star.json --duration 1 --out sim.json")
    code, _, err = run(f"report hetero.json {QUICK} --simulation sim.json --markdown")
    assert code == 1
    assert "the simulation is of star on nasiri-testbed, not of linear on nasiri-testbed" in err


def test_a_broken_simulation_is_told_with_its_place(run, plans):
    Path("sim.json").write_text('{"format": "penstock/simulation", "version": 1, "seed": "x"}')
    code, _, err = run(f"report hetero.json {QUICK} --simulation sim.json --markdown")
    assert code == 1
    assert "sim.json:1 seed: must be a whole number" in err
    assert "over_time: is missing" in err


def test_without_matplotlib_html_says_what_to_install(run, plans, monkeypatch):
    monkeypatch.setattr("penstock.report.charts.find_spec", lambda _name: None)
    code, _, err = run(f"report hetero.json {QUICK}")
    assert code == 1
    assert "pip install 'penstock[report]'" in err
    assert run(f"report hetero.json {QUICK} --markdown")[0] == 0

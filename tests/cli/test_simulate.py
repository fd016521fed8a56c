"""``penstock simulate``, ``compare --simulate`` and what ``sweep`` says before Spark starts."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

HEAD = "format: penstock/scenario\nversion: 1\n"


def test_a_plan_is_simulated_and_the_books_balance(run, plans):
    pytest.importorskip("matplotlib")
    code, out, err = run("simulate hetero.json --duration 20 --seed 3 --svg made.svg -o made.json")
    assert code == 0, err
    for part in ("completed/s", "p99", "events, seed 3", "at the source", "machine"):
        assert part in out
    assert Path("made.svg").read_text(encoding="utf-8").startswith("<svg")
    found = json.loads(Path("made.json").read_text(encoding="utf-8"))
    assert (found["format"], found["version"]) == ("penstock/simulation", 1)
    assert found["balance"]["missing"] == 0


def test_json_is_the_same_for_the_same_seed(run, plans):
    one = run("simulate hetero.json --duration 5 --json")[1]
    assert one == run("simulate hetero.json --duration 5 --json")[1]
    assert one != run("simulate hetero.json --duration 5 --seed 1 --json")[1]
    assert json.loads(one)["interval_over"] == "batches"


def test_several_runs_give_intervals_over_them(run, plans):
    code, out, _ = run("simulate hetero.json --duration 5 --runs 3 --json")
    found = json.loads(out)
    assert (code, found["runs"], found["interval_over"]) == (0, 3, "runs")
    assert found["figures"]["completed_per_s"]["half_width"] > 0


def test_saturated_it_carries_what_the_plan_says(run, plans):
    plan = json.loads(Path("hetero.json").read_text(encoding="utf-8"))
    code, out, _ = run("simulate hetero.json --saturate --duration 100 --json")
    rate = sum(plan["predicted"]["rate_per_s"].values())
    found = json.loads(out)["figures"]["completed_per_s"]["mean"]
    assert (code, found) == (0, pytest.approx(rate, rel=0.03))


def test_the_fluid_model_says_what_it_does_not_know(run, plans):
    code, out, _ = run("simulate hetero.json --fluid")
    assert code == 0
    assert "fluid model" in out
    assert "no percentiles" in out


def test_falling_behind_is_said(run, plans):
    code, out, _ = run("simulate hetero.json --load 1.3 --duration 30")
    assert code == 0
    assert "falls behind" in out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("simulate gone.json", 1, "error: gone.json: no such file"),
        ("simulate hetero.json --load 1 --offered 5", 2, "give one of --offered, --load and"),
        ("simulate hetero.json --load -1", 1, "must be a positive number, not -1"),
        ("simulate hetero.json --duration 0", 1, "must be a positive number of seconds"),
        (
            "simulate hetero.json --scenario dead.yaml",
            1,
            'dead.yaml changes[0].down: no machine "M9"',
        ),
        ("simulate hetero.json --scenario hetero.json", 1, "is a plan, not a scenario"),
        ("sweep dead.yaml", 1, "error: dead.yaml: is a scenario, not a sweep"),
        ("sweep grid.yaml", 1, 'schedulers[1]: no scheduler "hetro"; did you mean "hetero"?'),
        ("sweep grid.yaml", 1, "problems[1]: "),
    ],
)
def test_what_cannot_be_done_is_said(run, plans, command, code, message):
    Path("dead.yaml").write_text(HEAD + "changes: [{at_s: 1, down: M9}]\n", encoding="utf-8")
    Path("grid.yaml").write_text(
        "format: penstock/sweep\nversion: 1\n"
        "problems: [{topology: linear}, {topology: linaer}]\n"
        "schedulers: [hetero, hetro]\nscenarios: [{load: 0.5}]\n",
        encoding="utf-8",
    )
    got, out, err = run(command)
    assert (got, out) == (code, "")
    assert message in err
    assert "Traceback" not in err


def test_a_comparison_simulates_every_plan(run):
    command = "compare -e linear --schedulers default,hetero --simulate --load 0.5"
    code, out, _ = run(command)
    assert code == 0
    assert "simulated for a minute at 50 % of each plan's own rate" in out
    simulated = json.loads(run(f"{command} --json")[1])["simulated"]
    assert set(simulated) == {"default", "hetero"}


@pytest.mark.slow
@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_ctrl_c_ends_with_the_results_so_far(run, plans):
    run("simulate hetero.json --duration 1")  # compiled from here on
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "penstock", "simulate", "hetero.json"),
            *("--duration", "1e7", "--max-tuples", "1e12"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # Its first word about progress means that it is under way.
    assert process.stderr is not None
    while "simulated" not in process.stderr.readline():
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "ending with the results so far" in err
    assert "stopped early: these are the results so far" in out or "before there was" in err


def test_without_numba_the_remedy_is_said(run, plans, monkeypatch):
    from penstock.simulate import compiled

    monkeypatch.setattr(compiled, "find_spec", lambda _name: None)
    code, out, err = run("simulate hetero.json")
    assert (code, out) == (1, "")
    assert err == "error: numba is not installed: pip install 'penstock[simulate]'\n"
    assert run("simulate hetero.json --fluid")[0] == 0


def test_a_load_curve_as_text_json_and_picture(run, plans):
    pytest.importorskip("matplotlib")
    command = "simulate hetero.json --loads 50%,0.8 --duration 30"
    code, out, err = run(f"{command} --svg curve.svg -o curve.json")
    assert code == 0, err
    assert "latency against load" in out
    assert [line[:4] for line in out.splitlines() if line[2:4] == " %"] == ["50 %", "80 %"]
    found = json.loads(Path("curve.json").read_text(encoding="utf-8"))
    assert [point["load"] for point in found["points"]] == [0.5, 0.8]
    p50, p80 = (point["topologies"][0]["latency_p99_ms"]["mean"] for point in found["points"])
    assert p50 < p80
    assert "p99 against load" in Path("curve.svg").read_text(encoding="utf-8")
    assert json.loads(run(f"{command} --json")[1]) == found


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--load-curve --load 0.5", "--load-curve cannot be combined with"),
        ("--loads 50,60", "--loads 50: write parts of the sustainable rate, as 0.9 or 90%"),
        ("--loads high", "--loads high: write parts"),
    ],
)
def test_a_load_curve_that_makes_no_sense_is_refused(run, plans, options, message):
    code, out, err = run(f"simulate hetero.json {options}")
    assert (code, out) == (2, "")
    assert message in err


def test_tuples_stuck_at_a_dead_machine_are_told(run, plans):
    scenario = f"{HEAD}duration_s: 20\nchanges: [{{at_s: 10, down: M3-1}}]\n"
    Path("dies.yaml").write_text(scenario, encoding="utf-8")
    code, out, _ = run("simulate hetero.json --scenario dies.yaml")
    assert code == 0
    assert "wait for their time-out" in out
    assert "≥" in out
    assert "too short: the run ends at 20 s" in out


@pytest.mark.parametrize("how", ["", "--load-curve", "--fluid --duration 1e12", "--runs 3"])
def test_more_work_than_anyone_waits_for_is_refused_with_the_way_out(run, plans, how):
    offered = "" if "curve" in how or "fluid" in how else "--offered 1e14"
    duration = "--duration 1e9" if "curve" in how else ""
    code, out, err = run(f"simulate hetero.json {how} {offered} {duration}")
    assert (code, out) == (1, "")
    assert "--max-tuples" in err

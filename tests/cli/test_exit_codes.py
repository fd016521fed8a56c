"""0 done, 1 handled failure, 2 usage, 3 changes, 4 infeasible. 130 is in test_process."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from penstock.app import PlanAnswer
from penstock.cli import plan as plan_module
from penstock.model.outcome import Outcome, Shortfall

CLICKSTREAM = Path(__file__).parents[1] / "fixtures" / "clickstream"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "Usage: penstock"),
        ("plna", "No such command 'plna'"),
        ("plan", "error: name a topology file, or an example with --example"),
        ("compare", "error: name a topology file"),
        ("plan --exmaple linear", "No such option"),
        ("plan -s hetero -e linear --seed x", "Invalid value for '--seed'"),
        ("plan -s hetero -e linear --seed -1", "Invalid value for '--seed'"),
        ("plan -s hetero -e linear --iterations 0", "Invalid value for '--iterations'"),
        ("plan -s hetero -e linear --seconds -1", "Invalid value for '--seconds'"),
        ("plan -s hetero -e linear -c", "requires an argument"),
        ("show", "Missing argument"),
        ("diff a.json", "name two plans, or one plan and --from storm"),
        ("validate", "Missing argument"),
        ("schema", "Missing argument"),
        ("generate", "Missing option"),
        ("import flux a.yaml --property x", '--property takes name=value, not "x"'),
        ("import", "Usage: penstock import"),
    ],
)
def test_a_wrong_call_is_2(run, command, message):
    Path("a.yaml").write_text("name: t\nspouts: []\n", encoding="utf-8")
    code, out, err = run(command)
    assert code == 2
    assert message in err + out
    assert "Traceback" not in err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("plan -e linear --headroom 20", "--headroom 20: write 20% or 0.2"),
        ("plan -e linear --headroom 1", "--headroom 1: write 1% or 0.01"),
        *(
            (f"plan -e linear --headroom {wrong}", f'as in 20% or 0.2, not "{wrong}"')
            for wrong in ("nan", "120%", "100%", "-1%", "fifth", "20%%", "1e9")
        ),
        ("plan -s hetero -e linear --met -1", "met must be a number of at least 0, not -1"),
        ("plan -s hetero -e linear --met inf", "met must be a number of at least 0, not inf"),
        ("plan -e linear -s nobody", 'no scheduler "nobody"'),
        ("compare -e linear --schedulers default,nobody", 'no scheduler "nobody"'),
        ("schema topologi", 'no format "topologi"; did you mean "topology"?'),
        ("bench cor", 'no benchmark suite "cor"; did you mean "core"?'),
        ("generate --components 0 -o made", "components must be at least 1, not 0"),
        (
            "generate --machine-types 9 --machines 3 -o made",
            "9 types need at least as many machines",
        ),
        ("generate -o file", "file: cannot be made: File exists"),
        ("demo -o file", "file: cannot be made: File exists"),
        ("examples --copy-to file", "cannot be made: Not a directory"),
        ("show hetero.json --offered 0", "--offered must be a positive rate, not 0"),
        ("show hetero.json --offered inf", "--offered must be a positive rate, not inf"),
        ("show hetero.json --offered nan", "--offered must be a positive rate, not nan"),
        ("explain hetero.json hihg", 'no component or machine "hihg"; did you mean "high"?'),
        ("explain hetero.json M1-l", 'no component or machine "M1-l"; did you mean "M1-1"?'),
        ("explain hetero.json nobody[1]", 'no component "nobody"'),
        ("explain hetero.json high[99]", '"high" has'),
    ],
)
def test_what_cannot_be_done_is_1(run, plans, command, message):
    Path("file").touch()
    before = sorted(Path().rglob("*"))
    code, out, err = run(command)
    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert message in err
    assert sorted(Path().rglob("*")) == before


def test_changes_are_3_only_where_asked_for(run, plans):
    assert run("diff default.json hetero.json")[0] == 0
    assert run("diff default.json hetero.json --detailed-exitcode")[0] == 3
    assert run("diff hetero.json hetero.json --detailed-exitcode")[0] == 0


@pytest.mark.parametrize("scheduler", ["hetero", "default", "penstock"])
def test_what_is_impossible_is_4_and_says_what_is_missing(run, scheduler):
    """met 500 for each of three components is 1,500 points; three machines have 300."""
    code, out, err = run(f"plan -e linear --met 500 -s {scheduler}")
    assert (code, out) == (4, "")
    assert "impossible, no plan exists: needs 1,500 cpu_points, 300 available" in err


def test_a_rate_above_the_bound_is_impossible_and_nothing_is_searched(run):
    """No plan can exceed 1,219 tuples/s here (README)."""
    code, out, err = run("plan -e linear -c nasiri-small --carry 1300 -o plan.json")
    assert (code, out) == (4, "")
    assert "impossible" in err
    assert not Path("plan.json").exists()


@pytest.mark.parametrize("more", ["", " --seconds 0.01"])
def test_a_rate_that_was_not_found_is_1_and_the_best_plan_is_kept(run, more):
    """Between the plan's 1,164 tuples/s and the bound of 1,219 nobody knows."""
    code, _, err = run(f"plan -e linear -c nasiri-small --carry 1215 -o plan.json{more}")
    assert code == 1
    assert "not found: 1,215 tuples/s asked for" in err
    assert "no plan can exceed 1,219" in err
    assert json.loads(Path("plan.json").read_text())["format"] == "penstock/plan"


def test_a_rate_that_another_scheduler_does_not_carry_is_1_and_its_plan_is_kept(run):
    """Ours carries 1,164 tuples/s here (README)."""
    code, _, err = run("plan -e linear -c nasiri-small --carry 1150 -s default -o plan.json")
    assert code == 1
    assert "not found: 1,150 tuples/s asked for, the plan of default carries" in err
    assert Path("plan.json").exists()


def test_a_term_that_another_scheduler_does_not_keep_is_1(run):
    code, _, err = run("plan -e linear -c nasiri-small --avoid M1-1 -s default")
    assert code == 1
    assert "the plan of default breaks limits that were asked for; -s penstock keeps them" in err


@pytest.mark.slow
def test_what_a_plan_could_carry_beyond_the_rate_asked_for_has_its_thousands_apart(run):
    """The plan of the README carries 1,164 tuples/s."""
    _, out, _ = run("plan -e linear -c nasiri-small --carry 1000")
    assert "limited by        the rate asked for; it could carry 1,164 tuples/s" in out


def test_what_going_on_could_gain_is_a_number_people_read(run):
    """Three threads of sink-db carry some 50,000 of 463,775 tuples/s: not 8.3e+02 % more."""
    clicks = (CLICKSTREAM / "clicks.yaml").read_text(encoding="utf-8")
    few = clicks.replace("  sink-db:\n", "  sink-db:\n    instances: 3\n")
    Path("few.yaml").write_text(few, encoding="utf-8")
    files = f"-c {CLICKSTREAM / 'cluster.yaml'} -p {CLICKSTREAM / 'profile.yaml'}"
    code, out, err = run(f"plan few.yaml {files} --counts-from topology --no-if-lost")
    assert code == 0, err
    (note,) = [line for line in out.splitlines() if "going on can gain" in line]
    assert re.fullmatch(r".* can gain at most 8\d\d %", note)


def test_no_plan_in_json_has_the_shortfalls(run):
    code, out, _ = run("plan -s hetero -e linear --met 500 --json")
    found = json.loads(out)
    assert (code, found["placed"], len(found["shortfalls"])) == (4, False, 1)


def test_a_comparison_in_which_nobody_has_a_plan_is_4(run):
    code, out, err = run("compare -e linear --met 500 --schedulers default,hetero")
    assert (code, err) == (4, "impossible, no plan exists\n")
    assert out.count("no plan") >= 2


def test_a_comparison_in_which_nobody_finds_a_plan_says_so(run):
    # A hundred million CPU points per tuple/s: below the least rate that default starts from.
    rows = {
        row: {"on": {f"M{i}": {"e": 1e8, "met": 1} for i in (1, 2, 3)}}
        for row in ("lowCompute", "midCompute", "highCompute")
    }
    dear = {"format": "penstock/profile", "version": 1, "name": "dear", "origin": "assumed"}
    Path("dear.json").write_text(json.dumps(dear | {"rows": rows}), encoding="utf-8")
    code, _, err = run("compare -e linear -p dear.json --schedulers default")
    assert (code, err) == (1, "none of these schedulers found a plan; one may still exist\n")


def test_work_that_costs_nothing_has_no_limit_in_any_view(run):
    rows = {
        row: {"on": {f"M{i}": {"e": 0, "met": 0} for i in (1, 2, 3)}}
        for row in ("lowCompute", "midCompute", "highCompute")
    }
    free = {"format": "penstock/profile", "version": 1, "name": "free", "origin": "assumed"}
    Path("free.json").write_text(json.dumps(free | {"rows": rows}), encoding="utf-8")
    code, out, _ = run("compare -e linear -p free.json --schedulers default,hetero --json")
    assert (code, json.loads(out)["bound_scale"]) == (0, None)
    assert run("plan -e linear -p free.json -o plan.json")[0] == 0
    assert run("show plan.json")[0] == 0


def test_a_search_that_ends_at_its_limit_is_done_and_says_so(run):
    code, out, err = run("plan -s hetero -e linear --iterations 1")
    assert code == 0
    assert "sustainable rate" in out
    assert err == "hetero was stopped early; this is its best plan so far\n"


def test_a_search_without_time_for_a_plan_is_1(run, monkeypatch):
    def late(problem, scheduler, **_: object) -> PlanAnswer:
        outcome = Outcome(None, (Shortfall("cpu_points", 1, 0),), interrupted=True)
        return PlanAnswer(scheduler, problem, None, outcome, None, None, 0.0)

    monkeypatch.setattr(plan_module.app, "plan", late)
    assert run("plan -s hetero -e linear") == (1, "", "hetero was stopped before it had a plan\n")


def test_our_own_bug_is_70_and_says_how_to_report_it(run, monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(plan_module.app, "plan", broken)
    code, out, err = run("plan -s hetero -e linear")
    assert (code, out) == (70, "")
    assert "this is a bug in penstock" in err
    assert "RuntimeError('boom')" in err
    assert "Traceback" not in err
    monkeypatch.setenv("PENSTOCK_DEBUG", "1")
    assert "Traceback" in run("plan -s hetero -e linear")[2]


def test_too_little_memory_is_1(run, monkeypatch):
    def hungry(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(plan_module.app, "plan", hungry)
    assert run("plan -s hetero -e linear") == (1, "", "error: not enough memory for this input\n")

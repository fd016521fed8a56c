"""``penstock plan`` with other machines or demands, and ``penstock show --offered``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.planning.numbers import rate

PLAN = "plan -s hetero -e linear -c nasiri-small"


def test_the_plan_with_more_machines_is_shown_beside_the_one_without(run):
    code, out, err = run(f"{PLAN} --add M1=2 -o more.json")
    assert code == 0
    run(f"{PLAN} -o plan.json")
    before, after = (
        json.loads(Path(name).read_text(encoding="utf-8"))["predicted"]["rate_per_s"]["linear"]
        for name in ("plan.json", "more.json")
    )
    assert after > before
    gain = 100 * (after / before - 1)
    last = out.splitlines()[-1]
    assert last.startswith(f"without the change: {rate(before)} tuples/s on 6 machines; ")
    assert last.endswith(f"with it: {rate(after)} on 8 (+{gain:.1f} %)")
    assert "note: what if: 2 more machines M1 in rack-1: M1-3, M1-4" in out
    assert "planning without the change" in err


def test_what_is_assumed_is_part_of_the_plan_that_other_verbs_read(run):
    run(f"{PLAN} -o plan.json")
    run(f"{PLAN} --add M1=1,M2=1 --remove M3-1 --demand linear=50 -o changed.json")
    _, shown, _ = run("show changed.json --all-machines")
    assert "M1-3" in shown
    assert "M3-1 " not in shown.replace("without M3-1", "")
    assert "what if: without M3-1" in shown
    assert "what if: demand of linear 50 tuples/s" in shown
    code, changes, _ = run("diff plan.json changed.json")
    assert (code, "machines taken" in changes) == (0, True)
    assert run("simulate changed.json --duration 2")[0] == 0


def test_the_demand_that_is_declared_is_held_against_the_rate(run):
    carried = json.loads(run(f"{PLAN} --json")[1])["predicted"]["rate_per_s"]["linear"]
    assert "times over" in run(f"{PLAN} --demand 10")[1]
    half = run(f"{PLAN} --demand {2 * carried}")[1]
    assert "of which 50.0 % can be carried" in half


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--add M1=many", '--add: takes type=number, as in epyc-2021=3, not "M1=many"'),
        ("--add N1=2", '--add: no machine type "N1"; known: M1, M2, M3'),
        ("--remove M1-7", '--remove: no machine "M1-7"; did you mean "M1-'),
        ("--demand double", '--demand: takes x2, topology=20000 or topology=x1.5, not "double"'),
        ("--demand x-2", '--demand: takes x2, topology=20000 or topology=x1.5, not "x-2"'),
        ("--demand liner=x2", '--demand: no topology "liner"; did you mean "linear"?'),
    ],
)
def test_what_cannot_be_assumed_is_said(run, options, message):
    code, out, err = run(f"{PLAN} {options}")
    assert (code, out) == (1, "")
    assert message in err


@pytest.mark.slow
def test_a_term_about_a_machine_that_is_only_assumed_is_no_reason_to_fail(run):
    code, out, _ = run("plan -e linear -c nasiri-small --add M1=1 --avoid M1-3")
    assert code == 0
    assert 'without the change these terms make no sense: avoid: no machine "M1-3"' in out


def test_more_than_a_plan_carries_says_what_to_buy(run, plans):
    plan = json.loads(Path("hetero.json").read_text(encoding="utf-8"))
    offered = 3 * plan["predicted"]["rate_per_s"]["linear"]
    found = json.loads(run(f"show hetero.json --offered {offered} --json")[1])
    # Of the three, M1 has the lowest cost per tuple.
    assert found["to_buy"][0]["machine_type"] == "M1"
    for need in found["to_buy"]:
        assert 0 < need["at_least"] <= need["likely"]
    _, out, _ = run(f"show hetero.json --offered {offered}")
    assert "today's machines cannot carry it: no plan can exceed" in out
    assert f"--add M1={found['to_buy'][0]['likely']}" in out


def test_less_than_a_plan_carries_says_what_is_left(run, plans):
    _, out, _ = run("show hetero.json --offered 100")
    assert "nothing saturates" in out
    assert "left over: " in out
    found = json.loads(run("show hetero.json --offered 100 --json")[1])["left_over"]
    types = {row["machine_type"]: row for row in found["machine_types"]}
    assert types["M1"]["cpu_points_left"] > 0

"""From costs measured on one machine to a plan on machines of other types."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

PROFILE = """
format: penstock/profile
version: 1
name: measured
origin: measured
rows:
  spout: {on: {any: {e: 0.02, met: 0.5, e_error: 0.001}}}
  split: {on: {any: {e: 0.06, met: 0.5, e_error: 0.001}}}
  count: {on: {any: {e: 0.01, met: 0.5, e_error: 0.001}}}
"""
CLUSTER = """
format: penstock/cluster
version: 1
name: mine
types:
  big: {cpu_points: 1600, core_points: 100%s}
  small: {cpu_points: 400, core_points: 100%s}
machines: [{type: big, count: 1}, {type: small, count: 2}]
"""
PLAN = "plan wordcount -c cluster.yaml -p profile.yaml"


@pytest.fixture
def files(run):
    """Writes the cluster file with what it says of the two types."""
    Path("profile.yaml").write_text(PROFILE)

    def write(big: str = "", small: str = "") -> None:
        Path("cluster.yaml").write_text(CLUSTER % (big, small))

    return write


def test_missing_costs_end_with_a_command_that_works(run, files):
    files(", speed: 1.4", ", speed: 0.7")
    code, out, err = run(PLAN)
    assert (code, out) == (1, "")
    assert err.splitlines()[-1] == (
        "try: penstock plan wordcount -c cluster.yaml -p profile.yaml --engine spark "
        "--estimate-from any"
    )
    code, out, _ = run(shlex.join(shlex.split(err.splitlines()[-1])[2:]))
    assert code == 0
    assert "costs             profile measured (estimated from any)" in out
    assert "big (1.4 times as fast), small (0.7 times as fast), from those measured on any" in (
        " ".join(out.split())
    )


def test_types_without_speed_are_to_get_one_first(run, files):
    files(", speed: 1.4")
    for command in (PLAN, f"{PLAN} --engine spark --estimate-from any"):
        code, _, err = run(command)
        assert code == 1
        add, then = err.splitlines()[-2:]
        assert add == (
            'add speed: to types.small in the cluster file (1 = a core as fast as on "any", 1.5 = '
            "half as fast again)"
        )
        assert then.startswith("then try: penstock plan wordcount")
        assert then.count("--estimate-from any") == 1


def test_a_plan_keeps_speeds_and_estimates(run, files):
    files(", speed: 1.4, ghz: 4.0", ", ghz: 2.0")
    code, _, _ = run(f"{PLAN} --engine spark --estimate-from any -o plan.json")
    assert code == 0
    inputs = json.loads(Path("plan.json").read_text())["inputs"]
    assert inputs["cluster"]["types"]["big"]["speed"] == 1.4
    assert inputs["profile"]["origin"] == "derived"
    small = inputs["profile"]["rows"]["split"]["on"]["small"]
    assert small["estimate"] == {"measured_on": "any", "speed": 0.7, "basis": "clock"}
    assert small["e"] == pytest.approx(0.06 / 0.7)
    code, out, _ = run("show plan.json")
    assert code == 0
    assert "profile measured (estimated from any)" in out


def test_a_verb_without_the_options_suggests_none(run, files):
    files(", speed: 1.4", ", speed: 0.7")
    code, _, err = run("compare wordcount -c cluster.yaml -p profile.yaml")
    assert code == 1
    assert "try:" not in err


def test_estimates_need_a_profile(run, files):
    files(", speed: 1", ", speed: 1")
    code, _, err = run("plan wordcount -c cluster.yaml --estimate-from any")
    assert (code, err) == (1, "error: estimates from any need a profile (--profile)\n")

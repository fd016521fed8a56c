"""Saving on something where a machine type has no machines, or nothing costs anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.files.store import load

CASES = Path(__file__).parents[1] / "fixtures" / "minimize"


@pytest.mark.parametrize("goals", ["machines", "price", "energy", "traffic", "machines,price"])
@pytest.mark.parametrize("costs", ["profile", "profile-all-zero"])
@pytest.mark.parametrize("terms", ["", "--carry 100"])
def test_there_is_a_plan_on_the_machines_that_there_are(run, goals, costs, terms):
    files = f"{CASES}/topology.yaml -c {CASES}/cluster.yaml -p {CASES}/{costs}.yaml"
    code, _, err = run(f"plan {files} --minimize {goals} {terms} -o plan.json")
    assert code == 0, err
    used = load("plan.json").placement.machines_used
    assert len(used) in (1, 2)
    # What costs nothing takes one, and so does a rate that one of them carries many times over.
    if "machines" in goals and (terms or costs == "profile-all-zero"):
        assert len(used) == 1

"""A plan on unlike machines: obeyed, replaced between two batches, survived by a lost machine."""

import json
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.alone]


def test_a_run_under_a_plan(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "tests.engines.spark.lab_scenario", str(tmp_path)],
        capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    facts = json.loads(done.stdout)
    assert facts["exact"]
    assert facts["numbers"] == list(range(7))
    # Both machines, the plan that has only the first, both again, and what is left of them.
    assert facts["hosts"] == [*[["m1", "m2"]] * 2, ["m1"], ["m1", "m2"], *[["m1"]] * 3]
    # Who watches sees the same, on the machines of the plan's own cluster that have a worker.
    assert facts["runs"] == facts["there"] == facts["hosts"]
    assert facts["cpu"] == ["m1", "m2"]
    assert facts["types"] == [["m1", "cpu60"], ["m2", "cpu40"]]
    path = tmp_path / "plan.json"
    # 60 of 100 points are left.
    assert facts["said"] == [
        f"following the new plan of {path}",
        f"following the new plan of {path}",
        "lost m2: going on with the rest, which carries 60 % of what the plan did",
    ]
    assert (facts["left"], facts["folder_left"]) == ([], False)
    assert len(facts["daemons"]) == 3
    assert facts["open_to_others"] == []
    assert facts["lets_strangers_in"] == []
    assert facts["secret_shown_by_ps"] == []
    assert facts["secret_mode"] == 0o600

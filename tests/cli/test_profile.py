"""``penstock profile``: what a user sees, and how mistakes end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock import app
from penstock.model.profile import Profile

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def _one_session(spark) -> None:
    """The command runs in the session of the other tests: its own would take ten seconds each."""


def test_it_writes_a_profile_that_plan_takes(run, telemetry: Path):
    code, out, err = run(f"profile {telemetry} --out measured.json")
    assert code == 0, err
    for words in ("Costs", "Streams", "Data", "records", "low", "mid", "high"):
        assert words in out
    assert isinstance(app.load("measured.json"), Profile)
    assert run("plan -e linear -c nasiri-testbed -p measured.json")[0] == 0


def test_json_has_profile_quality_and_drift(run, telemetry: Path):
    code, out, _ = run(f"profile {telemetry} --json")
    answer = json.loads(out)
    assert (code, answer["format"]) == (0, "penstock/measured")
    assert answer["quality"]["records_in"] == answer["quality"]["kept"] > 0
    assert answer["not_ready"] == []


def test_without_cpu_it_refuses_and_says_what_is_missing(run, telemetry: Path, tmp_path: Path):
    lines = (telemetry / "part-00000.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines[:300]]
    for record in records:
        record.pop("cpu_points")
    Path("nocpu").mkdir()
    Path("nocpu/a.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    code, out, err = run("profile nocpu --out p.json")
    assert code == 1
    assert "no CPU measured" in out
    assert "not ready" in err
    assert not Path("p.json").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ("profile nowhere", 1, "no such file or folder"),
        ("profile {telemetry} --format xml", 1, "telemetry format"),
        ("profile {telemetry} --config nonsense", 2, "name=value"),
        ("profile {telemetry} --types nowhere.yaml", 1, "nowhere.yaml"),
        ("profile {telemetry} --baseline nowhere.json", 1, "nowhere.json"),
    ],
)
def test_mistakes_end_with_a_sentence(run, telemetry, arguments, code, words):
    ended, out, err = run(arguments.format(telemetry=telemetry))
    assert (ended, out) == (code, "")
    assert words in err
    assert "Traceback" not in err

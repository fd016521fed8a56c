"""``penstock run`` and ``penstock lab``: what a user types, and what is said when it is wrong."""

import json
import sys

import pytest

from penstock.engines.lab import keeper
from penstock.files.store import load
from penstock.system.private_folder import runtime_folder, scratch_folder

CODE = """
streams = {"read": "value bigint", "double": "value bigint"}
def double(rows): return rows.assign(value=2 * rows["value"])
"""
TOPOLOGY = """
format: penstock/topology
version: 1
name: mine
components:
  read: {kind: spout, streams: [{to: double}]}
  double: {}
"""


@pytest.mark.spark
def test_a_topology_of_ones_own_runs_and_leaves_results(run, spark, tmp_path):
    (tmp_path / "mine.yaml").write_text(TOPOLOGY, encoding="utf-8")
    (tmp_path / "mine.py").write_text(CODE, encoding="utf-8")
    code, out, err = run("run mine.yaml --rows 500 --batches 2 -o kept --json")
    assert code == 0, err
    told = json.loads(out)
    assert told["batches"] == 2
    # Several loads, so that costs can be fitted.
    assert told["components"]["double"]["tuples"] == 500 + 250
    assert "mine on local[*]: 500 / 250 / 125 numbers in a batch, in turn" in err
    assert (tmp_path / "kept" / "telemetry" / "000000001.jsonl").is_file()


@pytest.mark.spark
def test_results_can_be_looked_at(run, spark, tmp_path):
    (tmp_path / "mine.yaml").write_text(TOPOLOGY, encoding="utf-8")
    (tmp_path / "mine.py").write_text(CODE, encoding="utf-8")
    code, out, err = run("run mine.yaml --rows 50 --batches 1 --show 3")
    assert code == 0, err
    assert "double/default, 3 of 50 rows" in out
    assert [int(line) % 2 for line in out.splitlines()[-3:]] == [0, 0, 0]


@pytest.mark.spark
def test_counts_and_shares_of_a_plan_are_kept_on_a_local_master(run, spark, tmp_path):
    run("plan linear -c nasiri-testbed --engine spark -o plan.json")
    code, _, err = run("run --example linear --plan plan.json --rows 700 --batches 1 -o kept")
    assert code == 0, err
    lines = (tmp_path / "kept/telemetry/000000000.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    # Three machines, three components.
    assert len(records) == 9
    plan = load(tmp_path / "plan.json")
    first = plan.placement.share[plan.placement.component == 0].tolist()
    taken = [r["produced"] for r in records if r["component"] == "low"]
    # Hashed: six standard deviations of 700 draws are at most 80.
    assert taken == pytest.approx([700 * share for share in first], abs=80)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("run", "name a topology file, or an example"),
        ("run --example linear --master yarn", "--master takes local[…] or spark://…, not yarn"),
        (
            "run --example linear --engine storm",
            "storm cannot run a topology from code; engines that can: s",
        ),
        ("run --example linear --levels 0.5,2", "--levels takes parts above 0 and up to 1"),
        ("run --example pageload --batches 1", "no code is shipped for pageload"),
        ("run --example linear --plan missing.json", "missing.json"),
        ("run --example linear --plan hetero.json --place-by type", "cannot place instances on"),
        ("run --example star --plan hetero.json", 'has no topology "star"; it has linear'),
        ("lab up --machines 90,x", "--machines takes points of a core"),
        ("lab up --machines 9000", "do not fit: this computer has"),
        ("lab demo --engine storm", "storm cannot show the closed loop"),
        ("lab demo --example pageload", "no code is shipped for pageload"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_starts(run, plans, command, said):
    code, out, err = run(command)
    assert code in (1, 2)
    assert out == ""
    assert said in err
    assert "Traceback" not in err


@pytest.mark.parametrize("command", ["lab up", "lab demo", "run --example linear --batches 1"])
def test_without_spark_it_says_what_is_missing_and_how_to_get_it(run, monkeypatch, command):
    for module in ("pyspark", "pyarrow"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(keeper, "up", lambda *_: pytest.fail("a keeper was started"))
    code, out, err = run(command)
    assert (code, out) == (1, "")
    assert err == "error: PySpark and PyArrow are not installed: pip install 'penstock[spark]'\n"


def test_no_lab_is_up(run, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    code, out, err = run("lab status")
    assert (code, out) == (1, "")
    assert "no spark lab is up" in err
    assert run("lab down")[0] == 0


def test_a_file_of_a_dead_lab_is_cleaned_up(run, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    path = keeper.lab_file("spark")
    left = scratch_folder().make_folder("lab-spark-")
    dead = {"engine": "spark", "keeper": 2**22 + 1, "started": "", "machines": "40", "notes": []}
    runtime_folder().write(path.name, json.dumps(dead | {"folder": str(left)}).encode())
    assert run("lab status")[0] == 1
    assert not path.exists()
    assert not left.exists()
    runtime_folder().write(path.name, b"{")
    assert run("lab status")[0] == 1
    assert not path.exists()


@pytest.mark.spark
def test_a_lab_comes_up_is_shown_and_goes_down(run, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    try:
        code, out, err = run("lab up --machines 40,20 -o lab.yaml --json")
        assert code == 0, err
        told = json.loads(out)
        assert [m["cpu_points"] for m in told["machines"]] == [40.0, 20.0]
        assert told["address"].startswith("spark://127.0.0.1:")
        assert run("validate lab.yaml")[0] == 0
        code, _, err = run("lab up --machines 40,20")
        assert code == 1
        assert "is up already" in err
        assert run("lab status --address")[1].strip() == told["address"]
    finally:
        code, _, err = run("lab down")
    assert (code, err) == (0, "the spark lab is down\n")
    assert keeper.find("spark") is None

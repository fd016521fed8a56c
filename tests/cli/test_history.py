"""Plans applied, measured and shown: from receipt to verdict, on a Storm of dictionaries."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.engines.storm.fake_storm import FakeStorm

from penstock.engines.lab import keeper
from penstock.engines.storm import engine as storm_engine
from penstock.files.store import load, save
from penstock.model.placement import Placement
from penstock.model.profile import Cost, Profile
from penstock_bench.synthetic import Noise, Recording, write_json_lines

RECEIPTS = Path("history", "receipts")
#: So long ago the plan was applied, so that telemetry since then lies in the past.
AGO_S = 7200
WINDOWS = 120


@pytest.fixture
def storm(tmp_path, monkeypatch):
    made = FakeStorm(tmp_path / "plan-of-nimbus.json")
    monkeypatch.setattr(storm_engine, "open_bridge", made.opened)
    monkeypatch.setattr(keeper, "find", lambda engine: None)
    return made


@pytest.fixture
def applied(storm, run):
    """A plan put in force two hours ago; its path."""
    save(Profile("p", (Cost("src", "box", 0.1, 1.0), Cost("work", "box", 0.2, 1.0))), "p.json")
    assert run("plan --from storm --nimbus x -p p.json -o n.json")[0] == 0
    assert run("apply n.json --nimbus x --yes")[0] == 0
    backdate()
    return load("n.json")


def backdate(ago_s=AGO_S):
    (path,) = RECEIPTS.glob("*.json")
    receipt = json.loads(path.read_text())
    for name in ("began_s", "ended_s"):
        receipt[name] -= ago_s
    path.write_text(json.dumps(receipt))
    return path


def record(plan, folder="telemetry", scale=None, begins_s=60.0, **noise):
    """Telemetry of a plan, 20 minutes of it, at changing load or the one given."""
    rng = np.random.default_rng(7)
    loads = np.linspace(0.2, 0.6, WINDOWS) if scale is None else np.full(WINDOWS, scale)
    start_ms = int(1000 * (time.time() - AGO_S + begins_s))
    recording = Recording(
        problem=plan.problem,
        placement=plan.placement,
        scale=loads * plan.predicted.scale,
        start_ms=start_ms,
        run="flow-1-100",
        noise=Noise(**noise),
    )
    write_json_lines(recording, Path(folder), rng, files=2)
    return recording


# -- receipts, without Spark --------------------------------------------------------------------


def test_applying_leaves_a_receipt_that_history_shows(run, applied):
    code, out, err = run("history")
    assert code == 0, err
    assert "flow" in out
    assert "not measured yet" in out
    assert "1 plan applied, none measured" in out
    answer = json.loads(run("history --json")[1])
    (plan,) = answer["plans"]
    assert (answer["format"], plan["outcome"], plan["measured"]) == (
        "penstock/history", "applied", None,
    )  # fmt: skip
    assert plan["predicted"]["rate_per_s"] == dict(applied.predicted.rate_per_s)
    code, out, _ = run("history show last")
    assert code == 0
    assert "src" in out


def test_an_apply_that_was_killed_shows(run, applied):
    (path,) = RECEIPTS.glob("*.json")
    receipt = json.loads(path.read_text()) | {"outcome": "begun"}
    path.write_text(json.dumps(receipt))
    assert "begun, never ended" in run("history")[1]
    (plan,) = json.loads(run("history show 20 --json")[1])["plans"]
    assert plan["outcome"] == "begun"


def test_without_receipts_there_is_nothing_to_show(run):
    code, out, _ = run("history")
    assert (code, out.strip()) == (0, "no plan was applied yet")
    code, _, err = run("history measure --telemetry .")
    assert code == 1
    assert "has no receipts" in err


def test_a_dry_run_leaves_no_receipt(run, storm):
    save(Profile("p", (Cost("src", "box", 0.1, 1.0), Cost("work", "box", 0.2, 1.0))), "p.json")
    run("plan --from storm --nimbus x -p p.json -o n.json")
    run("apply n.json --nimbus x")
    assert not RECEIPTS.exists()


def test_a_history_that_cannot_be_written_stops_an_apply_before_it_begins(run, storm):
    save(Profile("p", (Cost("src", "box", 0.1, 1.0), Cost("work", "box", 0.2, 1.0))), "p.json")
    run("plan --from storm --nimbus x -p p.json -o n.json")
    Path("blocked").write_text("a file")
    code, _, err = run("apply n.json --nimbus x --yes --history blocked")
    assert code == 1
    assert "blocked: cannot be written" in err
    assert not storm.plan_file.exists()


def test_names_that_are_not_there(run, applied):
    code, _, err = run("history --topology flwo")
    assert (code, 'did you mean "flow"?' in err) == (1, True)
    code, _, err = run("history show nothing")
    assert (code, "no applied plan" in err) == (1, True)


def test_a_truncated_receipt_is_told_and_the_others_are_shown(run, applied):
    (path,) = RECEIPTS.glob("*.json")
    path.with_name("20200101T000000000-cafe.json").write_text(path.read_text()[:500])
    path.with_name("hostile.json").write_text('{"format": "penstock/receipt", "version": 1}')
    code, out, err = run("history --json")
    assert code == 1
    answer = json.loads(out)
    assert len(answer["plans"]) == 1
    assert {Path(f["file"]).name for f in answer["unreadable"]} == {
        "20200101T000000000-cafe.json", "hostile.json",
    }  # fmt: skip
    assert "Traceback" not in err


@pytest.mark.parametrize("text", ["10", "ten minutes", "-5m", "0m", "5w"])
def test_a_window_of_time_has_a_unit(run, storm, text):
    Path("telemetry").mkdir()
    code, _, err = run("profile telemetry --from storm --nimbus x --since", text)
    assert code == 2
    assert "--since takes a time such as 90s, 10m, 2h or 1d" in err


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("profile --from storm --nimbus x", "name the folder of the reporter"),
        ("profile --from storm --nimbus x --telemetry t --follow", "--follow needs a folder"),
        ("profile --from storm --nimbus x --telemetry t --store s", "--store keeps all"),
        ("profile", "name a folder of telemetry"),
        ("profile t --since 10m", "need --from storm"),
        ("plan --from storm --nimbus x -p p.json --since 10m", "need --profile live"),
        ("plan -e linear --telemetry t", "need --from storm"),
        ("plan --from storm --nimbus x -p live", "name the folder of the reporter"),
    ],
)
def test_calls_that_make_no_sense(run, storm, command, words):
    code, _, err = run(command)
    assert code == 2
    assert words in err


# -- with Spark ---------------------------------------------------------------------------------


@pytest.mark.spark
def test_a_plan_is_measured_by_the_telemetry_after_it(run, applied, spark):
    record(applied, scale=0.5)
    code, _, err = run("history measure --telemetry telemetry")
    assert code == 0, err
    (plan,) = json.loads(run("history --json")[1])["plans"]
    measured = plan["measured"]
    offered = 0.5 * applied.predicted.scale
    # Without noise the model that made the telemetry finds itself again, far below the limit.
    assert measured["topologies"]["flow"]["rate_per_s"] == pytest.approx(offered, rel=1e-3)
    assert measured["topologies"]["flow"]["at_limit"] is False
    assert measured["worst_cpu_error"] == pytest.approx(0.0, abs=1e-3)
    assert plan["verdict"] == "CPU as predicted; not at its limit"
    # 120 windows of 10 s, three to a stretch; the first and the last may be cut by the clock.
    assert 40 <= measured["stretches"] <= 41
    assert "| applied (UTC) | plan |" in run("history --markdown")[1]
    assert "CPU (points), threads of instances" in run("history show last")[1]


@pytest.mark.spark
def test_measuring_again_with_less_forgets_nothing(run, applied, spark):
    record(applied, scale=0.5)
    assert run("history measure --telemetry telemetry")[0] == 0
    first = run("history --json")[1]
    files = sorted(Path("telemetry").glob("*.jsonl"))
    lines = files[0].read_text().splitlines(keepends=True)
    Path("less").mkdir()
    Path("less/a.jsonl").write_text("".join(lines[: len(lines) // 3]))
    assert run("history measure --telemetry less")[0] == 0
    assert run("history --json")[1] == first
    # The receipt may go, too: the tables have it.
    next(RECEIPTS.glob("*.json")).unlink()
    assert run("history --json")[1] == first


@pytest.mark.spark
def test_broken_tables_are_told_and_made_anew(run, applied, spark):
    record(applied, scale=0.5)
    run("history measure --telemetry telemetry")
    good = run("history --json")[1]
    for file in Path("history", "tables", "measured_cpu").rglob("*.parquet"):
        file.write_bytes(file.read_bytes()[:40])
    code, out, err = run("history --json")
    assert code == 1
    assert len(json.loads(out)["plans"]) == 1
    assert "measure --rebuild" in err
    code, out, err = run("history measure --telemetry telemetry --rebuild")
    assert code == 0, err
    assert "the previous tables are now in" in err
    assert run("history --json")[1] == good
    newest = max(Path("history", "tables", "manifest").glob("*.json"))
    newest.write_text(newest.read_text()[:30])
    code, _, err = run("history")
    assert code == 1
    assert f"{newest.name}: is cut or broken; delete it" in err


@pytest.mark.spark
def test_telemetry_of_another_placement_measures_nothing(run, applied, spark):
    # The first instance of src is on the other machine than planned.
    machine = applied.placement.machine.copy()
    machine[0] = 1 - machine[0]
    elsewhere = Placement.of(applied.placement.component, machine, applied.placement.slot)
    record(replace(applied, placement=elsewhere), scale=0.3)
    assert run("history measure --telemetry telemetry")[0] == 0
    (entry,) = json.loads(run("history --json")[1])["plans"]
    assert entry["measured"] is None
    assert "was every instance where the plan has it" in entry["verdict"]


@pytest.mark.spark
def test_profile_from_storm_measures_costs_and_the_plans_before(run, storm, applied, spark):
    record(applied, cpu_relative=0.01)
    code, _, err = run("profile --from storm --nimbus x --telemetry tele* --out live.json")
    assert code == 0, err
    assert {c.machine_type for c in load("live.json").costs} == {"box"}
    costs = {c.row: c.e for c in load("live.json").costs}
    assert costs["src"] == pytest.approx(0.1, rel=0.05)
    assert costs["work"] == pytest.approx(0.2, rel=0.05)
    assert "1 plan measured" in err
    (plan,) = json.loads(run("history --json")[1])["plans"]
    assert plan["measured"]["median_cpu_error"] < 0.02


@pytest.mark.spark
def test_a_plan_from_live_telemetry_is_one_command(run, storm, applied, spark):
    record(applied, cpu_relative=0.01)
    command = "plan --from storm --nimbus x -p live --telemetry telemetry --since 3h -o again.json"
    code, _, err = run(command)
    assert code == 0, err
    plan = load("again.json")
    assert plan.problem.profile.name == "live"
    assert plan.deployed[0].id == "flow-1-100"
    assert plan.predicted.scale == pytest.approx(applied.predicted.scale, rel=0.1)


@pytest.mark.spark
def test_a_plan_from_live_telemetry_has_the_traffic_between_executors(run, storm, applied, spark):
    record(applied, cpu_relative=0.01)
    command = "plan --from storm --nimbus x -p live --telemetry telemetry -s a3 -o again.json"
    code, _, err = run(command)
    assert code == 0, err
    plan = load("again.json")
    (traffic,) = plan.problem.profile.traffic
    running = applied.placement.counts(len(applied.problem.components)).tolist()
    assert [len(tasks) for _, tasks in traffic.tasks] == running
    assert any("between executors" in note for note in plan.notes)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"topology": "other"}, "the telemetry is of topology other; running are flow"),
        ({"host": "mars"}, "the telemetry is of host mars; the cluster has a, b, host-a, host-b"),
        ({"version": 9}, "every line was set aside"),
        ({}, "no telemetry of the last 1 minutes"),
    ],
)
def test_telemetry_that_does_not_fit_the_cluster(run, storm, applied, spark, change, words):
    record(applied)
    for file in Path("telemetry").glob("*.jsonl"):
        lines = [json.loads(line) | change for line in file.read_text().splitlines()[:40]]
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, out, err = run("profile --from storm --nimbus x --telemetry telemetry --since 1m")
    assert (code, out) == (1, "")
    assert words in err
    assert "Traceback" not in err


@pytest.mark.spark
def test_a_folder_without_lines(run, storm, applied, spark):
    Path("empty").mkdir()
    Path("empty/worker.log").write_text("not telemetry\n")
    code, _, err = run("profile --from storm --nimbus x --telemetry empty")
    assert code == 1
    assert "no telemetry lines in" in err
    assert "TelemetryReporter" in err


@pytest.mark.slow
def test_the_journal_of_the_loop_stands_beside_the_receipts(run):
    lines = "".join(f"{300 * i},{rate}\n" for i, rate in enumerate([30] * 4 + [60] * 4))
    Path("load.csv").write_text(lines)
    rehearse = "rehearse load.csv -c nasiri-testbed --weighted --policy static --out results"
    assert run(f"{rehearse} --slow-every 20m --slow-for 10m")[0] == 0
    (journal,) = Path("results/journals").glob("*.sqlite")
    code, out, err = run(f"history --journal {journal} --page loop.html")
    assert code == 0, err
    assert "Decisions of the loop" in out
    assert "the plan for the highest rate" in out
    assert "<svg" in Path("loop.html").read_text()
    told = json.loads(run(f"history --journal {journal} --json")[1])["journal"]
    assert told[0]["decision"]["reason"] == "the plan for the highest rate"
    assert told[0]["outcome"]["paused_s"] > 0
    # Without --journal, the one of the history's folder.
    Path("history").mkdir(exist_ok=True)
    journal.rename("history/journal.sqlite")
    assert "Decisions of the loop" in run("history --history history --last 1")[1]
    assert run("history --journal missing.sqlite")[0] == 1

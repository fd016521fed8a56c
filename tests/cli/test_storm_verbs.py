"""import storm, plan --from storm, diff --from storm and apply, against a Storm of dictionaries."""

import json
from pathlib import Path

import pytest
from tests.engines.storm.fake_storm import FakeStorm

from penstock.engines.storm import engine as storm_engine
from penstock.files.store import load, save
from penstock.model.profile import Cost, Profile


@pytest.fixture
def storm(tmp_path, monkeypatch):
    made = FakeStorm(tmp_path / "plan-of-nimbus.json")
    monkeypatch.setattr(storm_engine, "open_bridge", made.opened)
    monkeypatch.chdir(tmp_path)
    save(Profile("p", (Cost("src", "box", 0.1, 1.0), Cost("work", "box", 0.2, 1.0))), "p.json")
    return made


def test_what_runs_becomes_our_files(storm, run):
    code, out, err = run("import", "storm", "--nimbus", "master", "--out", "live", "--json")
    assert code == 0, err
    assert json.loads(out)["files"] == [
        "live/cluster.yaml",
        "live/topology-flow.yaml",
        "live/current.json",
        "live/seen.json",
    ]
    seen = json.loads(Path("live/seen.json").read_text())
    assert seen["scheduler_info"] == {"flow": "fine"}
    assert set(seen["rates_per_s"]) == {"flow"}
    assert [m.name for m in load("live/cluster.yaml").machines] == ["a", "b"]
    assert load("live/current.json").deployed[0].id == "flow-1-100"


def test_a_plan_from_storm_knows_what_it_was_made_from(storm, run):
    code, out, err = run("plan", "--from", "storm", "--nimbus", "x", "-p", "p.json", "-o", "n.json")
    assert code == 0, err
    assert "moves" in out
    plan = load("n.json")
    assert plan.deployed[0].id == "flow-1-100"
    # Storm cannot start or end executors when a machine is lost.
    assert plan.if_lost
    assert not any(c.added or c.dropped for c in plan.if_lost)


def test_apply_shows_first_and_acts_when_told(storm, run):
    run("plan", "--from", "storm", "--nimbus", "x", "-p", "p.json", "-o", "n.json")
    code, out, err = run("apply", "n.json", "--nimbus", "x", "--detailed-exitcode")
    assert (code, storm.plan_file.exists()) == (3, False)
    assert "workers restart" in out
    assert "nothing was changed; --yes applies the plan" in err
    code, out, err = run("apply", "n.json", "--nimbus", "x", "--yes", "--json")
    assert code == 0, err
    assert json.loads(out)["outcome"] == "applied"
    assert json.loads((storm.plan_file.parent / "receipt.json").read_text())["outcome"] == "applied"
    code, out, _ = run("diff", "n.json", "--from", "storm", "--nimbus", "x", "--detailed-exitcode")
    assert (code, out.strip()) == (0, "no change")
    code, _, err = run("apply", "n.json", "--nimbus", "x")
    assert (code, "nothing to do" in err) == (0, True)


def test_a_stale_plan_is_refused_with_code_5(storm, run):
    run("plan", "--from", "storm", "--nimbus", "x", "-p", "p.json", "-o", "n.json")
    storm.id = "flow-2-500"
    code, out, err = run("apply", "n.json", "--nimbus", "x", "--yes")
    assert (code, out) == (5, "")
    assert "n.json: flow was submitted again: it is now flow-2-500, not flow-1-100" in err
    assert not storm.plan_file.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("plan", "--from", "nobody"), "no engine"),
        (("import", "storm", "--out", "o", "--nimbus", "a", "--ui", "http://b"), "give one of"),
        (("diff", "a.json"), "name two plans, or one plan and --from storm"),
        (("diff", "a.json", "b.json", "--from", "storm"), "with --from, name one plan"),
    ],
)
def test_calls_that_make_no_sense(storm, run, arguments, message):
    code, _, err = run(*arguments)
    assert code == 2
    assert message in err


def test_a_topology_that_does_not_run(storm, run):
    code, _, err = run("plan", "flwo", "--from", "storm", "--nimbus", "x", "-p", "p.json")
    assert code == 1
    assert 'no running topology "flwo"; did you mean "flow"?' in err


def test_a_client_file_must_be_called_as_storm_wants_it(storm, run, tmp_path):
    (tmp_path / "my.yaml").write_text("{}")
    code, _, err = run("import", "storm", "--out", "o", "--storm-yaml", "my.yaml")
    assert code == 1
    assert "must be called storm.yaml" in err


def test_apply_says_whose_plan_stays_in_force(storm, run):
    run("plan", "--from", "storm", "--nimbus", "x", "-p", "p.json", "-o", "n.json")
    text = Path("n.json").read_text()
    storm.plan_file.write_text(text.replace('"flow"', '"billing"'))
    storm.others = {"billing": ""}
    code, out, err = run("apply", "n.json", "--nimbus", "x", "--json")
    assert code == 0, err
    assert json.loads(out)["kept"] == ["billing"]
    assert "plans that stay in force: billing" in err
    assert "left out: billing has no place yet (no slot)" in err


def test_a_topology_that_cannot_be_read_says_why_when_it_is_asked_for(storm, run):
    storm.others = {"secret": "not yours"}
    code, _, err = run("plan", "--from", "storm", "secret", "--nimbus", "x", "-p", "p.json")
    assert code == 1
    assert "secret: not yours" in err

"""Engines by name: the built-in table, and what others install; a third one needs nothing else."""

import json
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from tests.engines.toy_engine import ToyEngine, toy_cluster

import penstock
from penstock import registry as registries
from penstock.engines import registry
from penstock.engines.base import Ability, Capabilities, Engine
from penstock.errors import ForeignCodeError, PenstockError, UnknownNameError, UsageError
from penstock.files.store import load, save
from penstock.model.profile import Cost, Profile
from penstock_bench.synthetic import Noise, Recording, write_json_lines


class Broken(Engine):
    """Fails when it is asked anything."""

    name = "broken"
    summary = "fails"
    capabilities = Capabilities(frozenset({Ability.SNAPSHOT}))

    def connect(self, say):
        raise KeyError("nothing there")


class Boastful(Engine):
    """Claims an ability that it has no method for."""

    name = "boastful"
    summary = "claims"
    capabilities = Capabilities(frozenset({Ability.RUN}))


@pytest.fixture
def installed(monkeypatch):
    """Make entry points as if packages had installed them: name -> what the module holds."""
    module = ModuleType("somebodys_engine")
    module.ToyEngine, module.Broken, module.Boastful = ToyEngine, Broken, Boastful
    module.NotOne = int
    monkeypatch.setitem(sys.modules, "somebodys_engine", module)

    def install(**values: str) -> None:
        group = registry.ENGINES.group
        entries = [EntryPoint(n, f"somebodys_engine:{v}", group) for n, v in values.items()]
        monkeypatch.setattr(
            registries, "entry_points", lambda group: entries if group == entries[0].group else []
        )

    return install


@pytest.fixture
def toy(installed, run, tmp_path):
    """A toy cluster in the folder where commands run, and a profile for its machines."""
    installed(toy="ToyEngine")
    toy_cluster(tmp_path)
    save(Profile("p", (Cost("src", "box", 0.1, 1.0), Cost("work", "box", 0.2, 1.0))), "p.json")
    return tmp_path


# -- the registry ----------------------------------------------------------------------------------


def test_built_in_engines_are_there_and_say_what_they_are():
    engines = registry.ENGINES.registered()
    assert {"storm", "spark"} <= engines.keys()
    for entry in engines.values():
        assert entry.origin == "built in"
        assert entry.kind.name == entry.name


def test_a_misspelt_name_gets_the_one_that_was_meant():
    with pytest.raises(UnknownNameError, match='no engine "strom"; did you mean "storm"'):
        registry.get("strom")


def test_an_option_that_an_engine_does_not_have_is_refused_with_those_it_has():
    message = 'storm has no option "folder"; its options: nimbus, ui, storm-yaml'
    with pytest.raises(UsageError, match=message):
        registry.create("storm", {"folder": "x"})


def test_an_installed_engine_is_usable(installed):
    installed(toy="ToyEngine")
    assert registry.create("toy", {"folder": "x"}) == ToyEngine("x")
    assert registry.ENGINES.registered()["toy"].origin == "somebodys_engine:ToyEngine"
    assert "toy" in registry.names()


def test_one_that_cannot_be_imported_is_reported_and_the_others_work(installed):
    installed(missing="Nothing", toy="ToyEngine")
    assert "cannot be loaded" in registry.ENGINES.registered()["missing"].problem
    assert registry.get("toy") is ToyEngine
    with pytest.raises(PenstockError, match=r'engine "missing" of .* cannot be loaded'):
        registry.get("missing")


@pytest.mark.parametrize(("value", "missing"), [("NotOne", "name, summary"), ("Boastful", "run")])
def test_one_that_is_no_engine_says_what_it_lacks(installed, value, missing):
    installed(odd=value)
    with pytest.raises(PenstockError, match=f"is not an engine: it lacks {missing}"):
        registry.get("odd")


def test_a_built_in_name_cannot_be_taken(installed):
    installed(storm="ToyEngine")
    assert registry.ENGINES.registered()["storm"].origin == "built in"


def test_what_fails_in_an_installed_engine_is_told_as_its_packages_fault(installed, run):
    installed(broken="Broken")
    with pytest.raises(ForeignCodeError, match=r"of package somebodys_engine:Broken failed"):
        penstock.snapshot(penstock.engine("broken"))
    code, _, err = run("import broken --out live")
    assert code == 1
    assert "report this to the authors of somebodys_engine:Broken" in err


# -- a third engine, from the command line ---------------------------------------------------------


def test_a_third_engine_is_planned_for_compared_with_and_told(toy, run):
    code, out, err = run("plan --from toy -p p.json -s penstock -o n.json")
    assert code == 0, err
    assert "flow on toys" in out
    assert load("n.json").deployed[0].id == "flow-1"
    code, out, _ = run("diff n.json --from toy --json")
    assert code == 0
    assert json.loads(out)["format"] == "penstock/changes"
    before = (toy / "cluster.json").read_text()
    code, out, err = run("apply n.json --to toy --detailed-exitcode")
    assert (code, (toy / "cluster.json").read_text()) == (3, before)
    assert "nothing was changed; --yes applies the plan" in err
    code, _, err = run("apply n.json --to toy --yes")
    assert code == 0, err
    receipt = json.loads((toy / "receipt.json").read_text())
    assert (receipt["engine"], receipt["outcome"]) == ("toy", "applied")
    code, out, _ = run("diff n.json --from toy")
    assert (code, out.strip()) == (0, "no change")
    (entry,) = json.loads(run("history --json")[1])["plans"]
    assert (entry["engine"], entry["outcome"]) == ("toy", "applied")


def test_a_plan_of_a_third_engine_is_stale_when_another_run_is_there(toy, run):
    run("plan --from toy -p p.json -o n.json")
    content = json.loads((toy / "cluster.json").read_text())
    (toy / "cluster.json").write_text(json.dumps(content | {"run": "flow-2"}))
    code, _, err = run("apply n.json --to toy --yes")
    assert code == 5
    assert "n.json: flow was submitted again: it is now flow-2, not flow-1" in err


def test_a_third_engine_is_imported_and_has_its_own_options(toy, run, tmp_path):
    toy_cluster(tmp_path / "other")
    code, out, err = run("import toy --engine-option folder=other --out live --json")
    assert code == 0, err
    assert json.loads(out)["files"][:2] == ["live/cluster.yaml", "live/topology-flow.yaml"]
    assert load("live/current.json").deployed[0].id == "flow-1"
    code, _, err = run("plan --from toy --nimbus x")
    assert code == 2
    assert 'the engine toy has no option "nimbus"; its options: folder' in err


def test_a_cluster_that_does_not_say_what_cpu_it_needs_is_imported_without_a_plan(toy, run):
    content = json.loads(Path("cluster.json").read_text())
    for component in content["topology"]["components"].values():
        component.pop("requests", None)
    Path("cluster.json").write_text(json.dumps(content))
    code, _, err = run("import toy --out live")
    assert code == 0, err
    assert (code, sorted(p.name for p in Path("live").iterdir())) == (
        0,
        ["cluster.yaml", "seen.json", "topology-flow.yaml"],
    )
    assert "toy does not say what CPU instances need: who runs where is not written" in err


def test_what_a_third_engine_cannot_do_is_refused(toy, run):
    code, _, err = run("run --example linear --engine toy")
    assert code == 2
    assert "toy cannot run a topology from code; engines that can: spark" in err


def test_the_telemetry_of_a_third_engine_must_be_there(toy, run):
    code, _, err = run("profile --from toy --out measured.json")
    assert (code, "telemetry: no such file or folder" in err) == (1, True)


@pytest.mark.spark
def test_a_third_engine_is_measured(toy, run, spark):
    run("plan --from toy -p p.json -s default -o n.json")
    plan = load("n.json")
    loads = np.linspace(0.2, 0.6, 60) * plan.predicted.scale
    recording = Recording(
        problem=plan.problem,
        placement=plan.placement,
        scale=loads,
        run="flow-1",
        noise=Noise(cpu_relative=0.01),
    )
    write_json_lines(recording, toy / "telemetry", np.random.default_rng(1), files=2)
    code, _, err = run("profile --from toy --out measured.json")
    assert code == 0, err
    assert {c.row for c in load("measured.json").costs} == {"src", "work"}


def test_a_third_engine_is_watched_and_its_proposals_are_answered(toy, run):
    # 1.1 times 1,800 tuples/s at 0.3 points each are 594 points; a machine has 400.
    watch = "watch --from toy -p p.json --rules watch.yaml --once --every 1s"
    rules = (
        "format: penstock/watch\nversion: 1\npolicy: static\nparameters: {highest_per_s: 1800}\n"
    )
    (toy / "watch.yaml").write_text(rules)
    code, out, err = run(f"{watch} --act ask --json")
    assert code == 0, err
    told = [json.loads(line) for line in out.splitlines()]
    assert {one["format"] for one in told} == {"penstock/watch-event"}
    (asked,) = [one for one in told if one["kind"] == "decision"]
    assert (asked["status"], asked["machines_after"]) == ("waiting", 2)
    code, out, _ = run("approve")
    assert (code, asked["proposal"] in out) == (0, True)
    code, _, err = run(f"approve {asked['proposal'][:5]} --why fine")
    assert (code, "the watcher does it in its next turn" in err) == (0, True)
    code, _, err = run(f"reject {asked['proposal']}")
    assert (code, "is approved, and waits for nobody" in err) == (1, True)
    assert run("pause --why release")[0] == 0
    assert "applied" not in run(f"{watch} --act ask")[1]
    assert run("resume")[0] == 0
    code, out, err = run(f"{watch} --act ask")
    assert f"{asked['proposal']} applied by" in out, err
    assert json.loads((toy / "cluster.json").read_text())["moved"] == 1
    (entry,) = json.loads(run("history --json")[1])["plans"]
    assert (entry["engine"], entry["outcome"]) == ("toy", "applied")


def test_an_unknown_policy_or_proposal_is_refused_with_those_there_are(toy, run):
    code, _, err = run("watch --from toy -p p.json --policy penstok --once")
    assert (code, 'did you mean "penstock"' in err) == (1, True)
    code, _, err = run("approve 3f9a")
    assert (code, "penstock watch begins one" in err) == (1, True)
    run("watch --from toy -p p.json --once")
    code, _, err = run("approve 3f9a")
    assert (code, 'no proposal "3f9a"' in err) == (1, True)

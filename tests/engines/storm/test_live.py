"""On a real Storm: one topology, one plan, one fault. Needs Java, Maven and the plugin's jar."""

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.engines.listeners import listeners, open_to_others, secret_on_a_command_line, tree_of
from tests.engines.storm.storm_lab import LARGE, MACHINES, SMALL, storm_lab, until

from penstock.app.watching.options import Act, WatchOptions
from penstock.app.watching.watch import watching
from penstock.cli.main import main
from penstock.engines.storm.bridge import BridgeError, open_bridge
from penstock.engines.storm.engine import StormEngine
from penstock.engines.storm.faults import kill_machine
from penstock.engines.storm.from_nimbus import read_nimbus
from penstock.engines.storm.home import StormMissing, find_home, plugin_jar, require_java
from penstock.engines.storm.lab_topology import LabTopology
from penstock.engines.storm.proof import PROOF_FOLDER, prove
from penstock.engines.storm.snapshot import snapshot_of
from penstock.files.receipt_file import read_receipts
from penstock.files.store import load, save
from penstock.model.profile import Cost, Profile
from penstock.model.watch_rules import WatchSetting

pytestmark = pytest.mark.storm
_WITHOUT_PASSWORDS = "org.apache.storm.security.auth.SimpleTransportPlugin"

#: Measured costs of the lab's three kinds of work, alike on both machines.
COSTS = {"low": (0.0713, 1.5), "mid": (0.143, 1.8), "high": (0.293, 1.7)}


@pytest.fixture(scope="module")
def lab():
    try:
        require_java(os.environ)
        plugin_jar()
        find_home(os.environ)
    except StormMissing as missing:
        pytest.skip(str(missing))
    with storm_lab() as made:
        yield made


def soon(true, what):
    """However busy this computer is."""
    until(true, 120, what)


def penstock(*arguments):
    with pytest.raises(SystemExit) as left:
        main(list(map(str, arguments)))
    return left.value.code


def where(bridge):
    (deployed,) = snapshot_of(read_nimbus(bridge)).deployed
    return {name: [m for m, _ in places] for name, places in deployed.components}


def submit(lab, bridge):
    (lab.folder / "rate").write_text("60")
    settings = {
        "penstock.lab.rate.file": str(lab.folder / "rate"),
        PROOF_FOLDER: str(lab.folder / "proof"),
        "topology.acker.executors": 1,
        "topology.message.timeout.secs": 15,
        # Windows and files so short that there are enough of them soon.
        "report.period": 2,
        "penstock.telemetry.file.secs": 6,
    }
    options = {
        "executors": {"low": 1, "mid": 1, "high": 2},
        "traffic": True,
        "telemetry": str(lab.folder / "telemetry"),
        "conf": settings,
    }
    bridge.ask(
        "submit",
        jar=str(plugin_jar()),
        main="penstock.storm.lab.LabTopology",
        arguments=["linear", "linear", json.dumps(options)],
    )


def test_the_loop_takes_one_step_of_load_with_one_decision(lab, tmp_path):
    """Both machines are used when one does not carry the load any more, and nothing else happens.

    Costs are told to be three times what they are, so that it takes no load that this computer
    feels: the first machine carries (90 - 5) / 1.52 = 56 tuples/s, both carry 60.
    """
    topology = LabTopology(lab.folder, "linear", "watched")
    topology.feed(10.0)
    dear = [replace(cost, e=3 * cost.e) for cost in profile().costs]
    save(replace(profile(), costs=tuple(dear)), tmp_path / "profile.json")
    # A step is seen within 8 s, and told of again in the next 8 if it was not.
    setting = WatchSetting("ds2", {"every_s": 8.0, "warm_up": 0, "activation": 1})
    options = WatchOptions(
        tmp_path / "profile.json", setting, Act.NOW, window_s=6.0, history=tmp_path / "history",
        telemetry=(str(topology.telemetry),), weighted=True,
    )  # fmt: skip
    events = []
    with lab.bridge() as bridge:
        counts = {"low": 1, "mid": 1, "high": 1}
        topology.submit(
            bridge, counts, 1, weighted=True, proof=True, queued=True, reports_every_s=2
        )
        engine = StormEngine(storm_yaml=lab.storm_yaml)
        with watching(engine, options, tell=events.append) as watcher:

            def turned(true):
                watcher.turn()
                return watcher._seen is not None and true(watcher._seen)

            soon(lambda: turned(lambda seen: seen.processed > 5), "the first rates")
            topology.feed(60.0)
            soon(lambda: turned(lambda seen: len(seen.placement.machines_used) == 2), "a step")
            soon(lambda: turned(lambda seen: seen.processed > 55), "the rate offered")
            assert watcher._seen.paused_s > 0.0
        decided = [event for event in events if event.kind == "decision"]
        assert [event.facts["status"] for event in decided] == ["applied"], decided
        receipts, findings = read_receipts(tmp_path / "history")
        assert not findings
        assert [(r.outcome, r.topologies) for r, _ in receipts] == [("applied", ("watched",))]
        topology.feed(0.0)
        time.sleep(2)
        result = prove(topology.proof, [("mid", "high")])
        assert result.holds, result.missing[:3]
        bridge.ask("kill", name="watched", wait_s=0)
        soon(lambda: not bridge.ask("cluster")["topologies"], "its end")


def test_a_plan_is_obeyed_and_a_lost_machine_survived(lab, tmp_path, capsys):
    with lab.bridge() as bridge:
        submit(lab, bridge)
        soon(lambda: bridge.ask("cluster")["topologies"], "a topology")
        soon(lambda: bridge.ask("assignments", topology=topology(bridge))["executors"], "all")

        # Seen: what runs, with the machines' own names and types.
        save(profile(), tmp_path / "profile.json")
        plan = tmp_path / "plan.json"
        target = ("--storm-yaml", lab.storm_yaml)
        assert penstock("import", "storm", *target, "--out", tmp_path / "live") == 0
        assert {m.type for m in load(tmp_path / "live" / "cluster.yaml").machines} == {
            machine.type for machine in MACHINES
        }

        # Planned and applied: the placement read back is the plan's.
        fixed = ("--fix", f"low={LARGE}", "--fix", f"mid={LARGE}", "--fix", f"high={SMALL}")
        made = penstock(
            "plan", "--from", "storm", *target, "-p", tmp_path / "profile.json", *fixed, "-o", plan
        )
        assert made == 0
        receipt, history = tmp_path / "receipt.json", ("--history", tmp_path / "history")
        applied = penstock("apply", plan, *target, "--yes", "--receipt", receipt, *history)
        assert applied == 0, capsys.readouterr().err
        assert json.loads(receipt.read_text())["outcome"] == "applied"
        wanted = planned(load(plan))
        assert {name: where(bridge)[name] for name in wanted} == wanted
        assert penstock("diff", plan, "--from", "storm", *target, "--detailed-exitcode") == 0

        # Tuples flow; then a machine dies with its workers.
        proof = lab.folder / "proof"
        soon(lambda: prove(proof, []).acked > 300, "tuples are acked")
        everyone = {"low", "mid", "high", "__acker"}
        soon(lambda: {line["component"] for line in telemetry(lab)} >= everyone, "telemetry")
        measured_from_the_telemetry(lab, target, tmp_path, history, capsys)
        kill_machine(lab.lab, SMALL)
        soon(lambda: all(at == LARGE for at in where(bridge)["high"]), "the contingency")
        acked = prove(proof, []).acked
        soon(lambda: prove(proof, []).acked > acked + 300, "tuples are acked again")
        (lab.folder / "rate").write_text("0")
        time.sleep(2)
        result = prove(proof, [("mid", "high")])
        assert result.holds, result.missing[:3]

        # What the reporter wrote is our telemetry, with the CPU of each executor.
        lines = telemetry(lab)
        assert all(line["cpu_points"] >= 0 and line["machine_type"] for line in lines)
        assert penstock("apply", plan, *target) == 5  # its machine is gone: stale


def measured_from_the_telemetry(lab, target, tmp_path, history, capsys):
    """At two rates: costs for the next plan, and what came of this one."""
    began_ms = 1000 * time.time()
    for number, rate in enumerate(("30", "90"), start=1):
        (lab.folder / "rate").write_text(rate)
        ends_ms = began_ms + 20_000 * number
        soon(lambda ends_ms=ends_ms: reported_until_ms(lab) > ends_ms, f"files at {rate}/s")
    fresh = ("--telemetry", lab.folder / "telemetry", "--warm-up", 0, "--partial")
    measured = tmp_path / "measured.json"
    code = penstock("profile", "--from", "storm", *target, *fresh, *history, "--out", measured)
    assert code == 0, capsys.readouterr().err
    kinds = {(cost.row, cost.machine_type) for cost in load(measured).costs}
    assert {row for row, _ in kinds} >= {"low", "mid", "high"}
    capsys.readouterr()
    assert penstock("history", "--json", *history) == 0
    (entry,) = json.loads(capsys.readouterr().out)["plans"]
    assert entry["outcome"] == "applied"
    assert entry["measured"], entry["verdict"]
    # 30 and 90 tuples/s for about as long, after 60; a busy computer may do less.
    assert 20 < entry["measured"]["topologies"]["linear"]["rate_per_s"] < 95
    assert {*entry["measured"]["machines"]} == {LARGE, SMALL}
    line = next(line for line in ended(lab) if line["component"] == "high" and line["inputs"])
    assert line["inputs"][0]["bytes"] > line["inputs"][0]["tuples"] > 0


def reported_until_ms(lab):
    """Until when every planned component is in whole files, whichever worker is the slowest."""
    last = dict.fromkeys(("low", "mid", "high"), 0)
    for line in ended(lab):
        if line["component"] in last:
            last[line["component"]] = max(last[line["component"]], line["time_ms"])
    return min(last.values())


def ended(lab):
    """Lines of files that are whole."""
    files = (lab.folder / "telemetry").glob("[!.]*.jsonl")
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def telemetry(lab):
    """Whole lines of all workers; one may be just being written."""
    texts = [file.read_text() for file in (lab.folder / "telemetry").glob("*")]
    return [json.loads(line) for text in texts for line in text.splitlines() if line[-1:] == "}"]


def topology(bridge):
    return bridge.ask("cluster")["topologies"][0]["id"]


def profile():
    costs = tuple(
        Cost(name, kind, e, met)
        for name, (e, met) in COSTS.items()
        for kind in (machine.type for machine in MACHINES)
    )
    return Profile("lab", costs)


def planned(plan):
    problem, placement = plan.problem, plan.placement
    names = [machine.name for machine in problem.cluster.machines]
    return {
        component.name: [names[m] for m in placement.machine[placement.component == c]]
        for c, component in enumerate(problem.components)
    }


def test_nobody_else_gets_into_the_lab(lab, tmp_path):
    """After the test above: ZooKeeper, Nimbus, supervisors and workers are there."""
    with lab.bridge() as bridge:
        if not bridge.ask("cluster")["topologies"]:
            submit(lab, bridge)
            soon(lambda: all(where(bridge).values()), "placed")
        programs = ("ZooKeeper", "nimbus.Nimbus", "supervisor.Supervisor", "daemon.worker.Worker")
        soon(lambda: _listening(tree_of([os.getpid()]), programs) == set(programs), "workers")
        everything = tree_of([os.getpid()])
        assert open_to_others(everything) == []
    settings = json.loads(lab.storm_yaml.read_text())
    secret = settings["storm.zookeeper.auth.payload"].partition(":")[2]
    jaas = Path(settings["java.security.auth.login.config"])
    password = jaas.read_text().rpartition('password="')[2].partition('"')[0]
    for word in (secret, password):
        assert len(word) == 64
        assert secret_on_a_command_line(word) == []
    assert [path.stat().st_mode & 0o777 for path in (jaas, lab.storm_yaml)] == [0o600, 0o600]
    # Somebody who knows where everything is, but no password.
    known = {key: value for key, value in settings.items() if "auth" not in key}
    stranger = {**known, "storm.thrift.transport": _WITHOUT_PASSWORDS}
    (tmp_path / "storm.yaml").write_text(json.dumps(stranger))
    with open_bridge(conf_dir=tmp_path) as bridge:
        for question in ("cluster", "machines"):
            with pytest.raises(BridgeError):
                bridge.ask(question)


def _listening(processes, programs):
    commands = [command for _, _, command in listeners(processes)]
    return {program for program in programs if any(program in text for text in commands)}

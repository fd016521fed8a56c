"""Folders with the files that the documentation's commands speak of.

A page is written for a reader who has such files; which ones differs from page to page, so there
are several folders. What a page prints (topology.yaml, clicks.py, a sweep file) is taken from it.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import yaml
from tests.corpus.bases import PRODUCTION_CLUSTER, PRODUCTION_TOPOLOGIES
from tests.docs.commands import block_with
from tests.files.test_flux import PLAIN as FLUX
from tests.telemetry.stores import commit, samples, write_part

from penstock.app.journal_file import open_journal, transaction
from penstock.app.proposals import ChangeProposal, ProposalBook, Status
from penstock.files.examples import text as example_text
from penstock.files.store import load, save
from penstock.model.plan import Plan
from penstock.model.profile import Cost, Profile
from penstock_bench.synthetic import Noise, Recording, levels, write_json_lines

#: Runs a command in the current folder and answers with what it printed.
Run = Callable[[str], str]
#: The plan of the Storm scene was applied so long ago.
AGO_S = 7200
#: What runs on the Storm of dictionaries.
STORM_TOPOLOGY = "orders"
_DIES = """\
format: penstock/scenario
version: 1
name: machine dies
duration_s: 3
changes:
  - {at_s: 1, down: old-1, until_s: 2}
"""
_LAB_TYPES = ("cpu90", "cpu50", "cpu30", "lab-90", "lab-50", "lab-30")


def clicks(run: Run) -> None:
    """The README's three files, plans of them, their telemetry, and code to run them on Spark."""
    for name in ("topology", "cluster", "profile"):
        Path(f"{name}.yaml").write_text(block_with("README.md", f"# {name}.yaml"))
    shutil.copy("topology.yaml", "clicks.yaml")
    Path("clicks.py").write_text(block_with("docs/spark.md", "def parse(rows)"))
    Path("incoming").mkdir()
    Path("incoming/visits.txt").write_text("ann /\nbob /\nann /about\n" * 50)
    run("plan topology.yaml -c cluster.yaml -p profile.yaml -o plan.json")
    run("plan topology.yaml -c cluster.yaml -p profile.yaml -s default -o yesterday.json")
    shutil.copy("yesterday.json", "before.json")
    shutil.copy("plan.json", "after.json")
    Path("sim.json").write_text(run("simulate plan.json --duration 1 --json"))
    Path("machine-dies.yaml").write_text(_DIES)
    plan = load("plan.json")
    save(plan.problem.profile, "profile.json")
    _record(plan, Path("telemetry"))
    Path("suite.yaml").write_text(_short_sweep())
    _folders_of_others()


def stored(_: Run) -> None:
    """The tables of ``penstock profile --store tables``, an hour of two batches in them."""
    root, hour = Path("tables"), "2026-01-01-00"
    batches = {
        f"{hour}/b{n}": write_part(root, "samples", hour, samples(n), f"b{n}") for n in (1, 2)
    }
    tables = {name: write_part(root, name, hour, [{}], "3") for name in ("streams", "traffic")}
    commit(root, {"samples": batches, **{name: {hour: part} for name, part in tables.items()}})


def _short_sweep() -> str:
    """The simulator page's sweep with one seed, one scheduler and short runs."""
    sweep = yaml.safe_load(block_with("docs/simulator.md", "format: penstock/sweep"))
    sweep |= {"seeds": 1, "schedulers": ["default"]}
    for scenario in sweep["scenarios"]:
        if "seconds" in scenario:
            scenario["seconds"] = 1
    # The machines of the scenario file are those of the second problem.
    sweep["problems"] = sweep["problems"][1:]
    return yaml.safe_dump(sweep)


def _folders_of_others() -> None:
    """Settings of Storm's supervisors, and a recorded cluster."""
    for folder in ("host-a", "host-b", "hosts/a/conf", "hosts/b/conf", "largeCluster01"):
        Path(folder).mkdir(parents=True)
    for folder in ("host-a", "host-b", "hosts/a/conf", "hosts/b/conf"):
        Path(folder, "storm.yaml").write_text("supervisor.cpu.capacity: 800.0\n")
    Path("largeCluster01/cluster.json").write_text(json.dumps(PRODUCTION_CLUSTER))
    Path("largeCluster01/topologies.json").write_text(json.dumps(PRODUCTION_TOPOLOGIES))


def after_a_run(run: Run) -> None:
    """What ``penstock run --out`` leaves: telemetry in the folder of the run."""
    clicks(run)
    for folder in ("run", "clicks-run"):
        shutil.copytree("telemetry", Path(folder, "telemetry"))


def machines(run: Run) -> None:
    """A list of machines that probe each other, their key, and what one of them told."""
    clicks(run)
    Path("machines.yaml").write_text(block_with("docs/machines.md", "m1: "))
    Path("key").write_text("0123456789abcdef" * 2)
    Path("key").chmod(0o600)
    run("agent --name m1 --out telemetry --every 1 --seconds 1.1")


def flux(run: Run) -> None:
    """A topology as Storm's Flux has it."""
    Path("topology.yaml").write_text(FLUX)


def what_if(run: Run) -> None:
    """The README's files, with a machine type more and with a demand."""
    clicks(run)
    topology = yaml.safe_load(Path("clicks.yaml").read_text())
    Path("clicks.yaml").write_text(yaml.safe_dump(topology | {"demand_per_s": 9000}))
    _rename_type("new", "epyc-2021")


def terms(run: Run) -> None:
    """Machines m1 to m8 that have a price, and a component that stores."""
    clicks(run)
    cluster = yaml.safe_load(Path("cluster.yaml").read_text())
    old, new = ({**cluster["types"][name], "price_per_hour": 1.0} for name in ("old", "new"))
    machines = [{"name": f"m{i}", "type": "old" if i % 2 else "new"} for i in range(1, 9)]
    cluster |= {"types": {"old": old, "new": new}, "machines": machines}
    Path("cluster.yaml").write_text(yaml.safe_dump(cluster, sort_keys=False))
    for name in ("topology.yaml", "profile.yaml"):
        Path(name).write_text(Path(name).read_text().replace("count", "store"))
    run("plan topology.yaml -c cluster.yaml -p profile.yaml -s default -o plan.json")


def wordcount(run: Run) -> None:
    """The shipped WordCount with costs on the README's machines, a lab's, and this computer."""
    Path("cluster.yaml").write_text(block_with("README.md", "# cluster.yaml"))
    Path("lab.yaml").write_text(example_text("cluster", "lab-90-50-30"))
    Path("wordcount.yaml").write_text(example_text("topology", "wordcount"))
    rows = [c.name for c in load("wordcount.yaml").components]
    types = ("any", "old", "new", *_LAB_TYPES)
    profile = Profile("measured", tuple(Cost(r, t, 0.001, 1.0) for r in rows for t in types))
    save(profile, "profile.json")
    save(profile, "profile.yaml")
    run("plan wordcount -c lab.yaml -p profile.json --engine spark -o plan.json")


def rehearsal(run: Run) -> None:
    """Two hours of a load, watch rules, and the journal of a rehearsal."""
    rates = 100 + 20 * np.sin(np.arange(24) / 4)
    lines = [f"{300 * i},{rate:.1f}" for i, rate in enumerate(rates)]
    Path("load.csv").write_text("\n".join(["second,events_per_s", *lines]) + "\n")
    Path("watch.yaml").write_text("format: penstock/watch\nversion: 1\nmost_machines: 100\n")
    run("rehearse load.csv -c nasiri-testbed --policy static --days 0.05 --out earlier")
    shutil.copy(next(Path("earlier/journals").iterdir()), "journal.sqlite")


def storm(run: Run) -> None:
    """A plan applied two hours ago to a Storm, receipts, and the telemetry of its workers."""
    Path("conf").mkdir()
    Path("conf/storm.yaml").write_text("nimbus.seeds: [storm-master]\n")
    Path("hosts.yaml").write_text("host-a: box\nhost-b: box\n")
    Path("hooks.yaml").write_text(
        "format: penstock/hooks\nversion: 1\nmachines: {b: {sleep: 'true', wake: 'true'}}\n"
    )
    costs = (Cost("src", "box", 0.1, 1.0), Cost("work", "box", 0.2, 1.0))
    save(Profile("p", costs), "profile.json")
    run("plan --from storm --nimbus storm-master -p profile.json -o plan.json")
    run("apply plan.json --nimbus storm-master --yes")
    _backdate()
    _older_receipt("20261115T221700Z")
    for folder in (
        "telemetry",
        "mnt/telemetry",
        "mnt/host-a/telemetry",
        "var/lib/penstock/telemetry",
    ):
        start_ms = int(1000 * (time.time() - AGO_S + 60))
        _record(load("plan.json"), Path(folder), start_ms=start_ms, run=f"{STORM_TOPOLOGY}-1-100")
    # What was in force before; the Storm that commands meet is again as it was then.
    Path("plan-of-nimbus.json").unlink()


def certified(run: Run) -> None:
    """A plan and its certificate."""
    clicks(run)
    run("certify plan.json -o certificate.json")


def watched(run: Run) -> None:
    """A Storm that is watched, with a change that waits for an answer."""
    storm(run)
    save(load("plan.json").problem.profile, "profile.json")
    Path("watch.yaml").write_text("format: penstock/watch\nversion: 1\n")
    Path("hooks.yaml").write_text(block_with("docs/watch.md", "# hooks.yaml"))
    Path("hooks.yaml").chmod(0o600)
    shutil.copy("hooks.yaml", "history/hooks.yaml")
    waiting = ChangeProposal(
        "3f9a17c2", time.time(), "wake", "demand will pass what the plan carries", 2, 2, 100.0,
        400.0, 200.0, Status.WAITING, time.time(), plan=Path("plan.json").read_text(),
    )  # fmt: skip
    for path in ("history/journal.sqlite", "journal.sqlite"):
        connection = open_journal(Path(path))
        with transaction(connection):
            ProposalBook(connection).add(waiting)
        connection.close()


def _backdate() -> None:
    (path,) = Path("history", "receipts").glob("*.json")
    receipt = json.loads(path.read_text())
    for name in ("began_s", "ended_s"):
        receipt[name] -= AGO_S
    path.write_text(json.dumps(receipt))


def _older_receipt(name: str) -> None:
    """One more receipt, of the time that its name says."""
    (path,) = Path("history", "receipts").glob("*.json")
    began_s = datetime.strptime(name, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()
    receipt = json.loads(path.read_text()) | {"began_s": began_s, "ended_s": began_s + 5}
    path.with_name(f"{name}.json").write_text(json.dumps(receipt))


def _record(plan: Plan, folder: Path, **more: object) -> None:
    rng = np.random.default_rng(1)
    folder.mkdir(parents=True)
    recording = Recording(
        problem=plan.problem,
        placement=plan.placement,
        scale=levels(plan.predicted.scale, 60, rng),
        noise=Noise(cpu_relative=0.02),
        **more,
    )
    write_json_lines(recording, folder, rng, files=2)


def _rename_type(old: str, new: str) -> None:
    for name in ("cluster.yaml", "profile.yaml"):
        Path(name).write_text(
            Path(name)
            .read_text()
            .replace(f"{old}:", f"{new}:")
            .replace(f"type: {old}", f"type: {new}")
        )

"""A run under a plan on a lab, in a process of its own: the tests' process has a session already.

Prints what happened as JSON: the hosts of every batch, what was said, and whether all is gone.
"""

import json
import os
import signal
import sys
from pathlib import Path

from pyspark import SparkContext
from tests.builders import profile
from tests.engines.listeners import (
    lets_strangers_in,
    listeners,
    open_to_others,
    secret_on_a_command_line,
    tree_of,
)
from tests.engines.spark.test_runner import state_of, text_files

from penstock import app
from penstock.engines.lab.cluster import lab_cluster
from penstock.engines.lab.lab import lab_of
from penstock.engines.lab.machines import parse_machines
from penstock.engines.spark.code import load_code, shipped_code
from penstock.engines.spark.deployment import PlaceBy
from penstock.engines.spark.planned import PlanInForce, PlannedRun
from penstock.engines.spark.sources import FileSource
from penstock.engines.spark.standalone import start_lab
from penstock.engines.spark.watched_run import SparkRunSession
from penstock.files import examples
from penstock.files.store import save

BATCHES = 7
_DAEMONS = ("deploy.master.Master", "deploy.worker.Worker", "CoarseGrainedExecutorBackend")
REPLACED_AFTER, KILLED_AFTER = 2, 4


def plan_for(graph, machines):
    cluster = lab_cluster(machines)
    known = profile(on=tuple(t.name for t in cluster.types), spout=0.01, split=0.01, count=0.01)
    return app.plan(app.problem(graph, cluster, known, engine="spark"), "proportional").plan


def what_listens(lab):
    """Of all parts of a running cluster: who gets in, from here and from elsewhere."""
    everything = tree_of([os.getpid()])
    secret = json.loads((lab.folder / "spark-secret.json").read_text())["secret"]
    of_spark = [one for one in listeners(everything) if any(name in one[2] for name in _DAEMONS)]
    driver = int(SparkContext._active_spark_context.getConf().get("spark.driver.port"))
    of_spark.append(("127.0.0.1", driver, "driver"))
    return {
        "open_to_others": open_to_others(everything),
        "daemons": sorted(name for name in _DAEMONS if any(name in one[2] for one in of_spark)),
        "lets_strangers_in": [one for one in of_spark if lets_strangers_in(*one[:2])],
        "secret_shown_by_ps": secret_on_a_command_line(secret),
        "secret_mode": (lab.folder / "spark-secret.json").stat().st_mode & 0o777,
    }


def main(folder: Path) -> None:
    graph = examples.load_topology("wordcount")
    code = load_code(shipped_code("wordcount"), graph)
    source = FileSource(folder / "in", 1)
    words = text_files(source.folder, BATCHES, seed=5)
    machines = parse_machines("60,40", cores=2)
    path = folder / "plan.json"
    save(plan_for(graph, machines), path)
    said, seen, readings, listening = [], [], [], {}
    watched = SparkRunSession(folder / "run")
    with lab_of("test", machines, warm_up_s=600) as lab:

        def see(batch):
            seen.append(batch)
            readings.append(watched.reading())
            if not listening:
                listening.update(what_listens(lab))
            if len(seen) == REPLACED_AFTER:
                save(plan_for(graph, machines[:1]), path)
            elif len(seen) == REPLACED_AFTER + 1:
                save(plan_for(graph, machines), path)
            elif len(seen) == KILLED_AFTER:
                os.killpg(lab.daemons.running[-1].process.pid, signal.SIGKILL)

        in_force = PlanInForce(path, graph, PlaceBy.TYPE, said.append)
        run = PlannedRun(
            start_lab(lab), graph, code, source, folder / "run", in_force, see, said.append,
            lost_after_s=4.0,
        )  # fmt: skip
        run.run(lambda: len(seen) == BATCHES)
    facts = {
        "numbers": [batch.number for batch in seen],
        "hosts": [sorted({sample.host for sample in batch.samples}) for batch in seen],
        "types": sorted({(s.host, s.machine_type) for batch in seen for s in batch.samples}),
        "said": said,
        "there": [[m.name for m in r.snapshot.cluster.machines] for r in readings],
        "runs": [
            sorted({m for _, p in r.snapshot.deployed[0].components for m, _ in p})
            for r in readings
        ],
        "cpu": sorted(readings[3].machine_points),
        "exact": state_of(folder / "run", "count") == dict(words),
        "left": [str(f) for h in lab.held.values() for f in h.group.folders if f.exists()],
        "folder_left": lab.folder.exists(),
        **listening,
    }
    sys.stdout.write(json.dumps(facts))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""A run of Spark's under a plan as a watcher sees it: its files, and a master's workers.

It looks at its plan file whenever somebody looks at its status, as a run does between two batches.
"""

import json
import os
from dataclasses import replace
from pathlib import Path

from penstock.engines.lab.process_identity import ProcessIdentity
from penstock.engines.publisher import EngineAway
from penstock.engines.spark import run_status
from penstock.engines.spark.master_page import RegisteredWorker
from penstock.engines.spark.planned import plan_id_of
from penstock.engines.spark.run_status import BatchStatus, RunStatus, write_status
from penstock.files.store import load, save

MASTER = "spark://127.0.0.1:7077"


class FakeRun:
    """A run in a folder, under a plan that is given."""

    def __init__(self, folder: Path, plan, *, obeys: bool = True) -> None:
        self.folder, self.path, self.obeys = folder / "run", folder / "plan.json", obeys
        self.topology = plan.problem.topologies[0].name
        #: Machines that have a worker.
        self.workers = [m.name for m in plan.problem.cluster.machines]
        self.folder.mkdir()
        save(plan, self.path)
        me = ProcessIdentity.of(os.getpid())
        self.status = RunStatus(
            self.topology, "run-1", MASTER, "machine", str(self.path), me.pid, me.started
        )
        self._follow()

    def read_status(self, folder: Path) -> RunStatus:
        """In place of the function of this name."""
        assert folder == self.folder
        if plan_id_of(self.path.read_bytes()) not in (self.status.plan_id, self.status.refused_id):
            self._follow()
        return run_status.read_status(folder)

    def registered(self, master: str, page: str | None) -> list[RegisteredWorker]:
        """In place of the master's page."""
        if not self.workers:
            raise EngineAway("nobody answers")
        return [RegisteredWorker("127.0.0.1", (name,)) for name in self.workers]

    def did(self, batch: BatchStatus, samples=()) -> None:
        """One batch more."""
        self.status = self.status.after(batch)
        telemetry = self.folder / "telemetry"
        telemetry.mkdir(exist_ok=True)
        lines = "".join(json.dumps(sample.to_dict()) + "\n" for sample in samples)
        (telemetry / f"{batch.number:09d}.jsonl").write_text(lines)
        write_status(self.folder, self.status)

    def _follow(self) -> None:
        number = plan_id_of(self.path.read_bytes())
        if not self.obeys and self.status.plan_id:
            self.status = replace(self.status, refused_id=number, refusal="it is obstinate")
        else:
            plan = load(str(self.path))
            places = {
                component: tuple(
                    (p.machine, p.slot, 1 / len(instances) if p.share is None else p.share)
                    for p in instances
                )
                for (_, component), instances in plan.places.items()
            }
            self.status = replace(self.status, plan_id=number, places=places)
        write_status(self.folder, self.status)

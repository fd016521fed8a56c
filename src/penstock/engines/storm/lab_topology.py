"""One of the plugin's topologies on a lab's Storm: submitted, fed at a rate, ended."""

from __future__ import annotations

import json
import shutil
import struct
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.engines.rate_steps import RateSteps, read_rate_steps, write_rate_steps
from penstock.engines.storm.bridge import Bridge
from penstock.engines.storm.home import plugin_jar
from penstock.engines.storm.proof import PROOF_FOLDER
from penstock.engines.storm.publish import SHARES_FILE

#: The setting of a lab topology that says where its spouts keep their place in the input.
SOURCE_FOLDER = "penstock.lab.source.dir"
#: Those that the plugin's jar holds, under the names of the examples.
SHAPES = ("linear", "diamond", "star", "wordcount", "rollingcount")
_MAIN = "penstock.storm.lab.LabTopology"
#: Tasks of each component: divisible by most numbers of executors.
TASKS = 12
#: Tuples that may be under way: enough to keep every machine busy, few enough to be done in time.
_PENDING = 600
#: Of each task of a spout with a queue: what it took, and what of it was acked.
_POSITION = struct.Struct("<qq")
REPORTS_EVERY_S = 3
_TELEMETRY = "-telemetry"


def plan_file_in(folder: Path) -> Path:
    """Where Nimbus of the lab in this folder looks for a plan."""
    return folder / "plan.json"


def telemetry_pattern(folder: Path) -> str:
    """Folders of telemetry of all topologies of the lab in this folder."""
    return str(folder / f"*{_TELEMETRY}")


@dataclass(frozen=True, slots=True)
class TakenTuples:
    """Where spouts are in what they are offered."""

    taken: int
    acked: int


@dataclass(frozen=True)
class LabTopology:
    """Its files lie in the lab's folder, so that they go with it."""

    folder: Path
    shape: str
    name: str

    @property
    def rate_file(self) -> Path:
        return self.folder / f"{self.name}-rate"

    @property
    def telemetry(self) -> Path:
        return self.folder / f"{self.name}{_TELEMETRY}"

    @property
    def proof(self) -> Path:
        return self.folder / f"{self.name}-proof"

    @property
    def queue(self) -> Path:
        """What its spouts took of what they were offered, where that waits for them."""
        return self.folder / f"{self.name}-source"

    def feed(self, rate_per_s: float) -> None:
        """Tuples/s that the spouts are to make, from now on."""
        known = read_rate_steps(self.rate_file).steps if self.rate_file.exists() else ()
        self.offer((*known, (time.time(), rate_per_s)))

    def offer(self, steps: Iterable[tuple[float, float]]) -> RateSteps:
        """Tuples/s from one time of day to the next, which wait where they are not taken."""
        return write_rate_steps(self.rate_file, steps)

    def taken(self) -> TakenTuples:
        """What all spouts took since they were submitted, and what of it was acked."""
        positions = [
            position
            for file in sorted(self.queue.glob("source-*"))
            for position in _POSITION.iter_unpack(file.read_bytes())
        ]
        return TakenTuples(sum(taken for taken, _ in positions), sum(done for _, done in positions))

    def submit(
        self,
        bridge: Bridge,
        executors: Mapping[str, int],
        workers: int,
        *,
        weighted: bool = False,
        load_aware: bool = False,
        proof: bool = False,
        traffic: bool = False,
        queued: bool = False,
        reports_every_s: int = REPORTS_EVERY_S,
    ) -> None:
        """With so many executors; Storm's own scheduler places it unless a plan is in force.

        Storm's shuffle prefers targets in the same worker until they are overloaded
        (``load_aware``); without, it deals tuples evenly, as the model has it. What is offered
        waits for the spouts where it is ``queued``, and is left out where they cannot make it
        otherwise. It begins with this submission.
        """
        shutil.rmtree(self.queue, ignore_errors=True)
        now = time.time()
        self.offer([(now, read_rate_steps(self.rate_file).per_s(now))])
        settings: dict[str, object] = {
            "penstock.lab.rate.file": str(self.rate_file),
            "penstock.lab.pending": _PENDING,
            SHARES_FILE: str(plan_file_in(self.folder)),
            "topology.workers": workers,
            "topology.acker.executors": workers,
            "topology.max.spout.pending": _PENDING,
            "topology.disable.loadaware.messaging": not load_aware,
            "topology.message.timeout.secs": 30,
            "report.period": reports_every_s,
        }
        if queued:
            settings[SOURCE_FOLDER] = str(self.queue)
        if proof:
            settings[PROOF_FOLDER] = str(self.proof)
        options = {
            "executors": dict(executors),
            "tasks": {name: max(TASKS, count) for name, count in executors.items()},
            "weighted": weighted,
            "traffic": traffic,
            "telemetry": str(self.telemetry),
            "conf": settings,
        }
        arguments = [self.shape, self.name, json.dumps(options)]
        bridge.ask("submit", jar=str(plugin_jar()), main=_MAIN, arguments=arguments)

"""A topology of the plugin's on a lab: submitted, fed at a rate, placed, and watched.

Everything is read off what a user has as well: telemetry lines for tuples and the CPU of workers,
Nimbus for the placement. Only what a whole machine uses comes from the lab's control groups.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.change.guard import differences
from penstock.change.history import Receipt
from penstock.engines.base import PublishOrder
from penstock.engines.lab.lab import Lab
from penstock.engines.storm.bridge import Bridge, BridgeError
from penstock.engines.storm.from_nimbus import read_nimbus
from penstock.engines.storm.lab import plan_file
from penstock.engines.storm.lab_topology import REPORTS_EVERY_S, LabTopology
from penstock.engines.storm.publish import prepare, publisher
from penstock.engines.storm.snapshot import snapshot_of
from penstock.errors import InputError, PenstockError
from penstock.files.writer import write_text
from penstock.model.plan import Places, Plan
from penstock.model.snapshot import Snapshot

_RUNS_WITHIN_S = 180.0
_WARM_WITHIN_S = 180.0
_LOOKS_EVERY_S = 1.0
#: More than any machine of a lab can take.
FLOOD_PER_S = 1e6


@dataclass(frozen=True)
class Watched:
    """What was seen in one stretch of time."""

    #: Tuples/s that the spouts made.
    rate_per_s: float
    #: CPU points of each whole machine, and of the worker processes on it.
    machine_points: Mapping[str, float]
    worker_points: Mapping[str, float]
    lines: Sequence[Mapping[str, Any]]
    #: Times of day.
    began: float
    ended: float


@dataclass
class Trial:
    """One topology on one lab."""

    lab: Lab
    bridge: Bridge
    shape: str
    spouts: tuple[str, ...]
    say: Callable[[str], None] = lambda _text: None
    reports_every_s: int = REPORTS_EVERY_S
    receipts: list[Receipt] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.shape

    @property
    def topology(self) -> LabTopology:
        return LabTopology(self.lab.folder, self.shape, self.name)

    @property
    def telemetry(self) -> Path:
        return self.topology.telemetry

    @property
    def proof(self) -> Path:
        return self.topology.proof

    def submit(
        self,
        executors: Mapping[str, int],
        *,
        weighted: bool = False,
        load_aware: bool = False,
        proof: bool = False,
        queued: bool = False,
    ) -> None:
        """With so many executors, fed with nothing yet; until it runs."""
        self.feed(0.0)
        self.topology.submit(
            self.bridge, executors, len(self.lab.machines),
            weighted=weighted, load_aware=load_aware, proof=proof, queued=queued,
            reports_every_s=self.reports_every_s,
        )  # fmt: skip
        self._until(self._has_place, _RUNS_WITHIN_S, f"{self.name} has no place")
        self.wait_until_running()

    def kill(self) -> None:
        self.bridge.ask("kill", name=self.name, wait_s=0)
        self._until(self._is_gone, _RUNS_WITHIN_S, f"{self.name} does not end")
        plan_file(self.lab).unlink(missing_ok=True)

    def feed(self, rate_per_s: float) -> None:
        """Tuples/s that the spouts are to make, from now on."""
        self.topology.feed(rate_per_s)

    def snapshot(self) -> Snapshot:
        return snapshot_of(read_nimbus(self.bridge))

    def differs_from(self, wanted: Places) -> list[str]:
        """Where the placement is another; planned slots may be numbered otherwise."""
        (deployed,) = self.snapshot().deployed
        return differences(wanted, deployed)

    def place(self, plan: Plan, wait_s: int = 1) -> Receipt:
        """Put a plan in force; an error if Storm does not follow."""
        order = PublishOrder(self.say, self.receipts.append, wait_s=wait_s)
        publication = prepare(plan, self.snapshot())
        return publisher(self.bridge, plan_file(self.lab), order).publish(publication)

    def warm_up(self, left_out_s: float) -> None:
        """Until everything runs, the machines are held to their points, and a while longer."""
        self.wait_until_running()
        self.lab.wait_until_limited(_WARM_WITHIN_S)
        time.sleep(left_out_s)

    def wait_until_running(self) -> None:
        """Until every executor has reported a whole window from where it belongs."""
        began = time.time()
        wanted = {
            (component, machine)
            for deployed in self.snapshot().deployed
            for component, places in deployed.components
            for machine, _ in places
        }
        self._until(
            lambda: {(x["component"], x["host"]) for x in self.whole_lines(began)} >= wanted,
            _RUNS_WITHIN_S, f"not every executor of {self.name} reports",
        )  # fmt: skip

    def watch(self, seconds: float) -> Watched:
        """What happens in the next seconds."""
        began, before = time.time(), self.lab.cpu_s()
        time.sleep(seconds)
        ended, after = time.time(), self.lab.cpu_s()
        # The windows that end just after it are still to be written.
        time.sleep(self.reports_every_s + 1.0)
        lines = [line for line in self.whole_lines(began) if line["time_ms"] <= 1e3 * ended]
        return Watched(
            rate_per_s=sum(_made_per_s(lines, spout) for spout in self.spouts),
            machine_points={m: 100 * (after[m] - before[m]) / (ended - began) for m in after},
            worker_points=_worker_points(lines),
            lines=lines,
            began=began,
            ended=ended,
        )

    def whole_lines(self, since_s: float) -> list[dict[str, Any]]:
        """Telemetry of windows that began since."""
        return [x for x in self.lines(since_s) if x["time_ms"] - x["window_ms"] >= 1e3 * since_s]

    def lines(self, since_s: float) -> list[dict[str, Any]]:
        """Telemetry of windows that ended since; a line that is just being written is left out."""
        lines = []
        for file in sorted(self.telemetry.glob("*.jsonl*")):
            texts = (text for text in _read(file).splitlines() if text.endswith("}"))
            lines += [line for line in map(json.loads, texts) if line["time_ms"] >= 1e3 * since_s]
        return lines

    def _has_place(self) -> bool:
        try:
            return bool(self.snapshot().deployed)
        except (BridgeError, InputError):
            return False

    def _is_gone(self) -> bool:
        return all(t["name"] != self.name for t in self.bridge.ask("cluster")["topologies"])

    @staticmethod
    def _until(true: Callable[[], bool], within_s: float, complaint: str) -> None:
        deadline = time.monotonic() + within_s
        while not true():
            if time.monotonic() > deadline:
                raise PenstockError(f"{complaint} after {within_s:g} s")
            time.sleep(_LOOKS_EVERY_S)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        # Written to its end and renamed since we saw it; or old, and deleted.
        whole = file.with_name(file.name.removeprefix(".").removesuffix(".part"))
        return whole.read_text(encoding="utf-8") if whole.exists() else ""


def _made_per_s(lines: Sequence[Mapping[str, Any]], spout: str) -> float:
    """Tuples/s of a spout: each executor's over the windows it reported."""
    tuples: dict[int, float] = defaultdict(float)
    spent_s: dict[int, float] = defaultdict(float)
    for line in lines:
        if line["component"] == spout:
            outputs = (o["tuples"] for o in line["outputs"] if not o["stream"].startswith("__"))
            tuples[line["task"]] += max(outputs, default=0.0)
            spent_s[line["task"]] += line["window_ms"] / 1e3
    return sum(tuples[task] / spent_s[task] for task in tuples)


def _worker_points(lines: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """CPU of each machine's workers, mean over their windows."""
    seen: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for line in lines:
        seen[line["host"], line["worker"]][line["time_ms"]] = line["worker_cpu_points"]
    points: dict[str, float] = defaultdict(float)
    for (host, _), windows in seen.items():
        points[host] += sum(windows.values()) / len(windows)
    return dict(points)


def write_lines(watched: Sequence[Watched], folder: Path) -> None:
    """What was watched, for the pipeline."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "watched.jsonl", "".join(_texts(watched)))


def _texts(watched: Sequence[Watched]) -> Iterator[str]:
    for seen in watched:
        for line in seen.lines:
            yield json.dumps(line) + "\n"

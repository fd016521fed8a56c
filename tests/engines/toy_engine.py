"""A third engine in one file: its cluster is a folder, its schedulers a person with a text editor.

``cluster.json`` holds machines, the topology and who runs where. It is installed by an entry point
and nothing else.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from penstock.change.history import Receipt
from penstock.engines.base import (
    Ability,
    Capabilities,
    Engine,
    PublishOrder,
    Say,
    Session,
    WatchOrder,
    WatchSession,
)
from penstock.engines.publication import Publication, PublicationStep, prepare
from penstock.engines.publisher import PlanRecord, Publisher
from penstock.engines.reading import Reading, TopologyReading
from penstock.errors import InputError
from penstock.files.store import load
from penstock.model.plan import Deployed, Places, Plan
from penstock.model.snapshot import Snapshot


@dataclass(frozen=True)
class ToyEngine(Engine):
    """A cluster that is a folder."""

    name: ClassVar[str] = "toy"
    summary: ClassVar[str] = "a folder that is a cluster"
    capabilities: ClassVar[Capabilities] = Capabilities(
        frozenset({Ability.SNAPSHOT, Ability.PUBLISH, Ability.TELEMETRY, Ability.WATCH}),
        scheduler="default",
        changes_counts=True,
    )

    folder: str = field(default=".", metadata={"help": "the folder"})

    @contextmanager
    def connect(self, say: Say) -> Iterator[Session]:
        yield ToySession(Path(self.folder))

    @contextmanager
    def watch(self, order: WatchOrder) -> Iterator[WatchSession]:
        yield ToySession(Path(self.folder), order)

    def telemetry(self) -> Sequence[str]:
        return [str(Path(self.folder, "telemetry"))]


@dataclass
class ToySession:
    """What is read from the folder and written to it."""

    name: ClassVar[str] = "toy"

    folder: Path
    order: WatchOrder = field(default_factory=WatchOrder)
    _before: str = ""
    _wanted: Plan | None = None

    def snapshot(self, topologies: Mapping[str, Places] | None = None) -> Snapshot:
        content = self._read()
        topology = load(content["topology"])
        places = {c: tuple(map(tuple, at)) for c, at in content["places"].items()}
        deployed = Deployed(topology.name, content["run"], tuple(places.items()))
        return Snapshot(load(content["cluster"]), (topology,), (deployed,))

    def prepare(self, plan: Plan, snapshot: Snapshot) -> Publication:
        return prepare(plan, snapshot, restart_s=1.0)

    def publish(self, publication: Publication, order: PublishOrder) -> Receipt:
        return Publisher(self, order).publish(publication)

    @property
    def lock(self) -> Path:
        return self.folder / "lock"

    def reading(self) -> Reading:
        """The load that the folder tells of, all of which is taken in."""
        content = self._read()
        offered = content.get("offered_per_s", 100.0)
        flow = TopologyReading(offered, offered, 0.0, 0.01, 0.0, content.get("unsettled", ""))
        points = _points(content["places"], offered)
        now_s = self.order.clock()
        return Reading(now_s, self.snapshot(), {"flow": flow}, points, telemetry_age_s=1.0)

    def use(self, machines: Collection[str]) -> None:
        self._path.write_text(json.dumps(self._read() | {"in_use": sorted(machines)}))

    # -- the part of publishing that only the engine knows -----------------------------------------

    def settle(self, publication: Publication) -> None:
        pass

    def begin(self, publication: Publication) -> PlanRecord:
        self._before = self._path.read_text()
        return PlanRecord("70e1", str(self._path))

    def write(self, plan: Plan) -> list[str]:
        self._wanted = plan
        return []

    def move(self, step: PublicationStep, deadline: float) -> str:
        content = self._read()
        if content.get("obstinate"):
            content["obstinate"] -= 1
            self._path.write_text(json.dumps(content))
            return ""
        assert self._wanted is not None
        wanted = {"places": self._wanted.slots_of(step.topology)}
        self._path.write_text(json.dumps(content | wanted | {"moved": content.get("moved", 0) + 1}))
        return ""

    def restore(self, publication: Publication, *, settled: bool) -> list[str]:
        return []

    def _read(self) -> dict:
        try:
            return json.loads(self._path.read_text())
        except OSError as error:
            raise InputError(f"{self._path}: {error.strerror}") from None

    @property
    def _path(self) -> Path:
        return self.folder / "cluster.json"


def _points(places: Mapping[str, list], rate_per_s: float) -> dict[str, float]:
    """A tuple takes 0.5 points in src and 1.5 in work; instances share them evenly."""
    points: dict[str, float] = defaultdict(float)
    for component, cost in (("src", 0.5), ("work", 1.5)):
        for machine, _ in places[component]:
            points[machine] += cost * rate_per_s / len(places[component])
    return dict(points)


def toy_cluster(folder: Path) -> None:
    """Two machines of two slots; both components of flow are on the first."""
    machine_types = {"box": {"cpu_points": 400, "memory_mb": 4096, "slots": 2}}
    content = {
        "run": "flow-1",
        "topology": {
            "format": "penstock/topology",
            "version": 1,
            "name": "flow",
            "components": {
                "src": {"kind": "spout", "streams": [{"to": "work"}], "requests": REQUESTS},
                "work": {"requests": REQUESTS},
            },
        },
        "cluster": {
            "format": "penstock/cluster",
            "version": 1,
            "name": "toys",
            "types": machine_types,
            "machines": [{"name": name, "type": "box"} for name in ("a", "b")],
        },
        "places": {"src": [["a", 0]], "work": [["a", 0]]},
    }
    folder.mkdir(parents=True, exist_ok=True)
    Path(folder, "cluster.json").write_text(json.dumps(content))


REQUESTS = {"cpu_points": 10, "memory_mb": 64}

"""A Storm of a few dictionaries that answers as the bridge does and obeys the plan file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from penstock.engines.storm.bridge import BridgeError
from penstock.engines.storm.daemons import PLAN_FILE, SCHEDULER_CLASS

#: src feeds work; two executors of each, two tasks per executor of work.
COMPONENTS = {
    "src": {"kind": "spout", "tasks": 2, "inputs": []},
    "work": {
        "kind": "bolt",
        "tasks": 4,
        "inputs": [{"component": "src", "stream": "default", "grouping": "shuffle"}],
    },
}


class FakeStorm:
    """``obeys`` is how many of the next rebalances do what the plan says."""

    def __init__(
        self, plan_file: Path, machines: tuple[str, ...] = ("a", "b"), name: str = "flow"
    ) -> None:
        self.plan_file = plan_file
        self.machines = machines
        self.name = name
        self.id = f"{name}-1-100"
        self.scheduler = SCHEDULER_CLASS
        self.obeys = True
        self.busy = 0
        self.grouping = "shuffle"
        self.settings: dict[str, Any] = {}
        #: What the storm.yaml of whoever asks says.
        self.own_settings: dict[str, Any] = {PLAN_FILE: str(plan_file)}
        self.asked: list[tuple[str, dict[str, Any]]] = []
        #: Other topologies that are there, by name, with why Nimbus does not tell of them, or "".
        self.others: dict[str, str] = {}
        self.blobs: dict[str, str] = {}
        self.places = {"src": [("a", 6700), ("a", 6700)], "work": [("a", 6700), ("a", 6700)]}

    @contextmanager
    def opened(self, *_: object, **__: object) -> Iterator[FakeStorm]:
        yield self

    def close(self) -> None:
        self.asked.append(("close", {}))

    def ask(self, what: str, **fields: Any) -> Any:
        self.asked.append((what, fields))
        return getattr(self, "_" + what.replace("-", "_"))(**fields)

    def _cluster(self) -> Any:
        resources = {"cpu.pcore.percent": 400.0, "memory.mb": 4096.0}
        return {
            "supervisors": [
                {
                    "id": f"id-{name}",
                    "host": f"host-{name}",
                    "slots": 2,
                    "blacklisted": False,
                    "resources": resources,
                }
                for name in self.machines
            ],
            "topologies": [
                {"id": self.id, "name": self.name, "status": "ACTIVE", "scheduler_info": "fine"},
                *(
                    {"id": f"{n}-2-100", "name": n, "status": "ACTIVE", "scheduler_info": "no slot"}
                    for n in self.others
                ),
            ],
            "settings": {"storm.scheduler": self.scheduler, PLAN_FILE: str(self.plan_file)},
        }

    def _own_settings(self) -> Any:
        return self.own_settings

    def _machines(self) -> Any:
        return {
            f"id-{name}": {"meta": {"machine": name, "machine-type": "box"}}
            for name in self.machines
        }

    def _topology(self, topology: str) -> Any:
        if why := self.others.get(topology.partition("-")[0]):
            raise BridgeError(why, "not-allowed")
        components = json.loads(json.dumps(COMPONENTS))
        components["work"]["inputs"][0]["grouping"] = self.grouping
        return {
            "topology.component.cpu.pcore.percent": 10.0,
            "topology.component.resources.onheap.memory.mb": 128.0,
            "topology.component.resources.offheap.memory.mb": 0.0,
            "topology.workers": 1,
            "components": components,
            **self.settings,
        }

    def _assignments(self, topology: str) -> Any:
        executors, task = [], 1
        if topology != self.id:
            return {"executors": executors}
        for component, places in self.places.items():
            # Even ranges, and the rest with the last one.
            tasks = COMPONENTS[component]["tasks"]
            each, end = tasks // len(places), task + tasks
            for number, (machine, port) in enumerate(places, start=1):
                last = task + each - 1 if number < len(places) else end - 1
                executors.append(
                    {
                        "component": component,
                        "first_task": task,
                        "last_task": last,
                        "host": f"host-{machine}",
                        "port": port,
                        "uptime_s": 50,
                        "supervisor": f"id-{machine}",
                    }
                )
                task = last + 1
        return {"executors": executors}

    def _statistics(self, topology: str) -> Any:
        return {"executors": []}

    def _put_blob(self, key: str, file: str) -> Any:
        self.blobs[key] = Path(file).read_text()

    def _rebalance(
        self, name: str, wait_s: int, workers: int, executors: dict[str, int] | None = None
    ) -> Any:
        if self.busy:
            self.busy -= 1
            raise BridgeError("Internal error processing rebalance")
        for component, count in (executors or {}).items():
            self.places[component] = [("a", 6700)] * count
        if self.obeys:
            plan = json.loads(self.plan_file.read_text())
            (placed,) = plan["topologies"]
            self.places = {
                component: [(i["machine"], 6700 + i["slot"]) for i in instances]
                for component, instances in placed["components"].items()
            }
        return {}

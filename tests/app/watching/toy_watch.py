"""The toy cluster under watch: two machines, costs, and a clock that only turns advance."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.engines.toy_engine import ToyEngine, toy_cluster

from penstock.app.watching.events import WatchEvent
from penstock.app.watching.options import Act, WatchOptions
from penstock.app.watching.watch import watching
from penstock.app.watching.watcher import Watcher
from penstock.files.store import dumps
from penstock.model.profile import Cost, Profile
from penstock.model.watch_rules import WatchRules, WatchSetting
from penstock.planning.capacity_plans import CapacityPlanner
from penstock.schedulers.base import Budget

#: A machine of 400 points carries 400 / (0.5 + 1.5) = 200 tuples/s with both components on it.
PROFILE = Profile("toys", (Cost("src", "box", e=0.5, met=0.0), Cost("work", "box", e=1.5, met=0.0)))
BEGAN_S = 1_767_225_600.0


def few_plans(problem):
    """Plans on a coarse grid, found quickly."""
    return CapacityPlanner(problem, levels=20, budget=lambda: Budget(iterations=1))


@dataclass
class ToyWatch:
    """One toy cluster and whoever watches it, one after the other."""

    folder: Path
    act: Act = Act.NOW
    #: The plan for 300 tuples/s needs both machines.
    setting: WatchSetting = field(
        default_factory=lambda: WatchSetting("static", {"highest_per_s": 300.0, "of_highest": 1.0})
    )
    now_s: float = BEGAN_S
    events: list[WatchEvent] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not (self.folder / "cluster.json").exists():
            toy_cluster(self.folder)
            (self.folder / "profile.json").write_text(dumps(PROFILE))

    @property
    def options(self) -> WatchOptions:
        return WatchOptions(
            self.folder / "profile.json", self.setting, self.act, history=self.folder / "history"
        )

    @property
    def journal(self) -> Path:
        return self.options.journal_path

    @property
    def cluster(self) -> dict:
        return json.loads((self.folder / "cluster.json").read_text())

    def change(self, **content) -> None:
        (self.folder / "cluster.json").write_text(json.dumps(self.cluster | content))

    @property
    def machines(self) -> set[str]:
        return {m for places in self.cluster["places"].values() for m, _ in places}

    @contextmanager
    def watcher(self, **options):
        with watching(
            ToyEngine(str(self.folder)), replace(self.options, **options),
            tell=self.events.append, clock=lambda: self.now_s, sleep=self.sleep,
            planner=few_plans,
        ) as watcher:  # fmt: skip
            yield watcher

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def turns(self, watcher: Watcher, number: int = 1) -> None:
        for _ in range(number):
            watcher.turn()
            self.now_s += 10.0

    def watch(self, number: int = 1, **options) -> None:
        """A watcher that starts, does so many turns and ends."""
        with self.watcher(**options) as watcher:
            self.turns(watcher, number)

    def told(self, kind: str) -> list[str]:
        return [event.text for event in self.events if event.kind == kind]


FREE = WatchRules(cool_down_s=0.0, cool_down_growing_s=0.0)

"""What components remember from batch to batch: which files, and how keys were divided then."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.engines.spark.commits import Commits
from penstock.engines.spark.dataflow import Dataflow
from penstock.engines.spark.instance import Remembered
from penstock.model.topology import Grouping

#: In the facts of a commit.
STATE_FILES = "state"


@dataclass(frozen=True)
class Memory:
    """State of one run, for the instances of one deployment."""

    flow: Dataflow
    commits: Commits

    def known(self) -> dict[str, Remembered]:
        """What every component with state must be told before a batch."""
        last: Mapping[str, Any] = {}
        if self.commits.last >= 0:
            facts = self.commits.facts(self.commits.last)
            last = facts.get(STATE_FILES) or {}  # type: ignore[assignment]
        found = {}
        for name in self.flow.code.stateful:
            schema = self.flow.payloads.state(name)
            assert schema is not None
            entry = last.get(name, {"division": None, "files": {}})
            found[name] = Remembered(
                schema=schema,
                files={int(task): file for task, file in entry["files"].items()},
                is_divided_alike=entry["division"] == self._division(name),
                shares=tuple(self.flow.deployment.shares(name)),
                is_global=self._is_global(name),
            )
        return found

    def facts(self, told: Iterable[str]) -> dict[str, object]:
        """For the commit: the files that hold the state after this batch."""
        files: dict[str, dict[str, str]] = {name: {} for name in self.flow.code.stateful}
        for text in told:
            note = json.loads(text)
            if note["component"] in files:
                files[note["component"]][str(note["task"])] = note["state"]
        state = {
            name: {"division": self._division(name), "files": mine} for name, mine in files.items()
        }
        return {STATE_FILES: state} if state else {}

    def _division(self, name: str) -> list[list[float]]:
        """Two deployments with the same of these have the same keys at the same tasks."""
        return [[i.task, i.share] for i in self.flow.deployment.instances[name]]

    def _is_global(self, name: str) -> bool:
        streams = [s for s in self.flow.topology.streams if s.target == name]
        return bool(streams) and all(s.grouping is Grouping.GLOBAL for s in streams)

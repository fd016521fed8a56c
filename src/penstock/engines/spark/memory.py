"""What a run remembers from batch to batch: state, how keys were divided, which are frequent.

All of it is in the facts of a batch's commit, so that a batch that is run again is the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.engines.spark.commits import Commits
from penstock.engines.spark.dataflow import Dataflow
from penstock.engines.spark.deployment import Deployment
from penstock.engines.spark.instance import Remembered
from penstock.engines.spark.keys import Hot, hot_now

#: In the facts of a commit.
STATE_FILES, HOT_KEYS = "state", "hot_keys"


def hot_keys(commits: Commits, deployment: Deployment) -> dict[str, Hot]:
    """Frequent keys of each component, as the batch before has left them."""
    if not deployment.weighs_keys:
        return {}
    known = _last(commits, HOT_KEYS)
    return {name: tuple((part, weight) for part, weight in hot) for name, hot in known.items()}


@dataclass(frozen=True)
class Memory:
    """State of one run, for the instances of one deployment."""

    flow: Dataflow
    commits: Commits

    def known(self) -> dict[str, Remembered]:
        """What every component with state must be told before a batch."""
        last = _last(self.commits, STATE_FILES)
        memories = {}
        for name in self.flow.code.stateful:
            schema = self.flow.payloads.state(name)
            assert schema is not None
            entry = last.get(name, {"division": None, "files": {}})
            memories[name] = Remembered(
                schema=schema,
                files={int(task): file for task, file in entry["files"].items()},
                is_divided_alike=entry["division"] == self._division(name),
                shares=tuple(self.flow.deployment.shares(name)),
                hot=self.flow.hot.get(name, ()),
                is_global=self._is_global(name),
            )
        return memories

    def facts(self, told: Iterable[str]) -> dict[str, object]:
        """For the commit: the files that hold the state after this batch, and frequent keys."""
        notes = [json.loads(text) for text in told]
        files: dict[str, dict[str, str]] = {name: {} for name in self.flow.code.stateful}
        for note in notes:
            if note["component"] in files:
                files[note["component"]][str(note["task"])] = note["state"]
        state = {
            name: {"division": self._division(name), "files": mine} for name, mine in files.items()
        }
        facts: dict[str, object] = {STATE_FILES: state} if state else {}
        return facts | ({HOT_KEYS: hot} if (hot := self._hot_after(notes)) else {})

    def _hot_after(self, notes: Iterable[Mapping[str, Any]]) -> dict[str, Hot]:
        """What keys are to be dealt by in the next batch."""
        if not self.flow.deployment.weighs_keys:
            return {}
        rows: dict[str, int] = {}
        counted: dict[str, list[tuple[int, int]]] = {}
        for target, number, hot in (entry for note in notes for entry in note["keys"]):
            rows[target] = rows.get(target, 0) + number
            counted[target] = counted.get(target, []) + hot
        return dict(self.flow.hot) | {
            name: hot_now(
                self.flow.deployment.shares(name), self.flow.hot.get(name, ()), rows[name], counts
            )
            for name, counts in counted.items()
        }

    def _division(self, name: str) -> dict[str, object]:
        """Two deployments with the same of these have the same keys at the same tasks."""
        return {
            "instances": [[i.task, i.share] for i in self.flow.deployment.instances[name]],
            "hot": [[part, weight] for part, weight in self.flow.hot.get(name, ())],
        }

    def _is_global(self, name: str) -> bool:
        streams = [s for s in self.flow.topology.streams if s.target == name]
        return bool(streams) and all(s.grouping.is_single for s in streams)


def _last(commits: Commits, fact: str) -> Mapping[str, Any]:
    """A fact of the newest whole batch, if it has it."""
    if commits.last < 0:
        return {}
    fact_of_last: Any = commits.facts(commits.last).get(fact)
    return fact_of_last or {}

"""What a campaign has done so far, one line of JSON each, so that it can run in slices.

A run that is killed loses what it was just doing and no more. Every line says at which commit it
was: a command that failed counts as failed until it is run again at another commit and ends well.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

#: The line before may have been cut off when its writer was killed.
_GAP = "\n"


@dataclass(frozen=True)
class FuzzTrial:
    """One command that was run and judged."""

    number: int
    verb: str
    way: str
    code: int
    cpu_s: float
    memory_mb: float
    commit: str
    has_plan: bool = False
    #: The kind of its first fault; empty where nothing is wrong.
    fault: str = ""
    #: The same for faults that look alike.
    signature: str = ""
    #: The folder in which the failure is kept.
    place: str = ""

    def may_be_mended(self, commit: str) -> bool:
        return bool(self.fault) and _is_other(self.commit, commit)


@dataclass(frozen=True)
class LedgerSlice:
    """So many of something countable that was looked at in one go, and what was wrong."""

    what: str
    begin: int
    size: int
    faults: int
    commit: str

    def may_be_mended(self, commit: str) -> bool:
        return bool(self.faults) and _is_other(self.commit, commit)


_KINDS: dict[str, type[FuzzTrial] | type[LedgerSlice]] = {
    "command": FuzzTrial,
    "slice": LedgerSlice,
}


@dataclass
class Ledger:
    """The lines of one seed; without a file they last as long as this object."""

    path: Path | None = None
    trials: list[FuzzTrial] = field(default_factory=list)
    slices: list[LedgerSlice] = field(default_factory=list)

    @classmethod
    def open(cls, path: Path) -> Ledger:
        """With what earlier runs wrote there."""
        ledger = cls(path)
        for line in _lines(path):
            ledger._take(_KINDS[line.pop("kind")](**line))
        return ledger

    def add(self, entry: FuzzTrial | LedgerSlice) -> None:
        self._take(entry)
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        kind = next(name for name, one in _KINDS.items() if isinstance(entry, one))
        line = json.dumps({"kind": kind, **asdict(entry)})
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(f"{_GAP}{line}\n")

    def _take(self, entry: FuzzTrial | LedgerSlice) -> None:
        if isinstance(entry, FuzzTrial):
            self.trials.append(entry)
        else:
            self.slices.append(entry)

    @property
    def latest(self) -> dict[int, FuzzTrial]:
        """Of each command how it ended when it was run last."""
        return {trial.number: trial for trial in self.trials}

    def to_repeat(self, commit: str) -> list[FuzzTrial]:
        """Failures that may be mended by now."""
        return [trial for trial in self.latest.values() if trial.may_be_mended(commit)]

    def undone(self) -> Iterator[int]:
        """Numbers of commands that have never run, without end."""
        done = set(self.latest)
        return (number for number in count() if number not in done)


def _is_other(commit: str, now: str) -> bool:
    """Whether the code may be another; what a tree with changes holds, nobody knows."""
    return not commit or " " in commit or commit != now


def by_commit(trials: Iterable[FuzzTrial]) -> dict[str, list[FuzzTrial]]:
    found: dict[str, list[FuzzTrial]] = defaultdict(list)
    for trial in trials:
        found[trial.commit].append(trial)
    return dict(found)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        return
    for text in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(text)
        except ValueError:
            continue  # a gap, or cut off

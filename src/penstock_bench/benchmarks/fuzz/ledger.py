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

_COMMAND, _SLICE = "command", "slice"


@dataclass(frozen=True)
class Trial:
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


@dataclass(frozen=True)
class Slice:
    """So many of something countable that was looked at in one go, and what was wrong."""

    what: str
    begin: int
    size: int
    faults: int
    commit: str


@dataclass
class Ledger:
    """The lines of one seed; without a file they last as long as this object."""

    path: Path | None = None
    trials: list[Trial] = field(default_factory=list)
    slices: list[Slice] = field(default_factory=list)

    @classmethod
    def open(cls, path: Path) -> Ledger:
        """With what earlier runs wrote there."""
        ledger = cls(path)
        for line in _lines(path):
            match line.pop("kind"):
                case "command":
                    ledger.trials.append(Trial(**line))
                case _:
                    ledger.slices.append(Slice(**line))
        return ledger

    def add(self, entry: Trial | Slice) -> None:
        is_trial = isinstance(entry, Trial)
        if isinstance(entry, Trial):
            self.trials.append(entry)
        else:
            self.slices.append(entry)
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"kind": _COMMAND if is_trial else _SLICE, **asdict(entry)})
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(f"{line}\n")

    @property
    def latest(self) -> dict[int, Trial]:
        """Of each command how it ended when it was run last."""
        return {trial.number: trial for trial in self.trials}

    def to_repeat(self, commit: str) -> list[Trial]:
        """Failures that may be mended by now: of another commit, or of a tree with changes."""
        is_sure = bool(commit) and " " not in commit
        return [t for t in self.latest.values() if t.fault and not (is_sure and t.commit == commit)]

    def undone(self) -> Iterator[int]:
        """Numbers of commands that have never run, without end."""
        done = set(self.latest)
        return (number for number in count() if number not in done)

    def slices_of(self, what: str) -> list[Slice]:
        return [one for one in self.slices if one.what == what]


def by_commit(trials: Iterable[Trial]) -> dict[str, list[Trial]]:
    found: dict[str, list[Trial]] = defaultdict(list)
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
            continue  # cut off when its writer was killed

"""Each batch counts once: its results, state and telemetry become visible together, or not at all.

A folder per batch, and a file per batch that names it when all is written. A batch that Spark runs
again, because the driver died between our commit and Spark's own, is left alone; one that died
half-way is written anew.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from penstock.files.replacement import remove_leftovers, replace_file
from penstock.files.writer import write_text

_DIGITS = 9


@dataclass(frozen=True)
class Commits:
    """The batches of one run of a topology, in a folder."""

    folder: Path

    @property
    def last(self) -> int:
        """The newest batch that is whole; -1 for none. Drafts begin with a dot."""
        return max((int(path.stem) for path in self._marks.glob("[0-9]*.json")), default=-1)

    def batch(self, number: int) -> Path:
        return self.folder / "batches" / f"{number:0{_DIGITS}d}"

    def begin(self, number: int) -> Path:
        """An empty folder for a batch; what a crash left there is gone."""
        folder = self.batch(number)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def commit(self, number: int, facts: dict[str, object]) -> None:
        self._marks.mkdir(parents=True, exist_ok=True)
        write_text(self._marks / f"{number:0{_DIGITS}d}.json", json.dumps(facts))

    def publish(self, file: str, folder: str) -> None:
        """Put a file of the newest whole batch into a folder where all of them are side by side.

        Safe to repeat: after a crash between commit and this, the next start does it.
        """
        number = self.last
        source = self.batch(number) / file
        target = self.folder / folder / f"{number:0{_DIGITS}d}{source.suffix}"
        if number < 0 or target.exists() or not source.exists():
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(target.parent)
        replace_file(target, source.read_bytes())

    def facts(self, number: int) -> dict[str, object]:
        mark = self._marks / f"{number:0{_DIGITS}d}.json"
        content: dict[str, object] = json.loads(mark.read_text(encoding="utf-8"))
        return content

    def forget_before(self, part: str, number: int) -> None:
        """State of batches before this one is not needed any more."""
        for earlier in sorted((self.folder / "batches").iterdir()):
            if int(earlier.name) < number:
                shutil.rmtree(earlier / part, ignore_errors=True)

    @property
    def _marks(self) -> Path:
        return self.folder / "commits"

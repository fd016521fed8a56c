"""What a rehearsal leaves: a file for each policy, load and seed, with its journal beside it.

A file is named by what it is of, and appears whole or not at all: a rehearsal that was killed goes
on with those that are missing, and ends with the same table.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from penstock.errors import Finding, InputError
from penstock.files.replacement import remove_leftovers, replace_file

WATCH = "watch.yaml"


class RehearsalStore:
    """The folder of a rehearsal."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cells, self.journals = folder, folder / "cells", folder / "journals"
        try:
            for path in (self.cells, self.journals):
                path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            message = f"cannot be made: {error.strerror or error}"
            raise InputError(Finding(message, str(folder))) from None
        for path in (folder, self.cells, self.journals):
            remove_leftovers(path)

    def read(self, key: str) -> dict[str, Any] | None:
        """What is kept of one; a file that cannot be read counts as none."""
        try:
            found: dict[str, Any] = json.loads(
                (self.cells / f"{key}.json").read_text(encoding="utf-8")
            )
        except (OSError, ValueError):
            return None
        return found if {"score", "series"} <= set(found) else None

    def keep(self, key: str, content: dict[str, Any], journal: str) -> None:
        """The journal first: whoever has a result has its journal."""
        replace_file(self.journals / f"{key}.jsonl", journal.encode())
        replace_file(self.cells / f"{key}.json", (json.dumps(content) + "\n").encode())

    def write_watch(self, text: str) -> None:
        replace_file(self.folder / WATCH, text.encode())

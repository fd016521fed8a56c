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
from penstock.files.writer import fingerprint

WATCH = "watch.yaml"
#: Of the rest of the file: who changed a figure by hand gets it worked out again.
_FINGERPRINT = "fingerprint"


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
        """What is kept of one; a file that is cut or was changed counts as none."""
        try:
            text = (self.cells / f"{key}.json").read_text(encoding="utf-8")
            found: Any = json.loads(text)
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(found, dict):
            return None
        content = {name: value for name, value in found.items() if name != _FINGERPRINT}
        return content if found.get(_FINGERPRINT) == fingerprint(content) else None

    def keep(self, key: str, content: dict[str, Any], journal: bytes) -> None:
        """The journal first: whoever has a result has its journal."""
        sealed = {**content, _FINGERPRINT: fingerprint(content)}
        self._replace(self.journals / f"{key}.sqlite", journal)
        self._replace(self.cells / f"{key}.json", f"{json.dumps(sealed)}\n".encode())

    def write_watch(self, text: str) -> None:
        self._replace(self.folder / WATCH, text.encode())

    def _replace(self, path: Path, content: bytes) -> None:
        try:
            replace_file(path, content)
        except OSError as error:
            message = f"cannot be written: {error.strerror or error}"
            raise InputError(Finding(message, str(path))) from None

"""Where an agent writes: a file of JSON lines per machine, and the one before it.

Names begin with ``_``, which Spark leaves alone: the files may lie in the folder of the topologies'
telemetry.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import Finding, NotWrittenError
from penstock.model.machine_record import MachineRecord

PREFIX = "_machine-"
SUFFIX = ".jsonl"
_BEFORE = ".before"
#: A file this long is put aside, in place of the one put aside before.
MOST_BYTES = 4_000_000


@dataclass(frozen=True, slots=True)
class RecordFile:
    """The file of one machine."""

    folder: Path
    machine: str

    @property
    def path(self) -> Path:
        return self.folder / f"{self._stem}{SUFFIX}"

    @property
    def _stem(self) -> str:
        # Spark takes a name with "=" for a part of a table, whatever it begins with.
        return PREFIX + self.machine.replace("=", "-")

    def append(self, record: MachineRecord) -> None:
        """One line, whole or not at all."""
        line = json.dumps(record.to_dict(), separators=(",", ":"), allow_nan=False) + "\n"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if self.path.is_file() and self.path.stat().st_size >= MOST_BYTES:
                self.path.replace(self.folder / f"{self._stem}{_BEFORE}{SUFFIX}")
            number = os.open(self.path, flags, 0o644)
            try:
                os.write(number, line.encode())
            finally:
                os.close(number)
        except OSError as error:
            reason = error.strerror or str(error)
            raise NotWrittenError(Finding(f"cannot be written: {reason}", str(self.path))) from None

"""The newest telemetry lines of folders, read by this process alone, as they are being written.

For who looks every few seconds and cares for the last half minute: each look reads what was added
since the one before. Costs come from the pipeline, which reads every line with care; here a line
that is cut, too long or no record is passed over.

Files may be written by anybody whose topology reports there: links and what is no plain file are
not opened, and one look reads so much at most.
"""

from __future__ import annotations

import glob
import json
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

#: Names of the reporter's files, ended or still being written.
_ENDINGS = (".jsonl", ".jsonl.part")
#: Of a file that was never seen, only the end is read; of all together, so much in one look.
_TAIL_BYTES = 4 << 20
_MOST_BYTES = 64 << 20
_LONGEST_LINE = 1 << 20
_MOST_FILES = 10_000

Line = dict[str, Any]


@dataclass
class _FileTail:
    """How far a file was read."""

    offset: int
    #: The beginning of a line whose end is still to come.
    rest: bytes = b""


@dataclass
class NewestLines:
    """Lines that say when their window ended, of the last so many seconds."""

    #: Folders, patterns too: folders that come later are found.
    folders: Sequence[str]
    keep_s: float
    _tails: dict[tuple[int, int, str], _FileTail] = field(default_factory=dict)
    _lines: list[Line] = field(default_factory=list)

    def read(self, now_s: float) -> list[Line]:
        """The lines of windows that ended in the last so many seconds, the oldest first."""
        since_ms = 1e3 * (now_s - self.keep_s)
        left = _MOST_BYTES
        known, self._tails = self._tails, {}
        for path in self._files(now_s):
            for line in self._added(path, left, known):
                left -= len(line)
                record = _record(line)
                if record is not None:
                    self._lines.append(record)
        self._lines = [line for line in self._lines if line["time_ms"] >= since_ms]
        self._lines.sort(key=lambda line: line["time_ms"])
        return self._lines

    def _files(self, now_s: float) -> list[str]:
        """Files that were written to lately, those still being written too."""
        names = []
        for folder in self.folders:
            for path in glob.glob(folder) if glob.has_magic(folder) else [folder]:  # noqa: PTH207
                try:
                    with os.scandir(path) as entries:
                        names += [e.path for e in entries if _is_recent(e, now_s - self.keep_s)]
                except OSError:
                    continue  # not there yet, or gone
        return sorted(names)[:_MOST_FILES]

    def _added(
        self, path: str, most: int, known: dict[tuple[int, int, str], _FileTail]
    ) -> Iterator[bytes]:
        """Whole lines that were added since the last look."""
        try:
            number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return
        with os.fdopen(number, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return
            # The same file under its new name, once it is whole.
            name = path.rpartition("/")[2].lstrip(".").removesuffix(".part")
            key = (status.st_dev, status.st_ino, name)
            tail = known.get(key)
            if tail is None or tail.offset > status.st_size:
                tail = _FileTail(max(0, status.st_size - _TAIL_BYTES))
            self._tails[key] = tail
            file.seek(tail.offset)
            content = file.read(max(0, min(most, status.st_size - tail.offset)))
        tail.offset += len(content)
        *lines, rest = (tail.rest + content).split(b"\n")
        tail.rest = rest if len(rest) <= _LONGEST_LINE else b""
        yield from lines


def _is_recent(entry: os.DirEntry[str], since_s: float) -> bool:
    if not entry.name.endswith(_ENDINGS):
        return False
    try:
        return entry.stat(follow_symlinks=False).st_mtime >= since_s
    except OSError:
        return False


def _record(line: bytes) -> Line | None:
    """A line that is an object with a time; what else it says is checked by who uses it."""
    if not line.startswith(b"{") or len(line) > _LONGEST_LINE:
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    time_ms = record.get("time_ms") if isinstance(record, dict) else None
    if isinstance(time_ms, bool) or not isinstance(time_ms, int | float):
        return None
    return record if 0 <= time_ms < 1e15 else None

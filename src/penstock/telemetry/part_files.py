"""The Parquet files of a table's parts, and the columns that stand in their folders' names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from penstock.errors import Finding, InputError

#: Folders of one write; no column of any table.
PART = "part"
_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class PartFile:
    """One Parquet file of a part."""

    path: Path
    #: Values of columns that the folders say, such as ``hour=2026-01-01-00``.
    columns: Mapping[str, str | None]

    @property
    def size_bytes(self) -> int:
        return self.path.stat().st_size


def part_files(root: Path, part: str) -> list[PartFile]:
    """The files of a part: of a folder all that Spark would read, or the one file that it is."""
    path = root / part
    # Unlike Path's these take every name there is.
    if os.path.isfile(path):  # noqa: PTH113
        return [PartFile(path, columns_in(PurePosixPath(part).parent))]
    if not os.path.isdir(path):  # noqa: PTH112
        raise InputError(Finding("is named by a commit of the store and is not there", str(path)))
    found = []
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if _is_read(name))
        columns = columns_in(PurePosixPath(part, os.path.relpath(folder, path)))
        read = [Path(folder, name) for name in sorted(names) if _is_read(name)]
        # A FIFO in the place of a file would be waited at for ever.
        found += [PartFile(file, columns) for file in read if file.is_file()]
    return found


def files_of_parts(root: Path, parts: Iterable[str]) -> Iterator[PartFile]:
    """The files of several parts, each once, whatever the parts have in common."""
    seen = set()
    for part in sorted(set(parts)):
        for file in part_files(root, part):
            if file.path not in seen:
                seen.add(file.path)
                yield file


def columns_in(folder: PurePosixPath) -> dict[str, str | None]:
    """``{"hour": "2026-01-01-00"}`` of ``samples/part=7/hour=2026-01-01-00``."""
    columns: dict[str, str | None] = {}
    for segment in folder.parts:
        name, equals, value = segment.partition("=")
        if equals and name != PART:
            columns[name] = None if value == _NULL else unquote(value)
    return columns


def _is_read(name: str) -> bool:
    # Spark leaves these alone: files still being written, and its own notes.
    return not name.startswith((".", "_"))

"""The manifest of a store: one commit, which folders make up each table. No Spark in here."""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from penstock.errors import Finding, InputError
from penstock.files.document import document_of
from penstock.files.schema import as_mapping
from penstock.files.versions import FormatVersion

FORMAT = FormatVersion("penstock/telemetry-store", 2)
#: Below the store.
FOLDER = "manifest"
_NAME = re.compile(r"([0-9]{8,18})\.json")
#: A number has eighteen digits at most, so that there is one after it.
_MOST_NUMBER = 10**17
#: Bytes of a name, and characters of all of them, that every file system takes.
_LONGEST_NAME, _LONGEST_PART = 255, 1000


@dataclass(frozen=True)
class Manifest:
    """One commit: which folders make up each table, and what is known about them."""

    number: int = 0
    #: table -> part key -> folder below the store; a key written again replaces the old folder.
    parts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: Small facts kept with the commit: batches taken in, hours not yet computed, quality figures.
    facts: Mapping[str, Any] = field(default_factory=dict)

    def with_parts(
        self, table: str, folders: Mapping[str, str], replacing: Iterable[str] = ()
    ) -> Manifest:
        """Folders by key added; keys in ``replacing`` that have no folder any more are gone."""
        gone = set(replacing)
        old = {key: f for key, f in self.parts.get(table, {}).items() if key not in gone}
        return replace(self, parts={**self.parts, table: {**old, **folders}})

    def with_facts(self, **facts: Any) -> Manifest:
        return replace(self, facts={**self.facts, **facts})

    @property
    def folders(self) -> set[str]:
        return {folder for keys in self.parts.values() for folder in keys.values()}

    def to_bytes(self) -> bytes:
        content = {
            **FORMAT.head,
            "number": self.number,
            "parts": self.parts,
            "facts": self.facts,
        }
        return json.dumps(content, sort_keys=True, indent=1).encode()


def manifest_of(data: bytes, name: str) -> Manifest:
    """The commit that a file says, or an error that says how to go back to the one before."""
    content = content_of(data, name)
    version = content["version"]
    # The history of plans is such a store, too; its tables did not change.
    if version < FORMAT.current and "samples" in content.get("parts", {}):
        message = (
            f"is version {version} of {FORMAT.name}, and this Penstock reads version "
            f"{FORMAT.current}; penstock store migrate {store_of(name)} makes it one"
        )
        raise InputError(Finding(message, name))
    of_name = _NAME.fullmatch(name.rpartition("/")[2])
    if of_name and int(of_name[1]) != content["number"]:
        raise broken(name)
    return Manifest(content["number"], content["parts"], content["facts"])


def content_of(data: bytes, name: str) -> dict[str, Any]:
    """The fields of a commit of this version or an older one."""
    try:
        value = json.loads(data.decode(), parse_float=_finite, parse_constant=_finite)
        if not isinstance(value, dict):
            raise broken(name)
        content = as_mapping(FORMAT.as_current(document_of(value, name)).value)
    except (ValueError, TypeError, RecursionError):
        raise broken(name) from None
    if content.get("format") != FORMAT.name or type(content.get("version")) is not int:
        raise InputError(f"{name} is not a store this version of Penstock can read")
    if not _is_sound(content):
        raise broken(name)
    return dict(content)


def _finite(text: str) -> float:
    """A number; what is none would be written into every commit from now on."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def folders_named(data: bytes) -> set[str]:
    """The folders that a commit of any version names; none where it cannot be read."""
    try:
        parts = json.loads(data.decode())["parts"]
        named = {folder for keys in parts.values() for folder in keys.values()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return set()
    return {folder for folder in named if is_below_store(folder)}


def is_below_store(folder: object) -> bool:
    """Whether a commit may name this: a part is read and deleted, and both stay in the store."""
    if not isinstance(folder, str) or not folder.isprintable() or len(folder) > _LONGEST_PART:
        return False
    path = PurePosixPath(folder)
    try:
        is_a_name = max(len(name.encode()) for name in path.parts) <= _LONGEST_NAME
    except ValueError:  # half a surrogate, or nothing at all
        return False
    has_table = len(path.parts) > 1 and not path.is_absolute()
    return has_table and is_a_name and ".." not in path.parts


def store_of(name: str) -> str:
    """The store that a manifest's file belongs to."""
    return name.rpartition(f"/{FOLDER}/")[0] or name


def _is_sound(content: Mapping[str, Any]) -> bool:
    """Whether everything has its type: somebody else may have changed the file."""
    parts = content.get("parts")
    tables = list(parts.values()) if isinstance(parts, dict) else [None]
    folders = [folder for keys in tables if isinstance(keys, dict) for folder in keys.values()]
    facts = content.get("facts")
    return (
        _is_count(content.get("number"))
        and isinstance(facts, dict)
        and all(is_sound(facts[name]) for name, is_sound in _FACTS.items() if name in facts)
        and all(isinstance(keys, dict) for keys in tables)
        and all(is_below_store(folder) for folder in folders)
    )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and type(value) is not bool and 0 <= value < _MOST_NUMBER


def _is_seconds(value: object) -> bool:
    return isinstance(value, (int, float)) and type(value) is not bool and abs(value) < _MOST_NUMBER


def _are_counts(value: object) -> bool:
    """Counts by name."""
    return isinstance(value, dict) and all(map(_is_count, value.values()))


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _are_rows(texts: int) -> Callable[[object], bool]:
    """Rows of so many texts and a count."""

    def are(value: object) -> bool:
        return isinstance(value, list) and all(
            isinstance(row, list)
            and len(row) == texts + 1
            and _are_texts(row[:-1])
            and _is_count(row[-1])
            for row in value
        )

    return are


#: What each fact is, where a commit has it; others are left to those who read them.
_FACTS: dict[str, Callable[[object], bool]] = {
    "aside": _are_counts,
    "batches": lambda value: isinstance(value, dict),
    "expired_aside": _are_counts,
    "expired_before_ms": lambda value: value is None or _is_count(value),
    "groups": _are_rows(3),
    "pending": _are_texts,
    "records": _is_count,
    "repeats": lambda value: isinstance(value, dict) and all(map(_are_counts, value.values())),
    "totals": lambda value: isinstance(value, bool),
    "uptimes_s": lambda value: isinstance(value, list) and all(map(_is_seconds, value)),
    "warm_up_s": _is_seconds,
    "window_s": _is_seconds,
    "workers": _are_rows(1),
}


def broken(name: str) -> InputError:
    """The manifest was cut or changed by something else than us."""
    message = "is cut or broken; delete it to go back to the commit before it"
    return InputError(Finding(message, name))


def numbers(names: Iterable[str]) -> list[int]:
    """Commits among the names in a store's folder of manifests, the newest last."""
    found = [match for match in map(_NAME.fullmatch, names) if match]
    return sorted(int(m[1]) for m in found if manifest_name(int(m[1])).endswith(f"/{m[0]}"))


def commits_in(root: Path) -> list[int]:
    """Numbers of the commits of a store in a local folder, the newest last."""
    folder = root / FOLDER
    try:
        return numbers(path.name for path in folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except (OSError, ValueError) as error:
        raise unreadable(folder, error) from None


def manifest_name(number: int) -> str:
    return f"{FOLDER}/{number:08d}.json"


def local_manifest(root: Path) -> Manifest:
    """The newest commit of a store in a local folder; an empty one where there is none."""
    commits = commits_in(root)
    if not commits:
        return Manifest()
    path = root / manifest_name(commits[-1])
    return manifest_of(commit_bytes(path), str(path))


def commit_bytes(path: Path) -> bytes:
    """What the file of a commit holds."""
    try:
        # A FIFO in its place would be waited at for ever.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            return content_of_file(handle, path)
        finally:
            os.close(handle)
    except OSError as error:
        raise unreadable(path, error) from None


def content_of_file(handle: int, path: Path) -> bytes:
    """What an open file holds, if it is one."""
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        raise InputError(Finding("is not a regular file", str(path)))
    return os.pread(handle, status.st_size, 0)


def unreadable(path: Path, error: Exception) -> InputError:
    reason = getattr(error, "strerror", None) or error
    return InputError(Finding(f"cannot be read: {reason}", str(path)))

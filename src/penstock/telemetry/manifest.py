"""The manifest of a store: one commit, which folders make up each table. No Spark in here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from penstock.errors import Finding, InputError
from penstock.files.document import document_of
from penstock.files.schema import as_mapping
from penstock.files.versions import FormatVersion

FORMAT = FormatVersion("penstock/telemetry-store", 2)
#: Below the store.
FOLDER = "manifest"


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
    try:
        return Manifest(content["number"], content["parts"], content["facts"])
    except KeyError:
        raise broken(name) from None


def content_of(data: bytes, name: str) -> dict[str, Any]:
    """The fields of a commit of this version or an older one."""
    try:
        if not isinstance(json.loads(data.decode()), dict):
            raise broken(name)
        content = as_mapping(FORMAT.as_current(document_of(json.loads(data.decode()), name)).value)
    except (ValueError, TypeError):
        raise broken(name) from None
    if content.get("format") != FORMAT.name or type(content.get("version")) is not int:
        raise InputError(f"{name} is not a store this version of Penstock can read")
    if not _is_sound(content):
        raise broken(name)
    return dict(content)


def folders_named(data: bytes) -> set[str]:
    """The folders that a commit of any version names; none where it cannot be read."""
    try:
        parts = json.loads(data.decode())["parts"]
        return {folder for keys in parts.values() for folder in keys.values()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return set()


def store_of(name: str) -> str:
    """The store that a manifest's file belongs to."""
    return name.rpartition(f"/{FOLDER}/")[0] or name


def _is_sound(content: Mapping[str, Any]) -> bool:
    """Whether everything has its type: somebody else may have changed the file."""
    parts = content.get("parts")
    tables = list(parts.values()) if isinstance(parts, dict) else [None]
    folders = [folder for keys in tables if isinstance(keys, dict) for folder in keys.values()]
    return (
        isinstance(content.get("number"), int)
        and isinstance(content.get("facts"), dict)
        and all(isinstance(keys, dict) for keys in tables)
        and all(isinstance(folder, str) for folder in folders)
    )


def broken(name: str) -> InputError:
    """The manifest was cut or changed by something else than us."""
    message = "is cut or broken; delete it to go back to the commit before it"
    return InputError(Finding(message, name))


def numbers(names: Iterable[str]) -> list[int]:
    """Commits among the names in a store's folder of manifests, the newest last."""
    return sorted(int(n[:-5]) for n in names if n.endswith(".json") and n[:-5].isdigit())


def commits_in(root: Path) -> list[int]:
    """Numbers of the commits of a store in a local folder, the newest last."""
    folder = root / FOLDER
    return numbers(path.name for path in folder.iterdir()) if folder.is_dir() else []


def manifest_name(number: int) -> str:
    return f"{FOLDER}/{number:08d}.json"


def local_manifest(root: Path) -> Manifest:
    """The newest commit of a store in a local folder; an empty one where there is none."""
    commits = commits_in(root)
    if not commits:
        return Manifest()
    path = root / manifest_name(commits[-1])
    try:
        return manifest_of(path.read_bytes(), str(path))
    except OSError as error:
        raise InputError(Finding(f"cannot be read: {error.strerror}", str(path))) from None

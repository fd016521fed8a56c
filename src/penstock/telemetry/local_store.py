"""A store in a folder of this machine, written and cleaned without Spark.

The same commits as :class:`penstock.telemetry.store.Store` makes, by the same one step: the new
manifest gets its name if nobody has it yet. What is deleted afterwards is for both decided here.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from penstock.errors import Finding, InputError
from penstock.telemetry.commit_pins import unpinned
from penstock.telemetry.manifest import (
    Manifest,
    commit_bytes,
    commits_in,
    folders_named,
    local_manifest,
    manifest_name,
    unreadable,
)
from penstock.telemetry.writer_lock import StoreBusyError

#: Of so many commits the folders stay, for readers at work; longer where a reader holds one.
KEPT_COMMITS = 3


def local_folder(address: str) -> Path | None:
    """The folder of this machine that an address means; none where it means another place."""
    if address.startswith("file:"):
        return Path(unquote(urlsplit(address).path))
    return None if "://" in address else Path(address)


def store_folder(address: str | Path) -> Path:
    """The local folder of a store that has a commit, or an error that says what there is."""
    path = local_folder(str(address))
    if path is None:
        message = (
            "is not in a folder of this machine; Spark reads such a store "
            "(penstock.telemetry.store.Store), and this reads local ones"
        )
        raise InputError(Finding(message, str(address)))
    try:
        is_folder = stat.S_ISDIR(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        is_folder = False
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    if not is_folder:
        raise InputError(Finding("no such folder", str(address)))
    newest_commit(path)
    return path


def newest_commit(root: Path) -> int:
    """The number of a store's newest commit, or an error where it has none."""
    commits = commits_in(root)
    if not commits:
        message = (
            "is not a telemetry store: it has no commit; penstock profile TELEMETRY --store FOLDER "
            "makes one"
        )
        raise InputError(Finding(message, str(root)))
    return commits[-1]


class LocalStore:
    """The files of one store. Whoever commits holds the writer's lock."""

    def __init__(self, root: Path) -> None:
        self.root = root
        #: What runs before this one left is looked for once: it takes a look at every folder.
        self._is_swept = False

    def manifest(self) -> Manifest:
        return local_manifest(self.root)

    def commit(self, manifest: Manifest, *, keep: int = KEPT_COMMITS) -> Manifest:
        """Make ``manifest`` the newest; refused when another writer was faster."""
        following = replace(manifest, number=manifest.number + 1)
        target = self.root / manifest_name(following.number)
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".draft-{following.number}-{os.getpid()}")
        try:
            _write_through(draft, following.to_bytes())
            # A checksum of Hadoop's for an earlier file of this name would call ours broken.
            _checksum_of(target).unlink(missing_ok=True)
            # Unlike a rename a link fails where the name is taken.
            os.link(draft, target)
        except FileExistsError:
            raise StoreBusyError(
                f"another run wrote to {self.root} at the same time; run this one again when "
                "it has ended"
            ) from None
        finally:
            draft.unlink(missing_ok=True)
        sync_folder(target.parent)
        self.clean_up(keep=keep)
        return following

    def clean_up(self, *, keep: int = KEPT_COMMITS) -> None:
        """Remove old commits that nobody reads, and folders that no commit left names."""
        known = commits_in(self.root)
        with unpinned([self._path(number) for number in known[:-keep]]) as free:
            going = [number for number in known[:-keep] if self._path(number) in free]
            live = self._named_by(set(known) - set(going))
            # Folders first: cut off after the manifests, nothing would say what they named.
            for folder in self._named_by(going) - live:
                self._remove(folder)
            if not self._is_swept:
                self._remove_unknown(live)
                self._is_swept = True
            for number in going:
                self._path(number).unlink(missing_ok=True)
                _checksum_of(self._path(number)).unlink(missing_ok=True)

    def _remove_unknown(self, live: set[str]) -> None:
        """What a crashed run wrote and no commit ever named: whole folders below a table's."""
        from penstock.telemetry.schemas import INTERNAL_TABLES, TABLES

        tops = {"/".join(folder.split("/")[:2]) for folder in live}
        for table in (*TABLES, *INTERNAL_TABLES):
            if (self.root / table).is_dir():
                for path in list((self.root / table).iterdir()):
                    if f"{table}/{path.name}" not in tops:
                        self._remove(f"{table}/{path.name}")

    def _named_by(self, commits: Iterable[int]) -> set[str]:
        named: set[str] = set()
        for number in commits:
            with suppress(InputError):
                named |= folders_named(commit_bytes(self._path(number)))
        return named

    def _remove(self, name: str) -> None:
        path = self.root / name
        # By a link in a store that somebody else made, a name may lead out of it.
        if not Path(os.path.realpath(path.parent)).is_relative_to(os.path.realpath(self.root)):
            return
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
            _checksum_of(path).unlink(missing_ok=True)

    def _path(self, number: int) -> Path:
        return self.root / manifest_name(number)


def _checksum_of(path: Path) -> Path:
    """Where Hadoop puts the checksum of a local file."""
    return path.with_name(f".{path.name}.crc")


def _write_through(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Have new names on the disk, too; not every file system can say so."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

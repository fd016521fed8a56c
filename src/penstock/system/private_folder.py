"""Folders and files that nobody but this user can change, checked each time they are used.

What is kept for later commands decides what they run: which lab is up, whom to end, the ``java``
that Spark starts with. In a folder that others can write to, such as the temporary one, somebody
else may have put it there. Nothing is read that fails the checks; the error says which, and why.

A path is safe if it and every folder above belongs to this user or to root, and nobody else may
write to it. A folder such as ``/tmp``, where all may write but only the owner may rename, is safe
above a folder that is ours.
"""

from __future__ import annotations

import grp
import os
import pwd
import shutil
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import Finding, PenstockError

#: Beside every folder that :meth:`PrivateFolder.make_folder` has made; nothing else is removed.
_MARK = ".made"
_PROGRAM = "penstock"


class NotPrivate(PenstockError):
    """Somebody else could have changed what lies there, so it is not used."""


def tampering_risk(path: Path) -> str:
    """Why somebody else could change what lies at ``path``; empty if nobody can."""
    real = path.resolve()
    for part in (*reversed(real.parents), real):
        if risk := _risk_of(part, is_parent=part != real):
            return risk
    return ""


@dataclass(frozen=True)
class PrivateFolder:
    """A folder of this user's with mode 0700; made when first needed."""

    path: Path

    def require(self) -> Path:
        """The folder, made if it is not there, or an error that says why it is not used."""
        try:
            with suppress(FileExistsError):
                self.path.mkdir(mode=0o700)
            if risk := self._risk():
                raise NotPrivate(Finding(f"not used: {risk}", str(self.path)))
            if stat.S_IMODE(self.path.lstat().st_mode) != 0o700:
                self.path.chmod(0o700)  # others could look into it, never write
        except OSError as error:
            reason = error.strerror or str(error)
            raise NotPrivate(Finding(f"cannot be used: {reason}", str(self.path))) from None
        return self.path

    def _risk(self) -> str:
        """As :func:`tampering_risk`; besides, the folder itself must not be a link."""
        entry = self.path.lstat()
        if not stat.S_ISDIR(entry.st_mode):
            kind = "a symbolic link" if stat.S_ISLNK(entry.st_mode) else "no folder"
            return f"it is {kind}; remove it"
        if entry.st_uid != os.geteuid():
            return f"it belongs to {_user(entry.st_uid)}, not to {_user(os.geteuid())}"
        return tampering_risk(self.path)

    def read(self, name: str) -> bytes | None:
        """What a file of the folder holds; ``None`` where there is none."""
        if not os.path.lexists(self.path):
            return None
        path = self.require() / name
        try:
            number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            return None
        except OSError as error:
            reason = "it is a symbolic link" if path.is_symlink() else error.strerror
            raise NotPrivate(Finding(f"not read: {reason}; remove it", str(path))) from None
        if risk := _file_risk(os.fstat(number)):
            os.close(number)
            raise NotPrivate(Finding(f"not read: {risk}; remove it", str(path)))
        with os.fdopen(number, "rb") as file:
            return file.read()

    def holds(self, name: str) -> bool:
        """Whether there is a file of this name that nobody else can have changed."""
        if not os.path.lexists(self.path / name):
            return False
        path = self.require() / name
        if risk := _file_risk(path.lstat()):
            raise NotPrivate(Finding(f"not used: {risk}; remove it", str(path)))
        return True

    def write(self, name: str, content: bytes, mode: int = 0o600) -> Path:
        """Make or replace a file, in one step."""
        folder = self.require()
        number, temporary = tempfile.mkstemp(dir=folder, prefix=f".{name}.")
        draft = Path(temporary)
        try:
            with os.fdopen(number, "wb") as file:
                file.write(content)
            draft.chmod(mode)
            return draft.replace(folder / name)
        except BaseException:
            draft.unlink()
            raise

    def remove(self, name: str) -> None:
        if os.path.lexists(self.path):
            (self.require() / name).unlink(missing_ok=True)

    def make_folder(self, prefix: str) -> Path:
        """A new folder inside, marked as one that may be removed again."""
        folder = Path(tempfile.mkdtemp(dir=self.require(), prefix=prefix))
        _mark(folder).touch(mode=0o600)
        return folder

    def remove_folder(self, folder: Path) -> None:
        """Remove a folder that :meth:`make_folder` has made, if it is still there."""
        risk = self._not_made_here(folder)
        if not os.path.lexists(folder):  # perhaps because somebody else removes it too
            return
        if risk:
            raise NotPrivate(Finding(f"not removed: {risk}", str(folder)))
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            _mark(folder).unlink(missing_ok=True)

    def folders(self) -> list[Path]:
        """Those that :meth:`make_folder` has made and that are still there."""
        if not os.path.lexists(self.path):
            return []
        return sorted(f for f in self.require().iterdir() if not self._not_made_here(f))

    def _not_made_here(self, folder: Path) -> str:
        if folder.parent != self.path or folder.name == "..":
            return f"it is not in {self.path}"
        self.require()
        if folder.is_symlink() or not folder.is_dir():
            return "it is no folder"
        if not _mark(folder).is_file():
            return f"it has no {_mark(folder).name} beside it, so something else made it"
        return ""


def _mark(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}{_MARK}")


def runtime_folder(environ: Mapping[str, str] = os.environ) -> PrivateFolder:
    """For what is true until this computer restarts; small things only."""
    if folder := environ.get("XDG_RUNTIME_DIR"):
        return PrivateFolder(Path(folder).absolute() / _PROGRAM)
    return scratch_folder()


def scratch_folder() -> PrivateFolder:
    """For what may be large and may be lost: the user's own part of the temporary folder."""
    return PrivateFolder(Path(tempfile.gettempdir()).absolute() / f"{_PROGRAM}-{os.geteuid()}")


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """For what can be made again; it may be absent, and has yet to be checked."""
    if folder := environ.get("XDG_CACHE_HOME"):
        return Path(folder) / _PROGRAM
    return Path(environ.get("HOME") or Path.home()).expanduser() / ".cache" / _PROGRAM


def _risk_of(path: Path, *, is_parent: bool) -> str:
    try:
        entry = path.lstat()
    except FileNotFoundError:
        return ""  # nothing there to be changed; whoever may make it is checked above
    except OSError as error:
        return f"{path} cannot be looked at: {error.strerror}"
    if entry.st_uid not in (0, os.geteuid()):
        return f"{path} belongs to {_user(entry.st_uid)}, not to {_user(os.geteuid())}"
    only_owners_rename = is_parent and entry.st_mode & stat.S_ISVTX
    if _others_may_write(entry) and not only_owners_rename:
        return f"others may write to {path} (mode {stat.S_IMODE(entry.st_mode):o})"
    return ""


def _file_risk(entry: os.stat_result) -> str:
    if not stat.S_ISREG(entry.st_mode):
        return "it is no plain file"
    if entry.st_uid not in (0, os.geteuid()):
        return f"it belongs to {_user(entry.st_uid)}"
    if _others_may_write(entry):
        return f"others may write to it (mode {stat.S_IMODE(entry.st_mode):o})"
    return ""


def _others_may_write(entry: os.stat_result) -> bool:
    if entry.st_mode & stat.S_IWOTH:
        return True
    return bool(entry.st_mode & stat.S_IWGRP) and not _is_own_group(entry.st_gid)


def _is_own_group(number: int) -> bool:
    """Whether nobody is in a group but this user or root; many systems make one for each user."""
    if number == 0:
        return True
    try:
        me, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(number)
    except KeyError:
        return False
    return group.gr_name == me.pw_name and set(group.gr_mem) <= {me.pw_name}


def _user(number: int) -> str:
    try:
        return f"user {pwd.getpwuid(number).pw_name}"
    except KeyError:
        return f"user {number}"

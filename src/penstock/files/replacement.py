"""A file's new content in one step: a reader sees the old file or the new one.

The content goes to a draft beside the file, which takes its place when it is on the disk. A draft
is locked as long as its writer lives, and the kernel lets go of the lock however the writer ends:
so the next writer knows which drafts a killed run left, and removes them.

A path that leads to no ordinary file keeps what is there: a symlink stays and its target is
replaced; a device or a FIFO is written to; ``/dev/stdout`` is the stream that this process has.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_SUFFIX = ".penstock-draft"
#: Only these are surely ours: a file's name, or its beginning, and random digits.
_DRAFT = re.compile(r"\..+\.[0-9a-f]{16}" + re.escape(_SUFFIX))
#: A file's name may have 255 bytes, and a character up to four.
_LONGEST_NAME = 50
_MOST_LINKS = 40
#: Folders of this process' open files, by whatever name.
_OPEN_FILES = re.compile(r"/dev/fd|/proc/(self|thread-self|\d+(/task/\d+)?)/fd")


def replace_file(path: Path, content: bytes) -> None:
    """Give a path its content, all of it or none of it."""
    with replacing(path) as sink:
        sink.write(content)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Takes the new content of a path, which has it when the block ends; nothing if it fails."""
    before = _status(path)
    if before is not None and stat.S_ISDIR(before.st_mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder")
    target = _followed(path)
    number = _open_number(target)
    if number is not None:
        with os.fdopen(os.dup(number), "wb") as sink:
            yield sink
    elif before is not None and not stat.S_ISREG(before.st_mode):
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_NOCTTY), "wb") as sink:
            yield sink
    else:
        with _replacing(target, before) as sink:
            yield sink


def remove_leftovers(folder: Path) -> None:
    """Remove drafts in a folder whose writers are dead."""
    with suppress(OSError):
        for path in folder.iterdir():
            if _DRAFT.fullmatch(path.name):
                _remove_if_left(path)


def _followed(path: Path) -> Path:
    """Where a path's symlinks lead; links among open files lead nowhere and stay as they are."""
    seen = Path(os.path.realpath(path.parent)) / path.name
    for _ in range(_MOST_LINKS):
        if _open_number(seen) is not None or not seen.is_symlink():
            return seen
        target = seen.parent / seen.readlink()
        seen = Path(os.path.realpath(target.parent)) / target.name
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


def _open_number(path: Path) -> int | None:
    """Of a path such as ``/proc/self/fd/1``, the number of this process' open file."""
    if not path.name.isdigit() or not _OPEN_FILES.fullmatch(str(path.parent)):
        return None
    ours = path.parent == Path("/dev/fd") or path.parent.samefile("/proc/self/fd")
    return int(path.name) if ours else None


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


@contextmanager
def _replacing(path: Path, before: os.stat_result | None) -> Iterator[BinaryIO]:
    draft, handle = _draft_beside(path)
    try:
        if before is not None:
            _keep_rights(handle, before)
        with os.fdopen(handle, "wb", closefd=False) as sink:
            yield sink
        os.fsync(handle)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)
    _sync_folder(path.parent)


def _draft_beside(path: Path) -> tuple[Path, int]:
    """An empty file beside a path, open and locked."""
    while True:
        draft = path.with_name(f".{path.name[:_LONGEST_NAME]}.{secrets.token_hex(8)}{_SUFFIX}")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            # Taken for a leftover before it was locked.
            os.close(handle)
            continue
        except OSError:
            # No locks on this file system: nobody can lock a leftover either, so they stay.
            return draft, handle
        if os.fstat(handle).st_nlink:
            return draft, handle
        os.close(handle)


def _keep_rights(handle: int, before: os.stat_result) -> None:
    """Who could read the file before can read it after, and nobody else."""
    with suppress(PermissionError):
        os.fchown(handle, before.st_uid, before.st_gid)
    os.fchmod(handle, stat.S_IMODE(before.st_mode) & 0o777)


def _sync_folder(folder: Path) -> None:
    """Have the new name on the disk, too; not every file system can say so."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _remove_if_left(draft: Path) -> None:
    with suppress(OSError):
        handle = os.open(draft, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Renamed in the meantime, it is a file of the user's now; the name is free.
            draft.unlink()
        finally:
            os.close(handle)

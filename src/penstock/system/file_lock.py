"""Locks of the kernel's, on a file that the holder keeps open.

However a holder ends, by ``kill -9`` too, the kernel lets go of it; the file stays, and means
nothing by itself.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from penstock.errors import Finding, InputError, PenstockError


class BusyError(PenstockError):
    """Somebody else holds the lock."""


@contextmanager
def locked(path: Path, holder: str) -> Iterator[None]:
    """Hold a lock for as long as the block lasts; ``holder`` says in the error who else does."""
    handle = open_lock(path)
    try:
        other = take(handle)
        if other is not None:
            raise BusyError(
                Finding(f"{holder}{other} is at work; see who it is, or end it", str(path))
            )
        yield
    finally:
        os.close(handle)


def open_lock(path: Path, mode: int = 0o644) -> int:
    """The file, made if it is not there; one of another user's is held by reading it.

    Not inherited: Java may outlive us for a moment. No link is followed: in a folder that others
    may write to, it would choose the file that gets our number.
    """
    flags = os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        try:
            return os.open(path, os.O_RDWR | os.O_CREAT | flags, mode)
        except PermissionError:
            return os.open(path, os.O_RDONLY | flags)
    except OSError as error:
        # Unlike Path's it takes every name there is.
        is_link = os.path.islink(path)  # noqa: PTH114
        reason = f"{path.name} is a symbolic link" if is_link else error.strerror or error
        raise InputError(Finding(f"cannot be written to: {reason}", str(path.parent))) from None


def take(handle: int) -> str | None:
    """Take the lock, or say who holds it: `` (process 7)``, empty where that is not known.

    Where a file system knows no locks, nobody else holds it.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return _named(handle)
    except OSError:
        return None
    with suppress(OSError):
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
    return None


def _named(handle: int) -> str:
    """Which process it is, where it has said so by now."""
    with suppress(OSError, ValueError):
        return f" (process {int(os.pread(handle, 32, 0))})"
    return ""

"""One writer at a time in a folder: the second is told at once, before it has done anything.

The lock is the kernel's, on a file that the writer holds open. However a writer ends, by ``kill
-9`` too, the kernel lets go of it; the file stays, and means nothing by itself.

Only folders of this machine have one. In others, and where a file system knows no locks, a second
writer is found out when it commits (see :mod:`penstock.telemetry.store`).
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from penstock.errors import Finding, InputError, PenstockError

LOCK_FILE = ".penstock-writer"


class StoreBusyError(PenstockError):
    """Somebody else writes to the store, or committed to it in the meantime."""


@contextmanager
def writing_to(folder: str | Path) -> Iterator[None]:
    """Be the one writer of a folder for as long as the block lasts; the folder is made."""
    if "://" in str(folder):
        yield
        return
    handle = _opened(Path(folder))
    try:
        _lock(handle, folder)
        yield
    finally:
        os.close(handle)


def _opened(folder: Path) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Not inherited: Java may outlive us for a moment. No link is followed: in a folder that
        # others may write to, it would choose the file that gets our number.
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        return os.open(folder / LOCK_FILE, flags, 0o666)
    except OSError as error:
        # Unlike Path's it takes every name there is.
        is_link = os.path.islink(folder / LOCK_FILE)  # noqa: PTH114
        reason = f"{LOCK_FILE} is a symbolic link" if is_link else error.strerror or error
        raise InputError(Finding(f"cannot be written to: {reason}", str(folder))) from None


def _lock(handle: int, folder: str | Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StoreBusyError(
            f"another run{_named(handle)} writes to {folder}; run this one again when it has ended"
        ) from None
    except OSError:
        return  # no locks here
    with suppress(OSError):
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)


def _named(handle: int) -> str:
    """Which run it is, where it has said so by now."""
    with suppress(OSError, ValueError):
        return f" (process {int(os.pread(handle, 32, 0))})"
    return ""

"""One writer at a time in a folder: the second is told at once, before it has done anything.

Only folders of this machine have a lock (:mod:`penstock.system.file_lock`). In others, and where a
file system knows no locks, a second writer is found out when it commits (see
:mod:`penstock.telemetry.store`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.errors import Finding, InputError, PenstockError
from penstock.system.file_lock import open_lock, take

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
        other = take(handle)
        if other is not None:
            raise StoreBusyError(
                f"another run{other} writes to {folder}; run this one again when it has ended"
            )
        yield
    finally:
        os.close(handle)


def _opened(folder: Path) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"cannot be written to: {error.strerror or error}"
        raise InputError(Finding(message, str(folder))) from None
    return open_lock(folder / LOCK_FILE, 0o666)

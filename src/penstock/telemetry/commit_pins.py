"""Commits that somebody reads: a store keeps them until the reader has ended.

A reader holds a shared lock of the kernel's on the manifest of its commit, and a writer deletes a
commit only if it gets that lock for itself. However a reader ends, by ``kill -9`` too, the kernel
lets go of it. Where a file system knows no locks, a commit is kept for the two after it and no
longer.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path


def pin(manifest: Path) -> int | None:
    """Hold a commit: the open file; none where it is gone or is just being deleted."""
    try:
        # Not waiting: what has the name may be a FIFO.
        handle = os.open(manifest, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    except OSError:
        return handle  # no locks here
    if os.fstat(handle).st_nlink == 0:
        os.close(handle)
        return None
    return handle


@contextmanager
def unpinned(manifests: Iterable[Path]) -> Iterator[set[Path]]:
    """Those that nobody holds; until the block ends nobody can."""
    with ExitStack() as stack:
        free = set()
        for path in manifests:
            try:
                # To be written to, although it is not: shared file systems ask for that.
                handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
            except OSError:
                continue
            stack.callback(os.close, handle)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            except OSError:
                pass  # no locks here
            free.add(path)
        yield free

"""A process with all it has started, whatever groups and sessions they made for themselves."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from contextlib import suppress
from pathlib import Path


def processes_below(number: int) -> set[int]:
    """A process and all below it, as Linux tells it."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError, ValueError, IndexError):
            text = status.read_text(encoding="utf-8", errors="replace")
            parents[int(status.parent.name)] = int(text.partition("PPid:")[2].split()[0])
    below = {number}
    while more := {n for n, parent in parents.items() if parent in below} - below:
        below |= more
    return below


def kill_tree(process: subprocess.Popen[bytes]) -> None:
    """kill -9 at a driver and its Java at once, the worst that can happen.

    Java has a session of its own, so that Ctrl-C goes to the driver alone; killed without it, it
    would see the end of its driver and end in good order.
    """
    handles = []
    for number in sorted(processes_below(process.pid)):
        with suppress(ProcessLookupError):
            handles.append(os.pidfd_open(number))
    for handle in handles:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    for handle in handles:
        select.select([handle], [], [])  # until it has ended
        os.close(handle)
    process.wait()

"""Ends what a lab left behind when whoever made it was killed.

A process of its own that reads a pipe. The maker writes there which daemons it has started, and a
last word when all is cleaned up. If the pipe ends without it, the maker is dead: the daemons'
process groups (with the workers they have started), the control groups and the folder go.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from penstock.engines.lab.daemons import end_with_its_input
from penstock.engines.lab.groups import ControlGroups
from penstock.engines.lab.process_identity import ProcessIdentity
from penstock.system.private_folder import scratch_folder

_ALL_CLEAN = "clean"
_ENDS_WITHIN_S = 5.0


class ProcessCleanup:
    """The maker's end of the pipe."""

    def __init__(self, pipe: IO[str]) -> None:
        self._pipe = pipe

    def watch(self, leader: ProcessIdentity) -> None:
        """One more process group that must not outlive the maker."""
        self._say(f"{leader.pid} {leader.started}")

    def _say(self, word: str) -> None:
        # One that was killed itself is no reason to stop: it is for bad times only.
        with suppress(OSError, ValueError):
            self._pipe.write(word + "\n")
            self._pipe.flush()


@contextmanager
def process_cleanup(folder: Path) -> Iterator[ProcessCleanup]:
    """Stands by while the block runs."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "penstock.engines.lab.process_cleanup", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        # Ctrl-C is for the maker.
        start_new_session=True,
    )
    assert process.stdin is not None
    stands_by = ProcessCleanup(process.stdin)
    try:
        yield stands_by
    finally:
        stands_by._say(_ALL_CLEAN)
        end_with_its_input(process, _ENDS_WITHIN_S)


def clean_up_after(words: Iterable[str], folder: Path) -> None:
    """Wait for the maker's end; then, unless it has cleaned up, do so."""
    leaders = []
    for word in words:
        if word.strip() == _ALL_CLEAN:
            return
        number, _, started = word.strip().partition(" ")
        leaders.append(ProcessIdentity(int(number), started))
    for leader in leaders:
        leader.send_to_group(signal.SIGKILL)
    if groups := ControlGroups.find():
        groups.clean_up()
    scratch_folder().remove_folder(folder)


if __name__ == "__main__":
    clean_up_after(sys.stdin, Path(sys.argv[1]))

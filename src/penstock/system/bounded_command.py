"""A program of somebody else's, run for so long and no longer."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

#: Of what it prints, from the end: an error is told last.
_TOLD_BYTES = 400


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a program ended; ``why`` is empty where it did what it was to do."""

    why: str = ""

    @property
    def is_done(self) -> bool:
        return not self.why


def run_bounded(command: Sequence[str], within_s: float) -> CommandResult:
    """Run a program without a shell and without input; all that it started ends with its time."""
    with tempfile.TemporaryFile() as told:
        try:
            process = subprocess.Popen(
                list(command), stdin=subprocess.DEVNULL, stdout=told, stderr=told,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            return CommandResult(f"{command[0]} cannot be run: {error.strerror or error}")
        try:
            code = process.wait(within_s)
        except subprocess.TimeoutExpired:
            return CommandResult(f"{command[0]} did not end within {within_s:g} s and was ended")
        finally:
            # Whoever it started in its session, too: what hangs must not go on.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if code == 0:
            return CommandResult()
        return CommandResult(f"{command[0]} ended with {code}{_last_words(told.fileno())}")


def _last_words(number: int) -> str:
    size = os.fstat(number).st_size
    text = os.pread(number, _TOLD_BYTES, max(0, size - _TOLD_BYTES)).decode(errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    words = "".join(c if c.isprintable() else "?" for c in lines[-1]) if lines else ""
    return f": {words}" if words else ""

"""Which process is meant: its number is given to another one when it has ended."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

#: In ``/proc/PID/stat`` behind the name: the state, and when it started (fields 3 and 22).
_STATE, _STARTED = 0, 19
_ANSWERS_WITHIN_S = 10.0


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process, by its number and when it started."""

    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> ProcessIdentity | None:
        """The process that has this number now, if it has not ended."""
        started = _started(pid)
        return cls(pid, started) if started else None

    @property
    def is_alive(self) -> bool:
        return bool(self.started) and _started(self.pid) == self.started

    def send(self, number: signal.Signals) -> bool:
        """Signal this process, never another one of its number; whether it was there."""
        handle = None
        with suppress(AttributeError, OSError):  # not Linux, or an old one
            handle = os.pidfd_open(self.pid)
        try:
            if not self.is_alive:
                return False
            if handle is None:
                os.kill(self.pid, number)
            else:
                signal.pidfd_send_signal(handle, number)
        except ProcessLookupError:
            return False
        finally:
            if handle is not None:
                os.close(handle)
        return True

    def send_to_group(self, number: signal.Signals) -> None:
        """Signal the group that this process leads or led; a group may outlive its leader.

        As long as it does, nobody gets its number. A process that has it now, and is not this
        one, leads a group of its own: the old one is gone.
        """
        now = ProcessIdentity.of(self.pid)
        if self.pid <= 0 or now not in (None, self):
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)


def _started(pid: int) -> str:
    """When the process of this number started, by this boot's clock; empty if there is none."""
    if pid <= 0:
        return ""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return _started_by_ps(pid)
    try:
        line = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    fields = line.rpartition(")")[2].split()
    return "" if fields[_STATE] in "ZX" else f"{boot} {fields[_STARTED]}"


def _started_by_ps(pid: int) -> str:
    command = ["ps", "-o", "lstart=", "-p", str(pid)]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, timeout=_ANSWERS_WITHIN_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip()

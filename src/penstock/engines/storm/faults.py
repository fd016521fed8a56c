"""What may happen to a machine of a lab with Storm on it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from contextlib import suppress

from penstock.engines.lab.lab import Lab


def kill_workers(lab: Lab, machine: str) -> None:
    """With -9; the supervisor notices and starts them again."""
    _kill(workers_of(lab, machine))


def kill_machine(lab: Lab, machine: str) -> None:
    """The supervisor first, so that it does not start its workers again."""
    workers = workers_of(lab, machine)
    kill_daemon(lab, machine)
    _kill(workers)


def kill_daemon(lab: Lab, name: str) -> None:
    daemon = next(d for d in lab.daemons.running if d.name == name)
    os.killpg(daemon.process.pid, signal.SIGKILL)


def workers_of(lab: Lab, machine: str) -> list[int]:
    """Process ids of the workers that a supervisor has started: the names of these folders."""
    pids = (lab.folder / machine / "data" / "workers").glob("*/pids/*")
    return [int(pid.name) for pid in pids if pid.name.isdigit()]


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

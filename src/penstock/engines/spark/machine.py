"""Where a task runs, and what its worker has used so far: runs inside Spark's Python workers."""

from __future__ import annotations

import os
import socket
from pathlib import Path

#: Set in a worker's environment (conf/spark-env.sh), executors and their Python workers have them.
MACHINE_VARIABLE, MACHINE_TYPE_VARIABLE = "PENSTOCK_MACHINE", "PENSTOCK_MACHINE_TYPE"

#: User and system time in /proc/PID/stat, its own and of children that ended and were asked for.
_TIMES = slice(11, 15)


def here() -> dict[str, object]:
    """The machine, the executor on it, and the CPU seconds that executor has used since it began,
    with the daemon that forks Python workers and these themselves.

    The machine type is there only where the worker's environment names it.
    """
    machine: dict[str, object] = {
        "host": os.environ.get(MACHINE_VARIABLE)
        or os.environ.get("SPARK_LOCAL_HOSTNAME")
        or socket.gethostname()
    }
    if kind := os.environ.get(MACHINE_TYPE_VARIABLE):
        machine["machine_type"] = kind
    executor = _parent(os.getppid())  # our parent is the daemon that forks Python workers
    machine["worker"] = str(executor or os.getppid())
    if executor is not None:
        machine["worker_cpu_s"] = _cpu_s(executor, os.getppid(), *_children(os.getppid()))
    return machine


def _parent(process: int) -> int | None:
    fields = _stat(process)
    return int(fields[1]) if fields else None


def _children(process: int) -> list[int]:
    """Of a program with one thread, as the daemon is."""
    try:
        return [
            int(child)
            for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()
        ]
    except (OSError, ValueError):
        return []


def _cpu_s(*processes: int) -> float:
    """User and system time of processes, and of those they started that have ended since."""
    ticks = sum(int(ticks) for process in processes for ticks in _stat(process)[_TIMES])
    return ticks / os.sysconf("SC_CLK_TCK")


def _stat(process: int) -> list[str]:
    """Fields of /proc/PID/stat from the state on; nothing where there is no such file."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()

"""A standalone Spark cluster on this machine: a master and workers as processes of their own.

For tests and benchmarks that must show that the same job runs on a cluster, and for the lab.
Nothing is left behind: processes end and folders go with the block, whatever happened inside.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from penstock.errors import PenstockError
from penstock.telemetry.session import require_spark

_HOST = "127.0.0.1"
_STARTS_WITHIN_S = 90.0
_ENDS_WITHIN_S = 10.0
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_REGISTERED = re.compile(r"[Ss]uccessfully registered with master")


class ClusterDidNotStart(PenstockError):
    """A master or worker process ended or stayed silent."""


@dataclass(frozen=True)
class StandaloneCluster:
    """A running cluster."""

    master: str
    processes: tuple[subprocess.Popen[bytes], ...]


@contextmanager
def standalone_cluster(
    workers: int, *, cores: int = 1, memory_mb: int = 1200
) -> Iterator[StandaloneCluster]:
    """Start a master and so many workers, each with so many cores; all end with the block."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-cluster-")))
        port = _free_port()
        master = f"spark://{_HOST}:{port}"
        started = [
            stack.enter_context(
                _daemon(folder, "master", _MASTER, "--host", _HOST, "--port", str(port))
            )
        ]
        _wait_for(lambda: _listens(port), started, folder, "the master does not listen")
        for number in range(workers):
            started.append(
                stack.enter_context(
                    _daemon(
                        folder, f"worker-{number}", _WORKER,
                        "--host", _HOST, "--cores", str(cores), "--memory", f"{memory_mb}m",
                        "--work-dir", str(folder / f"work-{number}"), master,
                    )
                )
            )  # fmt: skip
        for number in range(workers):
            log = folder / f"worker-{number}.log"
            _wait_for(
                lambda log=log: bool(_REGISTERED.search(log.read_text(errors="replace"))),  # type: ignore[misc]
                started,
                folder,
                f"worker {number} did not register",
            )
        yield StandaloneCluster(master, tuple(started))


@contextmanager
def _daemon(folder: Path, name: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    spec = find_spec("pyspark")
    # require_spark has looked before.
    assert spec is not None
    assert spec.origin is not None
    home = Path(spec.origin).parent
    environment = os.environ | {
        "JAVA_HOME": str(require_spark()),
        "SPARK_HOME": str(home),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_DIRS": str(folder / f"{name}-local"),
        "SPARK_DAEMON_MEMORY": "256m",
    }
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [home / "bin" / "spark-class", arguments[0], "--webui-port", "0", *arguments[1:]],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            # A group of its own: executors end with their worker, and Ctrl-C reaches us first.
            start_new_session=True,
        )
        try:
            yield process
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_ENDS_WITHIN_S)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _wait_for(
    ready: Callable[[], bool],
    processes: list[subprocess.Popen[bytes]],
    folder: Path,
    complaint: str,
) -> None:
    deadline = time.monotonic() + _STARTS_WITHIN_S
    while not ready():
        ended = any(process.poll() is not None for process in processes)
        if ended or time.monotonic() > deadline:
            logs = "\n".join(
                line for log in sorted(folder.glob("*.log")) for line in _last_lines(log)
            )
            raise ClusterDidNotStart(f"{complaint}:\n{logs}")
        time.sleep(0.2)


def _last_lines(log: Path) -> list[str]:
    return log.read_text(errors="replace").splitlines()[-5:]


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind((_HOST, 0))
        return int(listener.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((_HOST, port)) == 0

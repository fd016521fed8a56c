"""The pipeline beside the watcher: a process of its own that keeps a profile's file up to date.

What telemetry costs to be read must not hold the loop up, and a Spark that ends must not end it. So
the two share a file only: the follower writes it whenever new telemetry has changed it, the watcher
reads it when it has changed. The follower ends with the watcher, however that ends; where it ends
by itself it is started again.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING, Any

from penstock.app.measuring import MeasuringOptions, follow
from penstock.app.telemetry import SparkOptions
from penstock.engines.base import Say
from penstock.files.store import save

if TYPE_CHECKING:
    from penstock.telemetry.findings import Measurement

_PARENT_DIED = 1  # PR_SET_PDEATHSIG
_RESTART_AFTER_S = 60.0
_ENDS_WITHIN_S = 20.0


@dataclass(frozen=True)
class FollowOrder:
    """What is followed, and where that leaves its tables and the profile."""

    #: A folder, or a topic of Kafka's.
    source: str
    store: str
    profile: str
    #: Machine types by host, for records that do not say.
    machine_types: Mapping[str, str] = field(default_factory=dict)
    #: Costs that drift are those of the last days.
    keep_s: float = 7 * 86_400.0
    every_s: float = 60.0
    #: One core, and that only while a batch is taken in.
    master: str = "local[1]"
    memory: str = "1g"


@dataclass
class CostFollower:
    """The process, and its words in a file beside its tables."""

    order: FollowOrder
    log: Path
    say: Say
    clock: Callable[[], float]
    _process: subprocess.Popen[bytes] | None = None
    _started_s: float = 0.0

    def look_after(self) -> None:
        """Start it, or start it again a while after it ended."""
        now_s = self.clock()
        process = self._process
        if process is not None and process.poll() is None:
            return
        if process is not None and now_s - self._started_s < _RESTART_AFTER_S:
            return
        if process is not None:
            self.say(f"the pipeline ended (code {process.returncode}), see {self.log}; once more")
        self._started_s = now_s
        with self._log() as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, json.dumps(asdict(self.order))],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )

    def _log(self) -> IO[bytes]:
        """Anew each time: what matters is why it ended last."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.fdopen(os.open(self.log, flags, 0o600), "wb")

    def close(self) -> None:
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_ENDS_WITHIN_S)
        if process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def main(text: str) -> None:
    """The process: follow until told to end, or until the watcher is gone."""
    ctypes.CDLL(None).prctl(_PARENT_DIED, signal.SIGTERM)
    told: list[int] = []

    def end(number: int, _frame: FrameType | None) -> None:
        if told:
            sys.exit(128 + number)
        told.append(number)

    signal.signal(signal.SIGTERM, end)
    order = FollowOrder(**json.loads(text))
    options = MeasuringOptions(
        name="live",
        store=order.store,
        keep_s=order.keep_s,
        source_format=None if "://" in order.source else "jsonl",
        machine_types=order.machine_types,
        spark=SparkOptions(order.master, order.memory),
    )

    def refreshed(measured: Measurement) -> None:
        if measured.profile is not None:
            save(measured.profile, order.profile)

    follow(
        order.source, options, stop=lambda: bool(told) or os.getppid() == 1,
        on_refresh=refreshed, every_s=order.every_s, say=_say,
    )  # fmt: skip


def _say(text: str) -> Any:
    sys.stderr.write(text + "\n")


if __name__ == "__main__":
    main(sys.argv[1])

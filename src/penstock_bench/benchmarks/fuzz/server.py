"""Runs cases: in forks of a warm process, as their own processes, or inside a Spark session."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any

from penstock.errors import PenstockError
from penstock_bench.benchmarks.fuzz.drawing import FuzzCase
from penstock_bench.benchmarks.fuzz.verbs import DrawableVerb, verbs_from
from penstock_bench.benchmarks.process_tree import processes_below


class Way(StrEnum):
    """How a command was run."""

    FORK = "fork of a warm process"
    OWN = "process of its own"
    SPARK = "inside a Spark session"


@dataclass(frozen=True)
class Limits:
    """What a command may take."""

    #: CPU, and wall time with hardly any CPU: others may be at work on this computer.
    seconds: float
    memory_mb: float

    @property
    def wall_s(self) -> float:
        return 12 * self.seconds if self.seconds < 60 else self.seconds


PLAIN = Limits(10.0, 1024.0)
#: Simulates as many tuples as fit into tens of seconds, and says so while it does.
SIMULATING = Limits(45.0, 1024.0)
ENGINE = Limits(180.0, 3072.0)
#: Times a command's own limit, after which its server is taken for lost.
_LOST_AFTER = 10
#: Address space is no memory yet: libraries ask for much and use little of it.
_SPACE_MB = 4096.0
#: Java reserves more than it ever uses.
_JAVA_SPACE_MB = 64 * 1024.0
#: Of a computer with much else to do; a campaign of hours ends where a server does not start.
_STARTS_WITHIN_S = 900.0


@dataclass(frozen=True)
class CommandOutcome:
    """What a command did."""

    way: Way
    code: int
    #: Ended because it took too long.
    late: bool
    seconds: float
    cpu_s: float
    memory_mb: float
    stdout: bytes
    stderr: bytes
    #: Files that were not there before, or are not what they were.
    written: tuple[str, ...]
    #: Of the seconds, those in which it wanted to compute and others did.
    delayed_s: float = 0.0


class Server:
    """One process that runs commands, one at a time; started again when it ends."""

    def __init__(self, folder: Path, way: Way) -> None:
        self.folder = folder
        self.way = way
        self._process: subprocess.Popen[str] | None = None
        self.verbs: tuple[DrawableVerb, ...] = ()
        for name in ("case", "home"):
            (folder / name).mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Server:
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.stop()

    def _start(self) -> None:
        options = ["--spark"] if self.way is Way.SPARK else []
        with (self.folder / "server.txt").open("a", encoding="utf-8") as words:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "penstock_bench.benchmarks.fuzz.fork_server", *options],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=words, text=True,
                start_new_session=True, env=os.environ | self._environment(),
            )  # fmt: skip
        told = self._answer(_STARTS_WITHIN_S)
        if told is None:
            self.stop()
            raise PenstockError(f"the server of commands did not start: {self.folder}/server.txt")
        self.verbs = verbs_from(told)

    def stop(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
            self._process = None

    def _environment(self) -> dict[str, str]:
        """A home and a temporary folder of its own: no lab and no history of the user's."""
        home = str(self.folder / "home")
        names = ("HOME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
                 "XDG_STATE_HOME", "ZDOTDIR")  # fmt: skip
        # But for compiled code: to compile it anew takes half a minute.
        cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        quiet = {"OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "NO_COLOR": "1"}
        return dict.fromkeys(names, home) | quiet | {"XDG_CACHE_HOME": cache}

    def run(self, case: FuzzCase, limits: Limits, *, own_process: bool = False) -> CommandOutcome:
        """Run a case in an empty folder but for its files."""
        place = self._lay_out(case)
        before = _contents(place)
        if self._process is None:
            self._start()
        request = {
            "arguments": case.arguments,
            "folder": str(place),
            "environment": self._environment() | {"PENSTOCK_HISTORY": str(place / "history")},
            "stdout": str(self.folder / "stdout"),
            "stderr": str(self.folder / "stderr"),
            "seconds": limits.wall_s,
            "cpu_seconds": limits.seconds,
            "space_mb": _JAVA_SPACE_MB if limits is ENGINE else _SPACE_MB,
            "is_own_process": own_process,
        }
        # A fork is ended by its server, which knows what time it was given; Spark is not.
        times = 1 if self.way is Way.SPARK else _LOST_AFTER
        told = self._ask(request, times * limits.wall_s + 20)
        memory = max(told["memory_mb"], self._memory_mb() if self.way is Way.SPARK else 0.0)
        way = Way.OWN if own_process else self.way
        out, err = (_read(self.folder / name) for name in ("stdout", "stderr"))
        after = _contents(place)
        changed = tuple(sorted(n for n, what in after.items() if before.get(n) != what))
        return CommandOutcome(
            way, told["code"], told["late"], told["seconds"], told["cpu_s"], memory, out, err,
            changed, told["delayed_s"],
        )  # fmt: skip

    @property
    def place(self) -> Path:
        """Where the files of the last case are."""
        return self.folder / "case" / "here"

    def _lay_out(self, case: FuzzCase) -> Path:
        place = self.place
        for old in (self.folder / "case").iterdir():
            shutil.rmtree(old, ignore_errors=True)
        place.mkdir()
        for name, data in case.files.items():
            path = place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(0o600)  # a key that others may read is refused
        for name in ("stdout", "stderr"):
            (self.folder / name).write_bytes(b"")
        return place

    def _ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            told = self._answer(seconds)
        except BrokenPipeError:
            told = None
        if told is not None:
            answer: dict[str, Any] = told
            return answer
        late = self._process.poll() is None
        self.stop()
        none = dict.fromkeys(("delayed_s", "cpu_s", "memory_mb"), 0.0)
        return {"code": -9, "late": late, "seconds": seconds} | none

    def _answer(self, seconds: float) -> Any:
        assert self._process is not None
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        line = self._process.stdout.readline() if ready else ""
        return json.loads(line) if line else None

    def _memory_mb(self) -> float:
        """Peak of the process and of all below it, Java among them, as Linux tells it."""
        peak_mb = 0.0
        for number in processes_below(self._process.pid) if self._process is not None else ():
            with suppress(OSError, ValueError, IndexError):
                text = Path(f"/proc/{number}/status").read_text(encoding="utf-8")
                peak_mb += int(text.partition("VmHWM:")[2].split()[0]) / 1024
        return peak_mb


def _contents(place: Path) -> dict[str, tuple[int, int]]:
    """Size and time of everything at and beside the case's folder."""
    found = {}
    for path in place.parent.rglob("*"):
        with suppress(OSError):
            if not path.is_dir():
                status = path.lstat()
                found[os.path.relpath(path, place)] = (status.st_size, status.st_mtime_ns)
    return found


def _read(path: Path) -> bytes:
    with suppress(OSError):
        return path.read_bytes()
    return b""

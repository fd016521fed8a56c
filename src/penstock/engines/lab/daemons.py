"""Processes that serve until they are told to end: started with a log, ended surely."""

from __future__ import annotations

import ctypes
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from penstock.engines.lab.groups import ControlGroup
from penstock.engines.lab.process_identity import ProcessIdentity
from penstock.errors import PenstockError

_STARTS_WITHIN_S = 90.0
_ENDS_WITHIN_S = 10.0
_PARENT_DIED = 1  # PR_SET_PDEATHSIG


class DidNotStart(PenstockError):
    """A daemon ended or stayed silent."""


@dataclass(frozen=True)
class Daemon:
    """One running process, leader of a process group of its own."""

    name: str
    process: subprocess.Popen[bytes]
    identity: ProcessIdentity
    log: Path
    #: How it was started.
    words: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def end(self, *, kindly: bool = True) -> None:
        """The process and all it started."""
        for number in (signal.SIGTERM, signal.SIGKILL)[not kindly :]:
            self.identity.send_to_group(number)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(_ENDS_WITHIN_S)
        self.identity.send_to_group(signal.SIGKILL)


@dataclass
class Daemons:
    """All daemons of one lab or cluster, with their logs in one folder."""

    folder: Path
    running: list[Daemon] = field(default_factory=list)
    #: Told of every process group that is started, by its leader.
    on_start: Callable[[ProcessIdentity], None] = lambda _leader: None

    def start(
        self,
        name: str,
        command: Sequence[str | Path],
        environment: Mapping[str, str],
        group: ControlGroup | None = None,
    ) -> Daemon:
        """Start one; in a control group, with all that it will start itself."""
        words = [str(word) for word in command]
        if group is not None:
            words = ["/bin/sh", "-c", f"{group.joining} && exec {shlex.join(words)}"]
        return self._begin(name, tuple(words), environment)

    def start_again(self, name: str) -> Daemon:
        """One that was killed, as it was started the first time."""
        old = next(daemon for daemon in self.running if daemon.name == name)
        old.end(kindly=False)
        self.running.remove(old)
        return self._begin(name, old.words, old.environment)

    def _begin(self, name: str, words: tuple[str, ...], environment: Mapping[str, str]) -> Daemon:
        log = self.folder / f"{name}.log"
        with log.open("ab") as sink:
            process = subprocess.Popen(
                words,
                env=dict(environment),
                # Whatever it writes beside itself goes with the folder.
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                # A group of its own: what it starts ends with it, and Ctrl-C reaches us first.
                start_new_session=True,
                preexec_fn=_end_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509
            )
        # One that has ended by now is still ours to wait for, so that its number is nobody else's.
        identity = ProcessIdentity.of(process.pid) or ProcessIdentity(process.pid, "")
        self.on_start(identity)
        daemon = Daemon(name, process, identity, log, words, environment)
        self.running.append(daemon)
        return daemon

    def wait_for(self, ready: Callable[[], bool], complaint: str) -> None:
        """Until something is seen, or an error with the last lines of all logs."""
        deadline = time.monotonic() + _STARTS_WITHIN_S
        while not ready():
            ended = any(daemon.process.poll() is not None for daemon in self.running)
            if ended or time.monotonic() > deadline:
                lines = (line for d in self.running for line in d.output.splitlines()[-5:])
                raise DidNotStart(f"{complaint}:\n" + "\n".join(lines))
            time.sleep(0.2)

    def end(self) -> None:
        """All of them, last started first: workers say goodbye while their master listens."""
        for daemon in reversed(self.running):
            daemon.end()
        self.running.clear()


def end_with_its_input(process: subprocess.Popen[str], within_s: float) -> None:
    """For one that ends when nothing more can come; killed if it does not."""
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.close()
    try:
        process.wait(within_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def free_port(host: str = "127.0.0.1") -> int:
    with socket.socket() as listener:
        listener.bind((host, 0))
        return int(listener.getsockname()[1])


def listens(port: int, host: str = "127.0.0.1") -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((host, port)) == 0


def _end_with_parent() -> None:
    """In the child: ask the kernel to be killed when whoever started it dies, however it dies."""
    ctypes.CDLL(None).prctl(_PARENT_DIED, signal.SIGKILL)

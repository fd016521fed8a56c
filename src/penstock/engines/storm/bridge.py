"""Questions to Nimbus, through a Java process that speaks Storm's own protocol.

A request and its answer are a line of JSON each (``penstock.storm.Bridge``). The process ends with
the block; a time-out ends it too, because an answer that comes late would be taken for the next.
The next question starts another one.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from penstock.engines.lab.daemons import end_with_its_input
from penstock.engines.storm.home import LOG_SETTINGS, find_home, plugin_jar, require_java
from penstock.errors import PenstockError

_MAIN = "penstock.storm.Bridge"
_STARTS_WITHIN_S = 60.0
_ANSWERS_WITHIN_S = 60.0
_ENDS_WITHIN_S = 5.0
_LAST_LINES = 5
DEFAULT_THRIFT_PORT = 6627


class BridgeError(PenstockError):
    """Nimbus could not be asked, or refused."""

    def __init__(self, message: str, kind: str = "failed") -> None:
        super().__init__(message)
        #: bad-request, no-such-topology, not-allowed, not-reached, failed
        self.kind = kind


class Bridge:
    """A running bridge, started again after it was lost. Made by :func:`open_bridge`."""

    def __init__(
        self, start: Callable[[], subprocess.Popen[str]], errors: IO[bytes], target: str
    ) -> None:
        self._start = start
        self._errors = errors
        self._target = target
        self._next_id = 0
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str | None] = queue.Queue()

    def open(self) -> None:
        """Start the process, unless it runs."""
        if self._process is not None:
            return
        self._process = self._start()
        # A queue of its own: late lines of a process that is gone are nobody's answer.
        self._lines = queue.Queue()
        threading.Thread(target=_read, args=(self._process, self._lines), daemon=True).start()
        self._line(_STARTS_WITHIN_S, "does not start")

    def ask(self, what: str, *, within_s: float = _ANSWERS_WITHIN_S, **fields: Any) -> Any:
        """The result of one request; fields that are ``None`` are left out."""
        self.open()
        assert self._process is not None
        assert self._process.stdin is not None
        self._next_id += 1
        given = {name: value for name, value in fields.items() if value is not None}
        request = {"id": self._next_id, "do": what, **given}
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except (OSError, ValueError):  # ended by itself
            raise self._ended() from None
        answer = json.loads(self._line(within_s, f"does not answer to {what}"))
        if answer.get("id") != self._next_id:
            raise BridgeError(f"the bridge to {self._target} answers out of turn")
        if not answer.get("ok"):
            raise BridgeError(f"{self._target}: {answer.get('error')}", str(answer.get("kind")))
        return answer["result"]

    def _line(self, within_s: float, complaint: str) -> str:
        try:
            line = self._lines.get(timeout=within_s)
        except queue.Empty:
            self.close()
            message = f"the bridge to {self._target} {complaint} within {within_s:g} s"
            raise BridgeError(message, "not-reached") from None
        if line is None:
            raise self._ended()
        return line

    def _ended(self) -> BridgeError:
        self.close()
        self._errors.seek(0)
        output = self._errors.read().decode(errors="replace").splitlines()
        tail = "; ".join(line.strip() for line in output[-_LAST_LINES:] if line.strip())
        return BridgeError(f"the bridge to {self._target} ended: {tail or 'it output nothing'}")

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            end_with_its_input(process, _ENDS_WITHIN_S)


def _read(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    lines.put(None)


@contextmanager
def open_bridge(
    nimbus: str | None = None,
    *,
    conf_dir: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Iterator[Bridge]:
    """A bridge to ``host`` or ``host:port``, or to the Nimbus of the storm.yaml in ``conf_dir``.

    Without either, that of ``$STORM_CONF_DIR`` or of ``$STORM_HOME/conf``.
    """
    environ = os.environ if environ is None else environ
    home, jar = find_home(environ), plugin_jar()
    java = require_java(environ, home)
    folder = conf_dir or _conf_dir(environ)
    settings = _settings(nimbus)
    command = [
        str(java),
        "-Xmx128m",
        f"-Dlog4j2.configurationFile={LOG_SETTINGS}",
        "-cp",
        home.class_path(*([folder] if folder else []), jar),
        _MAIN,
        json.dumps(settings),
    ]
    target = nimbus or (str(folder) if folder else "Nimbus")
    with tempfile.TemporaryFile() as errors:

        def start() -> subprocess.Popen[str]:
            return subprocess.Popen(
                command,
                env=dict(environ),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                encoding="utf-8",
                # Ctrl-C is for us to handle: the bridge ends when its input does.
                start_new_session=True,
            )

        bridge = Bridge(start, errors, target)
        try:
            bridge.open()
            yield bridge
        finally:
            bridge.close()


def _conf_dir(environ: Mapping[str, str]) -> Path | None:
    if given := environ.get("STORM_CONF_DIR"):
        return Path(given)
    home = environ.get("STORM_HOME")
    return Path(home) / "conf" if home else None


def _settings(nimbus: str | None) -> dict[str, object]:
    # A client that waits minutes for a Nimbus that is not there helps nobody.
    settings: dict[str, object] = {
        "storm.nimbus.retry.times": 2,
        "storm.nimbus.retry.interval.millis": 500,
        "storm.nimbus.retry.intervalceiling.millis": 2000,
        "storm.thrift.socket.timeout.ms": 30_000,
    }
    if nimbus is None:
        return settings
    host, colon, port = nimbus.rpartition(":")
    if not colon:
        host, port = nimbus, str(DEFAULT_THRIFT_PORT)
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise BridgeError(f'"{nimbus}" is not a host or host:port', "bad-request")
    return settings | {
        "nimbus.seeds": [host],
        "nimbus.thrift.port": int(port),
        # Nimbus knows where its ZooKeeper is; nobody said it here.
        "penstock.zookeeper.from.nimbus": True,
    }

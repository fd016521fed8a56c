"""A command that hears of refusals and failures: the operator names it, nobody else.

``watch.yaml`` may come from whoever writes rules; which commands there are is in a file of its own,
which only the operator may write, and each has a name::

    page-me: [/usr/local/bin/page, --team, streaming]

The command gets the event as JSON on its standard input. It runs without a shell, for half a
minute at most, and whatever becomes of it, the loop goes on.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.engines.base import Say
from penstock.errors import Finding, InputError, UnknownNameError
from penstock.files.notification_hooks_file import load_notification_hooks
from penstock.system.private_folder import tampering_risk

#: Beside the history, unless another is named.
HOOKS_FILE = "hooks.yaml"
_MOST_BYTES = 65_536
_RUNS_FOR_S = 30.0
#: The same event is not told again for so long.
_QUIET_S = 300.0


@dataclass
class Hook:
    """One named command."""

    name: str
    command: tuple[str, ...]
    #: When each event was told last.
    _told_s: dict[str, float] = field(default_factory=dict)
    _running: list[tuple[subprocess.Popen[bytes], float]] = field(default_factory=list)

    def tell(self, key: str, event: Mapping[str, Any], now_s: float, say: Say) -> None:
        """Start the command, unless it was told the same a moment ago."""
        self._look_after(now_s)
        if now_s - self._told_s.get(key, -_QUIET_S) < _QUIET_S:
            return
        self._told_s = {k: t for k, t in self._told_s.items() if now_s - t < _QUIET_S}
        self._told_s[key] = now_s
        try:
            process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            say(f"the hook {self.name} cannot be run: {error.strerror or error}")
            return
        assert process.stdin is not None
        with suppress(OSError):  # it need not read
            process.stdin.write(json.dumps(event, allow_nan=False).encode()[:_MOST_BYTES] + b"\n")
            process.stdin.close()
        self._running.append((process, now_s))

    def _look_after(self, now_s: float) -> None:
        """Take note of those that ended, and end those that do not."""
        for process, began_s in list(self._running):
            if process.poll() is None and now_s - began_s > _RUNS_FOR_S:
                process.kill()
                process.wait()
            if process.poll() is not None:
                self._running.remove((process, began_s))


def load_hook(name: str, path: Path) -> Hook:
    """A hook by its name, from a file that only this user or root can change."""
    if not path.is_file():
        raise InputError(Finding("no such file; it names the commands of hooks", str(path)))
    if risk := tampering_risk(path):
        raise InputError(Finding(f"not used: {risk}; only its owner may write it", str(path)))
    hooks = load_notification_hooks(path)
    if name not in hooks:
        raise UnknownNameError("hook", name, sorted(hooks))
    return Hook(name, hooks[name])

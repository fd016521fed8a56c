"""``penstock watch`` as a user runs it, in a process of its own, and what its journal says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from penstock.app.proposals import ChangeProposal, proposal_book
from penstock.app.rehearsal import watch_text
from penstock.errors import PenstockError
from penstock.files.store import save
from penstock.files.writer import write_text
from penstock.model.profile import Profile
from penstock.model.watch_rules import WatchSetting

_ENDS_WITHIN_S = 60.0


@dataclass(frozen=True)
class WatcherSetup:
    """What a watcher is told; its files lie in a folder of its own."""

    folder: Path
    watch: WatchSetting
    profile: Profile
    #: Which engine, and where it is: options of the command line.
    engine: tuple[str, ...]
    every_s: float = 10.0
    #: Rates are means over the newest so many seconds.
    window_s: float = 30.0
    weighted: bool = False

    @property
    def history(self) -> Path:
        return self.folder / "history"

    @property
    def journal(self) -> Path:
        return self.history / "journal.sqlite"

    @property
    def log(self) -> Path:
        return self.folder / "watch.log"

    def command(self, act: str = "now") -> list[str]:
        """The watcher's command line; its rules and costs are written where it reads them."""
        self.folder.mkdir(parents=True, exist_ok=True)
        rules, profile = self.folder / "watch.yaml", self.folder / "profile.json"
        write_text(rules, watch_text(self.watch))
        save(self.profile, profile)
        return [
            sys.executable, "-m", "penstock", "watch", *self.engine, "--rules", str(rules),
            "--profile", str(profile), "--act", act, "--every", f"{self.every_s:g}s",
            "--window", f"{self.window_s:g}s", "--json",
            "--history", str(self.history), *(["--weighted"] if self.weighted else []),
        ]  # fmt: skip

    def proposals(self) -> list[ChangeProposal]:
        """All that it decided to do so far, the oldest first."""
        if not self.journal.is_file():
            return []
        with proposal_book(self.journal) as book:
            return book.since(0.0)

    def events(self) -> list[dict[str, object]]:
        """What it told so far, line by line."""
        if not self.log.exists():
            return []
        events = []
        for line in self.log.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError):
                events.append(json.loads(line))
        return events

    @property
    def complaint(self) -> str:
        """The end of what it said on stderr."""
        path = self.folder / "watch.err"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return " / ".join(lines[-3:])


def start(setup: WatcherSetup, more: Sequence[str] = ()) -> subprocess.Popen[bytes]:
    """A watcher that acts; what it tells goes to its log."""
    command = [*setup.command(), *more]
    with setup.log.open("ab") as log, (setup.folder / "watch.err").open("ab") as errors:
        return subprocess.Popen(command, stdout=log, stderr=errors, start_new_session=True)


def kill(process: subprocess.Popen[bytes]) -> None:
    """With -9, and all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def watching(setup: WatcherSetup) -> Iterator[subprocess.Popen[bytes]]:
    """A watcher for as long as the block lasts; one that ends by itself is an error."""
    process = start(setup)
    try:
        yield process
        if process.poll() is not None:
            raise PenstockError(f"the watcher ended with {process.returncode}: {setup.complaint}")
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            kill(process)

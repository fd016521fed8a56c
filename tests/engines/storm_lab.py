"""A small real Storm for tests, on two machines of a lab that stays warm: no limits."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from penstock.engines.lab.lab import Lab, lab_of
from penstock.engines.lab.machines import parse_machines
from penstock.engines.storm.bridge import Bridge, open_bridge
from penstock.engines.storm.lab import start_lab

LARGE, SMALL = "m1", "m2"
MACHINES = parse_machines("90,30", cores=2)
_STAYS_WARM_S = 3600.0


@dataclass
class StormLab:
    """Where it is, and how to hurt it."""

    lab: Lab
    storm_yaml: Path

    @property
    def folder(self) -> Path:
        return self.lab.folder

    @contextmanager
    def bridge(self) -> Iterator[Bridge]:
        with open_bridge(conf_dir=self.storm_yaml.parent) as bridge:
            yield bridge

    def workers_of(self, machine: str) -> list[int]:
        """Process ids of the workers that a supervisor has started: the names of these folders."""
        return [
            int(pid.name)
            for pid in (self.folder / machine / "data" / "workers").glob("*/pids/*")
            if pid.name.isdigit()
        ]

    def kill(self, machine: str) -> None:
        """The supervisor first, so that it does not start its workers again."""
        supervisor = next(d for d in self.lab.daemons.running if d.name == machine)
        workers = self.workers_of(machine)
        os.killpg(supervisor.process.pid, signal.SIGKILL)
        for pid in workers:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@contextmanager
def storm_lab() -> Iterator[StormLab]:
    with lab_of("storm-test", MACHINES, warm_up_s=_STAYS_WARM_S) as lab:
        yield StormLab(lab, Path(start_lab(lab)))


def until(true: Callable[[], bool], within_s: float, what: str) -> None:
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline, f"not within {within_s:g} s: {what}"
        time.sleep(0.5)

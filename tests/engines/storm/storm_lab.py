"""A small real Storm for tests, on two machines of a lab that stays warm: no limits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
    """Where it is, and how to talk to it."""

    lab: Lab
    storm_yaml: Path

    @property
    def folder(self) -> Path:
        return self.lab.folder

    @contextmanager
    def bridge(self) -> Iterator[Bridge]:
        with open_bridge(conf_dir=self.storm_yaml.parent) as bridge:
            yield bridge


@contextmanager
def storm_lab() -> Iterator[StormLab]:
    with lab_of("storm-test", MACHINES, warm_up_s=_STAYS_WARM_S) as lab:
        yield StormLab(lab, Path(start_lab(lab)))


def until(true: Callable[[], bool], within_s: float, what: str) -> None:
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline, f"not within {within_s:g} s: {what}"
        time.sleep(0.5)

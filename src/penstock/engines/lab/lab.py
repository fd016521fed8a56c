"""A lab while it is up: machines with their limits, daemons, a folder; all gone at its end.

However it ends: after a kill -9, :mod:`penstock.engines.lab.process_cleanup` cleans up.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from penstock.engines.lab.daemons import Daemons
from penstock.engines.lab.groups import ControlGroup, ControlGroups
from penstock.engines.lab.limits import HeldBack
from penstock.engines.lab.machines import LabMachine
from penstock.engines.lab.process_cleanup import process_cleanup
from penstock.errors import PenstockError
from penstock.system.private_folder import scratch_folder

_LOOKS_EVERY_S = 0.5
WARM_UP_S = 25.0
NO_GROUPS = (
    "no control groups this user may write: machines differ in their number of slots only, not in "
    "speed (run as root, or where systemd delegates the cpu controller)"
)


@dataclass
class Lab:
    """Unlike machines on this computer."""

    name: str
    machines: tuple[LabMachine, ...]
    folder: Path
    daemons: Daemons
    #: By machine; empty where no control group may be made.
    held: dict[str, HeldBack] = field(default_factory=dict)
    _ended: threading.Event = field(default_factory=threading.Event)

    def group(self, machine: str) -> ControlGroup | None:
        return self.held[machine].group if machine in self.held else None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know about this lab."""
        return () if self.held else (NO_GROUPS,)

    def slots(self, machine: LabMachine) -> int:
        """Tasks at once: its cores, or without limits on the CPU in proportion to its points."""
        if self.held:
            return machine.cores
        return max(1, round(machine.points / min(m.points for m in self.machines)))

    def cpu_s(self) -> dict[str, float]:
        """Seconds of CPU that each machine has used so far."""
        return {name: held.group.cpu_s() for name, held in self.held.items()}

    def wait_until_limited(self, within_s: float) -> None:
        """Until everything on it has warmed up and every machine is held to its points."""
        deadline = time.monotonic() + within_s
        while not all(held.is_limited for held in self.held.values()):
            if time.monotonic() > deadline:
                raise PenstockError(f"the lab did not warm up within {within_s:g} s")
            time.sleep(_LOOKS_EVERY_S)

    def _watch(self) -> None:
        while not self._ended.wait(_LOOKS_EVERY_S):
            for held in self.held.values():
                held.look()


@contextmanager
def lab_of(
    name: str,
    machines: Sequence[LabMachine],
    *,
    warm_up_s: float = WARM_UP_S,
    groups: ControlGroups | None = None,
) -> Iterator[Lab]:
    """A lab without daemons yet; whatever runs in it ends with the block, and folders go."""
    with ExitStack() as stack:
        scratch = scratch_folder()
        folder = scratch.make_folder(f"lab-{name}-")
        stands_by = stack.enter_context(process_cleanup(folder))
        # Daemons may still write into it while it goes.
        stack.callback(scratch.remove_folder, folder)
        groups = groups or ControlGroups.find()
        if groups:
            groups.clean_up()
        lab = Lab(name, tuple(machines), folder, Daemons(folder, on_start=stands_by.watch))
        for machine in machines if groups else ():
            assert groups is not None
            group = groups.make(f"{name}-{os.getpid()}-{machine.name}")
            stack.callback(group.remove)
            lab.held[machine.name] = HeldBack(group, machine.points, warm_up_s)
        stack.callback(lab.daemons.end)
        watcher = threading.Thread(target=lab._watch, name="lab limits", daemon=True)
        watcher.start()
        stack.callback(watcher.join)
        stack.callback(lab._ended.set)
        yield lab

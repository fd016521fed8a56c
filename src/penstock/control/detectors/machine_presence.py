"""``machine``: a machine was lost, is back, or is new.

That a machine is there is what the engine says (Storm: a supervisor's heartbeat), so there is no
noise to test against and no false alarm of ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from penstock.control.detectors.detector import Detection, TelemetryBlock
from penstock.model.arrays import BoolVector
from penstock.model.problem import Problem


@dataclass(frozen=True, slots=True)
class PresenceMemory:
    """Which machines were there last, and which ever."""

    alive: BoolVector | None = None
    ever: BoolVector | None = None


@dataclass(frozen=True, slots=True)
class MachinePresence:
    """Machines that come and go."""

    name: ClassVar[str] = "machine lost"

    def start(self, problem: Problem) -> PresenceMemory:
        del problem
        return PresenceMemory()

    def look(
        self, block: TelemetryBlock, memory: Any, problem: Problem
    ) -> tuple[tuple[Detection, ...], Any]:
        """Compare with the last block."""
        before, ever = memory.alive, memory.ever
        if before is None or ever is None:
            return (), PresenceMemory(block.alive, block.alive)
        if before is block.alive or np.array_equal(before, block.alive):
            return (), memory
        names = [machine.name for machine in problem.cluster.machines]
        said = []
        for m in np.flatnonzero(before & ~block.alive).tolist():
            said.append(Detection(block.time_s, self.name, names[m], 1.0, f"{names[m]} is lost"))
        for m in np.flatnonzero(block.alive & ~before).tolist():
            why = f"{names[m]} is {'back' if ever[m] else 'new'}"
            said.append(Detection(block.time_s, self.name, names[m], 0.0, why, is_over=True))
        return tuple(said), PresenceMemory(block.alive, ever | block.alive)

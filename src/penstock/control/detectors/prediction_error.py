"""``prediction error``: the cost model is off by more than it was, up here and down there.

The mean distance of CPU in use from what the cost model says, over the machines, against its own
past (:mod:`evidence`). What all machines share is cost drift and taken out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from penstock.control.detectors.detector import Detection, TelemetryBlock, median_of
from penstock.control.detectors.evidence import EvidenceTest
from penstock.control.detectors.sick_machine import FEWEST_PEERS
from penstock.model.problem import Problem


@dataclass(frozen=True, slots=True)
class PredictionError:
    """A cost model that holds less and less."""

    name: ClassVar[str] = "prediction error"

    false_alarms_per_day: float = field(
        default=1e-3, metadata={"help": "false alarms per day, at most"}
    )
    fine: float = field(default=0.03, metadata={"help": "growth that does not matter"})
    growth: float = field(default=0.15, metadata={"help": "the growth to be found soonest"})

    @property
    def test(self) -> EvidenceTest:
        return EvidenceTest(self.false_alarms_per_day, self.fine, self.growth)

    def start(self, problem: Problem) -> Any:
        del problem
        return self.test.start(1)

    def look(
        self, block: TelemetryBlock, memory: Any, problem: Problem
    ) -> tuple[tuple[Detection, ...], Any]:
        """One figure for the cluster."""
        del problem
        known = block.log_cpu[np.isfinite(block.log_cpu)]
        if not block.is_whole or len(known) < FEWEST_PEERS:
            return (), memory
        off = float(np.abs(known - median_of(known)).mean())
        after = self.test.seen(np.array([off]), memory)
        if after.alarmed[0] == memory.alarmed[0]:
            return (), after
        alarmed = bool(after.alarmed[0])
        more = float(after.mean_above[0])
        why = f"predicted CPU is off by {100 * more:.0f} % more than it was"
        if not alarmed:
            why = "predicted CPU is as near as it was again"
        return (Detection(block.time_s, self.name, "", more, why, is_over=not alarmed),), after

"""``key skew``: some instance of a component gets more than its part, and more than it used to.

The busiest instance's input over the part that the plan gives it, against its own past
(:mod:`evidence`). Skew that the topology declares is in that part already.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from penstock.control.detectors.detector import Detection, TelemetryBlock
from penstock.control.detectors.evidence import EvidenceTest
from penstock.model.problem import Problem


@dataclass(frozen=True, slots=True)
class KeySkew:
    """Components whose keys are not as even as they were."""

    name: ClassVar[str] = "key skew"

    false_alarms_per_day: float = field(
        default=1e-3, metadata={"help": "false alarms per component and day, at most"}
    )
    fine: float = field(default=0.1, metadata={"help": "an excess that does not matter"})
    skew: float = field(default=0.5, metadata={"help": "the excess to be found soonest"})

    @property
    def test(self) -> EvidenceTest:
        return EvidenceTest(
            self.false_alarms_per_day, float(np.log1p(self.fine)), float(np.log1p(self.skew))
        )

    def start(self, problem: Problem) -> Any:
        return self.test.start(len(problem.components))

    def look(
        self, block: TelemetryBlock, memory: Any, problem: Problem
    ) -> tuple[tuple[Detection, ...], Any]:
        """Per component."""
        if not block.is_whole or not np.isfinite(block.log_busiest).any():
            return (), memory
        after = self.test.seen(block.log_busiest, memory)
        said = []
        for c in np.flatnonzero(after.alarmed != memory.alarmed).tolist():
            name, factor = problem.labels[c], float(np.exp(after.mean_above[c]))
            why = f"the busiest instance of {name} gets {factor:.2f} times what it did"
            if not after.alarmed[c]:
                why = f"the instances of {name} get what they did again"
            said.append(
                Detection(block.time_s, self.name, name, factor, why, is_over=not after.alarmed[c])
            )
        return tuple(said), after

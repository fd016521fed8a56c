"""``cost drift``: tuples cost more, or less, than the profile says, on all machines of a type.

The median over the machines of a type of CPU in use over what the cost model says, and that over
all machines: one machine that is sick does not move it, other tuples or another version of the
topology do. Fewer than three machines in use have no median to speak of. Tested upwards and
downwards (:mod:`evidence`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from penstock.control.detectors.detector import Detection, TelemetryBlock, median_of
from penstock.control.detectors.evidence import EvidenceTest
from penstock.control.detectors.sick_machine import FEWEST_PEERS
from penstock.model.problem import Problem

_ALL = "all machines"


@dataclass(frozen=True, slots=True)
class DriftedCosts:
    """Costs that changed since the profile was measured."""

    name: ClassVar[str] = "cost drift"

    false_alarms_per_day: float = field(
        default=1e-3, metadata={"help": "false alarms per machine type and day, at most"}
    )
    fine: float = field(default=0.05, metadata={"help": "a drift that does not matter, as a part"})
    drift: float = field(default=0.25, metadata={"help": "the drift to be found soonest"})

    @property
    def test(self) -> EvidenceTest:
        # Either direction gets half of the false alarms.
        return EvidenceTest(
            self.false_alarms_per_day / 2,
            float(np.log1p(self.fine)),
            float(np.log1p(self.drift)),
        )

    def start(self, problem: Problem) -> Any:
        return self.test.start(2 * (len(problem.cluster.types) + 1))

    def look(
        self, block: TelemetryBlock, memory: Any, problem: Problem
    ) -> tuple[tuple[Detection, ...], Any]:
        """Per type, dearer and cheaper."""
        known = np.isfinite(block.log_cpu)
        if not block.is_whole or not known.any():
            return (), memory
        kind, names = problem.cluster.type_of, [*(t.name for t in problem.cluster.types), _ALL]
        middle = np.full(len(names), np.nan)
        for t in (*np.unique(kind[known]).tolist(), len(names) - 1):
            mine = known & ((kind == t) | (names[t] == _ALL))
            if int(mine.sum()) >= FEWEST_PEERS:
                middle[t] = median_of(block.log_cpu[mine])
        after = self.test.seen(np.concatenate([middle, -middle]), memory)
        said = []
        for i in np.flatnonzero(after.alarmed != memory.alarmed).tolist():
            dearer, name = i < len(names), names[i % len(names)]
            factor = float(np.exp((1 if dearer else -1) * after.mean_above[i]))
            why = f"tuples cost {factor:.2f} times what they did on {name}"
            if not after.alarmed[i]:
                why = f"tuples cost what they did again on {name}"
            said.append(
                Detection(block.time_s, self.name, name, factor, why, is_over=not after.alarmed[i])
            )
        return tuple(said), after

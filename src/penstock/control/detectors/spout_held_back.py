"""``spout held back``: spouts are kept from emitting for more than a twentieth of the time.

Here the usual needs no past: 1 + c (h - fine) is an e-value for every h between 0 and 1 whose mean
is ``fine`` at most (betting, Waudby-Smith and Ramdas 2023, arXiv:2010.09686). The threshold follows
from the rate of false alarms as in :mod:`evidence`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isnan, log, log1p
from typing import Any, ClassVar

from penstock.control.detectors.detector import BLOCK_S, Detection, TelemetryBlock
from penstock.control.detectors.evidence import MOST
from penstock.model.problem import Problem


@dataclass(frozen=True, slots=True)
class HeldBackMemory:
    """Logarithm of the evidence; the mean since it began."""

    log_e: float = 0.0
    total: float = 0.0
    blocks: int = 0
    alarmed: bool = False


@dataclass(frozen=True, slots=True)
class SpoutHeldBack:
    """Back-pressure that lasts."""

    name: ClassVar[str] = "spout held back"

    false_alarms_per_day: float = field(
        default=1e-3, metadata={"help": "false alarms per day, at most"}
    )
    fine: float = field(
        default=0.05, metadata={"help": "part of the time that spouts may be held back"}
    )

    def start(self, problem: Problem) -> HeldBackMemory:
        del problem
        return HeldBackMemory()

    def look(
        self, block: TelemetryBlock, memory: Any, problem: Problem
    ) -> tuple[tuple[Detection, ...], Any]:
        """Bet half of what may be bet on more than ``fine``."""
        del problem
        assert isinstance(memory, HeldBackMemory)
        if isnan(block.held_back) or not block.is_whole:
            return (), memory
        threshold = log(86_400.0 / (BLOCK_S * self.false_alarms_per_day))
        gained = log1p(0.5 / self.fine * (block.held_back - self.fine))
        log_e = min(max(0.0, memory.log_e + gained), MOST * threshold)
        alarmed = log_e >= threshold or (memory.alarmed and log_e > 0)
        after = HeldBackMemory(
            log_e,
            memory.total + block.held_back if log_e > 0 else 0.0,
            memory.blocks + 1 if log_e > 0 else 0,
            alarmed,
        )
        if alarmed == memory.alarmed:
            return (), after
        part = after.total / max(after.blocks, 1)
        why = f"spouts are held back for {100 * part:.0f} % of the time"
        if not alarmed:
            why = "spouts are not held back any more"
        return (Detection(block.time_s, self.name, "", part, why, is_over=not alarmed),), after

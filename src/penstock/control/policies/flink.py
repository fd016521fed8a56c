"""``flink``: the autoscaler of Flink's Kubernetes operator, by its rule and its defaults.

Over a window of metrics, the capacity that is needed is ``rate / utilisation + lag / catch-up +
rate * restart / catch-up``; at the utilisation aimed at it is the new capacity, and at the ends of
a band around it it says whether to act: more than the plan carries at the upper end (without the
restart), or less at the lower one. After a change it waits for a stabilisation interval and for
metrics that are newer; it shrinks by at most 60 % and, lately, at most once an hour (operator's
documentation, "Autoscaler", and ``ScalingMetricEvaluator``, ``JobVertexScaler``). What each vertex
needs is what the plan for that rate gives it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from penstock.control.decision import STAY, Proposal
from penstock.control.observation import Observation
from penstock.control.policy import Setting, kept_since


@dataclass(frozen=True, slots=True)
class FlinkMemory:
    """When it looked and changed last, and (time, rate) of the window."""

    looked_s: float = float("-inf")
    changed_s: float = float("-inf")
    shrunk_s: float = float("-inf")
    grown_s: float = float("-inf")
    began_s: float = float("nan")
    window: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class FlinkPolicy:
    """Rate over target utilisation, and what catching up takes."""

    name: ClassVar[str] = "flink"
    summary: ClassVar[str] = (
        "the rule of Flink's autoscaler: rate over a target utilisation, in a band"
    )
    paper: ClassVar[str] = "Apache Flink Kubernetes Operator: Autoscaler"

    target: float = field(default=0.7, metadata={"help": "target.utilization"})
    band: float = field(default=0.3, metadata={"help": "target.utilization.boundary"})
    window_s: float = field(default=900.0, metadata={"help": "metrics.window"})
    stabilise_s: float = field(default=300.0, metadata={"help": "stabilization.interval"})
    shrink_every_s: float = field(default=3600.0, metadata={"help": "scale-down.interval"})
    grace_s: float = field(
        default=0.0, metadata={"help": "scale-up.grace-period, of releases up to 1.9"}
    )
    most_down: float = field(default=0.6, metadata={"help": "scale-down.max-factor"})
    catch_up_s: float = field(default=1800.0, metadata={"help": "catch-up.duration"})
    restart_s: float = field(default=300.0, metadata={"help": "restart.time"})
    every_s: float = field(default=60.0, metadata={"help": "seconds between two looks"})

    def start(self) -> FlinkMemory:
        return FlinkMemory()

    def propose(self, seen: Observation, memory: Any, setting: Setting) -> tuple[Proposal, Any]:
        """The capacity the rule asks for, where the band is left."""
        assert isinstance(memory, FlinkMemory)
        if seen.time_s - memory.looked_s < self.every_s:
            return STAY, memory
        began_s = memory.began_s if memory.began_s == memory.began_s else seen.time_s
        window = memory.window
        since_change_s = seen.time_s - memory.changed_s
        if seen.is_known and since_change_s >= self.stabilise_s:
            window = (*kept_since(window, seen.time_s - self.window_s), (seen.time_s, seen.offered))
        memory = FlinkMemory(
            seen.time_s, memory.changed_s, memory.shrunk_s, memory.grown_s, began_s, window
        )
        # Nothing until the window is full: since the start, or since the last change's
        # stabilisation.
        full_s = self.window_s + (self.stabilise_s if memory.changed_s > began_s else 0.0)
        if seen.time_s - max(began_s, memory.changed_s) < full_s or not window or not seen.is_known:
            return STAY, memory
        rate = sum(r for _, r in window) / len(window)
        lag = seen.waiting
        carries = setting.carries_per_s(seen.placement)
        upper = self._needed(rate, lag, min(1.0, self.target + self.band), restart=False)
        lower = self._needed(rate, lag, self.target - self.band, restart=True)
        if upper <= carries <= lower:
            return STAY, memory
        needed = self._needed(rate, lag, self.target, restart=True)
        evidence = (("rate", rate), ("lag", lag), ("carries", carries))
        if needed < carries:
            if seen.time_s - memory.shrunk_s < self.shrink_every_s:
                return STAY, memory
            if seen.time_s - memory.grown_s < self.grace_s:
                return STAY, memory
            needed = max(needed, carries * (1.0 - self.most_down))
            reason = "less than the band of utilisation"
        else:
            reason = "more than the band of utilisation"
        shrunk_s = seen.time_s if needed < carries else memory.shrunk_s
        grown_s = memory.grown_s if needed < carries else seen.time_s
        changed = FlinkMemory(seen.time_s, seen.time_s, shrunk_s, grown_s, began_s)
        return Proposal(reason, carry_per_s=needed, evidence=evidence), changed

    def _needed(self, rate: float, lag: float, utilisation: float, *, restart: bool) -> float:
        needed = rate / utilisation + lag / self.catch_up_s
        return needed + rate * self.restart_s / self.catch_up_s if restart else needed

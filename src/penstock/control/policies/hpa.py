"""``hpa``: Kubernetes' HorizontalPodAutoscaler, with a machine for a pod.

Every 15 s, desired = ceil(current * utilisation / target) of the CPU of what runs, nothing within a
tolerance of 10 %; up at once by at most 4 pods or as many again in 15 s, down to the highest
desired number of the last 300 s (kubernetes.io, Horizontal Pod Autoscaling, "Algorithm details"
and "Default behavior"). ``target`` is 0.8, what the controller takes where nothing is said. With a
reactive engine each other number is a restart.

CPU of a start does not count for 5 minutes (``cpu-initialization-period``).

Pods are alike there and machines are not here: we give it the best plan on so many machines.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil
from typing import Any, ClassVar

import numpy as np

from penstock.control.decision import STAY, Proposal
from penstock.control.observation import Observation
from penstock.control.policy import Setting, kept_since


@dataclass(frozen=True, slots=True)
class HpaMemory:
    """When it looked last, and (time, desired) of the last minutes."""

    looked_s: float = float("-inf")
    started_s: float = float("-inf")
    desired: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class HpaPolicy:
    """CPU against a target."""

    name: ClassVar[str] = "hpa"
    summary: ClassVar[str] = "Kubernetes' rule: machines by CPU in use against a target"
    paper: ClassVar[str] = "kubernetes.io: Horizontal Pod Autoscaling"

    target: float = field(default=0.8, metadata={"help": "CPU in use that is aimed at"})
    tolerance: float = field(default=0.1, metadata={"help": "part off the target that is fine"})
    every_s: float = field(default=15.0, metadata={"help": "seconds between two looks"})
    down_window_s: float = field(
        default=300.0, metadata={"help": "seconds whose highest wish counts when shrinking"}
    )
    starting_s: float = field(
        default=300.0, metadata={"help": "seconds after a start whose CPU does not count"}
    )
    most_more: int = field(default=4, metadata={"help": "machines added at once, or as many again"})

    def start(self) -> HpaMemory:
        return HpaMemory()

    def propose(self, seen: Observation, memory: Any, setting: Setting) -> tuple[Proposal, Any]:
        """Current times utilisation over target, within its limits."""
        assert isinstance(memory, HpaMemory)
        if seen.time_s - memory.looked_s < self.every_s or seen.cpu is None or not seen.is_known:
            return STAY, memory
        used = seen.placement.machines_used
        now = len(used)
        # Pods that are not ready are set aside, and while all restart there is nothing to see.
        if not seen.settled:
            return STAY, HpaMemory(seen.time_s, seen.time_s, memory.desired)
        if seen.time_s - memory.started_s < self.starting_s:
            return STAY, HpaMemory(seen.time_s, memory.started_s, memory.desired)
        utilisation = float(np.mean(seen.cpu[used]))
        ratio = utilisation / self.target
        wanted = now if abs(ratio - 1.0) <= self.tolerance else ceil(now * ratio)
        since_s = seen.time_s - self.down_window_s
        desired = (*kept_since(memory.desired, since_s), (seen.time_s, float(wanted)))
        memory = HpaMemory(seen.time_s, memory.started_s, desired)
        if wanted > now:
            wanted = min(wanted, now + max(self.most_more, now))
        else:
            wanted = min(now, int(max(d for _, d in desired)))
        wanted = min(max(1, wanted), len(setting.problem.cluster.machines))
        if wanted == now:
            return STAY, memory
        memory = HpaMemory(seen.time_s, seen.time_s, desired)
        evidence = (("CPU in use", utilisation), ("machines", float(now)))
        return Proposal(
            f"CPU in use is {100 * utilisation:.0f} %", machines=wanted, evidence=evidence
        ), memory

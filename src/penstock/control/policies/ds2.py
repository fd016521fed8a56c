"""``ds2``: three steps is all you need (Kalavri et al., OSDI 2018), which needs one.

The optimal parallelism of every operator at once is what its input needs over the true rate of an
instance (eq. 7, 8): the plan for the source rate. It looks at the end of each policy interval,
skips the first after a change (warm-up), and acts on the median of as many intervals as the
activation time says (section 4.2.1). It has no headroom but what rounding gives: ``target_ratio``
is 1.

The backlog it leaves is drained by what is left over, as in the paper, whose sources keep their
rate.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Any, ClassVar

from penstock.control.decision import STAY, Proposal
from penstock.control.observation import Observation
from penstock.control.policy import Setting


@dataclass(frozen=True, slots=True)
class Ds2Memory:
    """The interval that is being filled, and what the ones before asked for."""

    ends_s: float = float("-inf")
    tuples: float = 0.0
    samples: int = 0
    skip: int = 1
    rates: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Ds2Policy:
    """Exactly the parallelism that the source rate needs."""

    name: ClassVar[str] = "ds2"
    summary: ClassVar[str] = "exactly what the source rate needs, in one step (DS2)"
    paper: ClassVar[str] = "Kalavri et al. 2018, Three steps is all you need (OSDI)"

    every_s: float = field(default=60.0, metadata={"help": "policy interval"})
    warm_up: int = field(default=1, metadata={"help": "intervals skipped after a change"})
    activation: int = field(default=2, metadata={"help": "intervals whose median counts"})
    target_ratio: float = field(
        default=1.0, metadata={"help": "achieved rate over source rate that is aimed at"}
    )

    def start(self) -> Ds2Memory:
        return Ds2Memory()

    def propose(self, seen: Observation, memory: Any, setting: Setting) -> tuple[Proposal, Any]:
        """At the end of an interval."""
        assert isinstance(memory, Ds2Memory)
        if memory.ends_s == float("-inf"):
            return STAY, Ds2Memory(seen.time_s + self.every_s, skip=self.warm_up)
        tuples, samples = memory.tuples, memory.samples
        if seen.is_known:
            tuples, samples = tuples + seen.offered, samples + 1
        if seen.time_s < memory.ends_s:
            return STAY, Ds2Memory(memory.ends_s, tuples, samples, memory.skip, memory.rates)
        ends_s = seen.time_s + self.every_s
        if memory.skip or not samples:
            return STAY, Ds2Memory(ends_s, skip=max(0, memory.skip - 1), rates=memory.rates)
        rates = (*memory.rates, tuples / samples)[-self.activation :]
        if len(rates) < self.activation:
            return STAY, Ds2Memory(ends_s, skip=0, rates=rates)
        wanted = median(rates) * self.target_ratio
        planner = setting.planner
        # Another parallelism than there is: more or fewer machines than the rate needs.
        now = len(seen.placement.machines_used)
        least = planner.least_for(wanted, seen.alive)
        if least == now or (least < now and wanted > 0.99 * setting.carries_per_s(seen.placement)):
            return STAY, Ds2Memory(ends_s, skip=0, rates=rates)
        evidence = (("source rate", wanted), ("machines", float(now)))
        proposal = Proposal("the source rate needs another parallelism", wanted, evidence=evidence)
        return proposal, Ds2Memory(ends_s, skip=self.warm_up)

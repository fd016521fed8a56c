"""``lcstream``: Lc-Stream's monitor, Algorithms 2, 3 and 4 at run time.

Sun et al., Concurrency and Computation 2024, doi:10.1002/cpe.8085, sections 4.3 to 4.5. The monitor
keeps the arrival rate λ and the service rate μ. Where an executor's queue and wait are over the
limits L and W, executors are moved to its component from those with room, within their total
(Algorithm 3); where that is not enough, servers are woken, and Algorithm 2 counts anew for all that
are awake. Where at least ``low_share`` of all servers have less than ``low`` of their CPU in use,
servers are put to sleep as long as L and W hold (Algorithm 4). "It records the system status. If
the same situation appears, corresponding scheduling can be applied directly" (section 4.3): a
situation is the rate, in steps of 5 %, and the servers that are there.

Counts, placement and sleep are those of the scheduler ``lcstream``; what the paper leaves open is
said there. Here: λ is the mean of what was offered since the last look, μ the profile's, corrected
by the CPU that was measured over what the cost model says. Servers over their load ``threshold``
count as late. Servers that sleep have no CPU in use: printed, the share is of the whole cluster.
The paper does not say how many are woken: the fewest, in the cluster's order, on which all
executors find a place. Cost: a run of the scheduler for each number tried, by bisection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil, log
from typing import Any, ClassVar

import numpy as np

from penstock.control.decision import STAY, Proposal
from penstock.control.observation import Observation
from penstock.control.policy import Setting
from penstock.control.provenance import ProvenanceData
from penstock.model.arrays import FloatVector, IntVector
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.schedulers.base import Budget
from penstock.schedulers.lcstream.counts import LatenessLimits, Rounds, Stations, rebalance
from penstock.schedulers.lcstream.layout import Rules, ServerLayout
from penstock.schedulers.lcstream.scheduler import LcStreamScheduler
from penstock.schedulers.lcstream.sleep import save_energy
from penstock.schedulers.lcstream.work import ExecutorWork
from penstock.schedulers.restricted import Restricted

#: Rates closer than this are the same situation.
_STEP = log(1.05)
#: Situations that are remembered.
_MOST_STATES = 512

#: A rate in steps, the servers that are there, and whether executors were late.
Situation = tuple[int, bytes, bool]


@dataclass(frozen=True)
class LcStreamMemory:
    """Sums since it looked last, and the states that were seen before."""

    looked_s: float = float("-inf")
    samples: int = 0
    offered: float = 0.0
    processed: float = 0.0
    cpu: FloatVector | None = None
    states: Mapping[Situation, Placement] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LcStreamPolicy:
    """Executors by queue and wait, servers asleep when most have little to do."""

    name: ClassVar[str] = "lcstream"
    summary: ClassVar[str] = (
        "Lc-Stream's monitor: executors by queue and wait, servers put to sleep"
    )
    paper: ClassVar[str] = "Sun et al. 2024 (Lc-Stream), Algorithms 2 to 4"

    queue: float = field(default=0.8, metadata={"help": "L, the longest mean queue in tuples"})
    wait_ms: float = field(default=0.0, metadata={"help": "W, a mean wait in ms that is short"})
    low: float = field(default=0.25, metadata={"help": "CPU under which a server has little to do"})
    low_share: float = field(
        default=0.7, metadata={"help": "part of all servers that must have little to do"}
    )
    threshold: float = field(
        default=0.8, metadata={"help": "CPU over which a server is overloaded"}
    )
    per_machine: int = field(default=10, metadata={"help": "executors each server offers"})
    every_s: float = field(default=60.0, metadata={"help": "seconds between two looks"})

    def start(self) -> LcStreamMemory:
        return LcStreamMemory()

    def recalled(self, past: ProvenanceData, setting: Setting) -> LcStreamMemory:
        """Begin with the states that an earlier run saw and that kept up."""
        unit = setting.planner.unit
        states = {
            (_level(s.carried_per_s / unit), s.alive.tobytes(), True): s.placement
            for s in past.states
            if s.carried_per_s > 0
        }
        return LcStreamMemory(states=states)

    def propose(self, seen: Observation, memory: Any, setting: Setting) -> tuple[Proposal, Any]:
        """At each look: is anybody late, have most too little to do?"""
        assert isinstance(memory, LcStreamMemory)
        if not (seen.is_known and seen.settled):
            return STAY, memory
        cpu = memory.cpu
        if seen.cpu is not None:
            cpu = seen.cpu if cpu is None else cpu + seen.cpu
        looked_s = memory.looked_s if memory.looked_s > float("-inf") else seen.time_s
        memory = LcStreamMemory(
            looked_s,
            memory.samples + 1,
            memory.offered + seen.offered,
            memory.processed + seen.processed,
            cpu,
            memory.states,
        )
        if seen.time_s - looked_s < self.every_s:
            return STAY, memory
        proposal, states = self._looked(seen, memory, setting)
        return proposal, LcStreamMemory(seen.time_s, states=states)

    def _looked(
        self, seen: Observation, memory: LcStreamMemory, setting: Setting
    ) -> tuple[Proposal, Mapping[Situation, Placement]]:
        rate = memory.offered / memory.samples
        cpu = None if memory.cpu is None else memory.cpu / memory.samples
        dearer = _dearer(seen, cpu, memory.processed / memory.samples, setting)
        scale = max(rate, 1e-9) / setting.planner.unit * dearer
        stations = Stations(setting.problem, scale, self._limits)
        late = self._late(stations, seen.placement)
        over = cpu is not None and bool((cpu[seen.placement.machines_used] > self.threshold).any())
        resting = self._low(seen, cpu)
        if not (late or over or resting):
            return Proposal("queues and waits are within their limits"), memory.states
        evidence = (("λ", rate), ("cost over profile", dearer), ("late components", float(late)))
        needed = late > 0 or over
        situation = (_level(scale), seen.alive.tobytes(), needed)
        known = memory.states.get(situation)
        if known is None or not _holds(known, seen, setting, rate, needed):
            known = self._up(seen, stations) if needed else self._down(seen, stations)
        carries = setting.carries_per_s
        if known is None or (needed and carries(known) < carries(seen.placement)):
            return Proposal("no other placement is within the limits", evidence=evidence), (
                memory.states
            )
        states = _with(memory.states, situation, known)
        if known == seen.placement:
            return Proposal("the placement is the best it knows", evidence=evidence), states
        reason = (
            "queues or waits are over their limits" if needed else "most servers have little to do"
        )
        return Proposal(reason, placement=known, evidence=evidence), states

    @property
    def _limits(self) -> LatenessLimits:
        return LatenessLimits(self.queue, self.wait_ms / 1e3)

    def _late(self, stations: Stations, placement: Placement) -> int:
        """How many components are over L and W."""
        counts = placement.counts(len(stations.problem.components)).tolist()
        totals = stations.totals(counts)
        return sum(not stations.holds(c, n, totals) for c, n in enumerate(counts))

    def _low(self, seen: Observation, cpu: FloatVector | None) -> bool:
        """Algorithm 4, lines 1 to 9: whether enough of all servers have little to do."""
        if cpu is None:
            return False
        in_use = np.zeros(len(cpu), dtype=np.bool_)
        in_use[seen.placement.machine] = True
        low = seen.alive & (np.where(in_use, cpu, 0.0) < self.low)
        return bool((low & in_use).any()) and float(low.sum() / seen.alive.sum()) >= self.low_share

    # -- more -----------------------------------------------------------------------------------

    def _up(self, seen: Observation, stations: Stations) -> Placement | None:
        """Executors moved within their total, else servers woken."""
        problem = _at_rate(stations.problem, stations.scale)
        used = seen.placement.machines_used
        awake = used[seen.alive[used]]
        counts = seen.placement.counts(len(problem.components)).tolist()
        moved = rebalance(stations, counts, sum(counts), Rounds(Budget()))  # Algorithm 3
        totals = stations.totals(moved)
        if moved != counts and all(stations.holds(c, n, totals) for c, n in enumerate(moved)):
            placed = self._placed(problem.with_counts(moved), awake)
            if placed is not None:
                return placed
        asleep = np.flatnonzero(seen.alive & ~np.isin(np.arange(len(seen.alive)), awake))
        low, high = 0, len(asleep)
        best = self._placed(problem, np.concatenate([awake, asleep]))
        while low < high:
            middle = (low + high) // 2
            placed = self._placed(problem, np.concatenate([awake, asleep[:middle]]))
            if placed is not None:
                best, high = placed, middle
            else:
                low = middle + 1
        return best

    def _placed(self, problem: Problem, machines: IntVector) -> Placement | None:
        """The scheduler on some machines: Algorithms 2 and 3 where counts are open; all or none."""
        if not len(machines):
            return None
        part = Restricted.to(problem, machines.tolist())
        scheduler = LcStreamScheduler(
            queue=self.queue, wait_ms=self.wait_ms, per_machine=self.per_machine,
            threshold=self.threshold, sleep=False, work=float("inf"),
        )  # fmt: skip
        outcome = scheduler.solve(part.problem, Budget(), np.random.default_rng(0))
        if outcome.placement is None or outcome.shortfalls:
            return None
        placed = part.back(outcome.placement)
        # At the limit of the pool counts may be too few, and are not refused.
        return None if self._late(Stations(problem, 1.0, self._limits), placed) else placed

    # -- less -----------------------------------------------------------------------------------

    def _down(self, seen: Observation, stations: Stations) -> Placement | None:
        """Algorithm 4, lines 12 to 14: servers put to sleep as long as L and W hold."""
        counts = tuple(seen.placement.counts(len(stations.problem.components)).tolist())
        starts = seen.placement.starts(len(counts))
        where = [
            seen.placement.machine[int(starts[c]) : int(starts[c + 1])].tolist()
            for c in range(len(counts))
        ]
        most = np.bincount(seen.placement.machine).max()
        rules = Rules(max(self.per_machine, int(most)), self.threshold)
        layout = ServerLayout.rebuilt(ExecutorWork(stations, counts), rules, where)
        # The share of all servers was looked at; of those in use any number will do.
        saved = save_energy(layout, self.low, 0.0, Rounds(Budget()))
        return saved.layout.placement() if saved.asleep else None


def _dearer(
    seen: Observation, cpu: FloatVector | None, processed: float, setting: Setting
) -> float:
    """What tuples cost now over what the profile says, the mean over the servers in use."""
    if cpu is None:
        return 1.0
    load = setting.planner.machine_load(seen.placement).cpu(processed / setting.planner.unit)
    used = seen.placement.machines_used
    known = used[load[used] > 0.05]
    if not len(known):
        return 1.0
    return float(np.clip(np.median(cpu[known] / load[known]), 0.5, 2.0))


def _at_rate(problem: Problem, scale: float) -> Problem:
    """The problem with what is offered as its declared demand."""
    rates = problem.demand * scale
    weights = dict(problem.terms.weights)
    topologies = tuple(
        replace(t, demand_per_s=float(rate) / weights.get(t.name, 1.0))
        for t, rate in zip(problem.topologies, rates, strict=True)
    )
    return replace(problem, topologies=topologies)


def _level(scale: float) -> int:
    """The rate in steps, rounded up: what carries more carries less."""
    return ceil(log(max(scale, 1e-12)) / _STEP)


def _holds(
    known: Placement, seen: Observation, setting: Setting, rate: float, needed: bool
) -> bool:
    """Whether a state that was seen before can be applied: it is there, and differs in effect."""
    there = bool(seen.alive[known.machine].all()) and setting.carries_per_s(known) >= rate
    return there and not (needed and known == seen.placement)


def _with(
    states: Mapping[Situation, Placement], situation: Situation, placement: Placement
) -> Mapping[Situation, Placement]:
    """The states with one more; the oldest go first."""
    after = {**states, situation: placement}
    return dict(list(after.items())[-_MOST_STATES:])

"""The interval model: weeks of a plan that changes, in steps of some seconds.

For each step it knows the offered rate, what the plan in force carries by the one cost model, and
for how much of the step it runs at all. Tuples wait in one queue in front of the whole topology
and leave it in their order, so a step costs a few operations whatever the cluster's size:

- for the pause of a change nothing is processed;
- a lost machine whose loss is not noticed yet takes its part of the tuples and gives nothing back:
  they fail and are offered again, so of what is carried only the rest counts, and where that part
  is over 5 % the 95th percentile is the time-out;
- a tuple that is done at t waited for what had come after it: backlog over offered rate.

Latency is that wait plus the path's own time, stretched by 1 / (1 - load) as in
:mod:`penstock.evaluate.latency`, with the tail of exponential times. What it has not: queues
between components, bursts within a step, network cards. The fluid model and the event engine have
them; tests hold it against both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log, nan

import numpy as np

from penstock.evaluate.assess import assess
from penstock.evaluate.capacity import capacity
from penstock.evaluate.latency import path_latency_ms
from penstock.evaluate.rates import stream_rates
from penstock.model.arrays import BoolVector, FloatVector
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.simulate.scenario import STORM_TIMEOUT_S

#: The 95th percentile of exponential times over their mean.
_TAIL = -log(0.05)
#: Fewer tuples late than this do not show in the 95th percentile.
_IN_PERCENTILE = 0.05
#: Nearer to full than this a queue needs longer than a step to grow; what waits is counted anyway.
_FULLEST = 0.98


@dataclass(frozen=True, slots=True)
class EnginePauses:
    """How long an engine stands still, in seconds. Defaults: a rebalance of Storm 2."""

    #: Storm has the new assignment after 3 s, then workers start.
    rebalance_s: float = 12.0
    #: New shares reach running senders.
    shares_s: float = 0.0
    #: Until a lost machine is noticed; meanwhile tuples are sent there.
    notice_s: float = 60.0
    #: Until what was lost runs elsewhere.
    restart_s: float = 12.0
    #: Whether a lost machine stops the whole job, as in Flink, or only what ran there.
    loss_stops_all: bool = False
    #: Pauses differ by chance by this part, evenly both ways.
    spread: float = 0.25


@dataclass(frozen=True, slots=True)
class IntervalSample:
    """What happened in one step."""

    seconds: float
    offered: float
    processed: float
    #: Tuples that wait at its end.
    backlog: float
    #: 95th percentile of latency; NaN where nothing was completed.
    latency_s: float
    #: Tuples completed later than the limit asked for.
    late: float


@dataclass(frozen=True, slots=True)
class _InForce:
    """What the cost model says of the placement that runs."""

    carries_per_s: float
    idle_latency_s: float
    machine_fixed: FloatVector
    machine_slope: FloatVector
    #: Tuples/s on each stream at scale 1, (streams,).
    streams: FloatVector


class IntervalModel:
    """A running placement; :meth:`step` lets time pass, the others change what runs."""

    def __init__(
        self,
        problem: Problem,
        placement: Placement,
        pauses: EnginePauses | None = None,
        latency_limit_s: float = inf,
    ) -> None:
        self.problem, self.pauses = problem, pauses or EnginePauses()
        self.latency_limit_s = latency_limit_s
        self.unit = float(problem.demand.sum())
        self.placement = placement
        self.speed = np.ones(len(problem.cluster.machines))
        self.backlog = 0.0
        self.pause_left_s = 0.0
        #: Part of the tuples that reaches a machine whose loss is not noticed.
        self.failing = 0.0
        self._known: dict[tuple[Placement, bytes], _InForce] = {}
        self._now = self._judged()

    # -- what changes -------------------------------------------------------------------------

    def change(self, placement: Placement, pause_s: float) -> None:
        """Another placement takes over; everything stands still meanwhile."""
        self.placement = placement
        self.pause_left_s = max(self.pause_left_s, pause_s)
        self._now = self._judged()

    def lose(self, lost: BoolVector) -> None:
        """Machines, shape (machines,), that take tuples and give nothing back until noticed."""
        self.failing = self.part_on(lost)

    def slow(self, machine: int, speed: float) -> None:
        """A machine runs at a part of its speed."""
        self.speed[machine] = speed
        self._now = self._judged()

    def part_on(self, machines: BoolVector) -> float:
        """Part of the tuple trees that touch one of these machines, at most 1."""
        here = machines[self.placement.machine]
        if not here.any():
            return 0.0
        rates = capacity(self.problem, self.placement).rates.per_instance
        return min(1.0, float(rates[here].sum()) / self.unit)

    @property
    def carries_per_s(self) -> float:
        return self._now.carries_per_s

    def cpu(self, processed_per_s: float) -> FloatVector:
        """Part of its points that each machine uses at a rate, shape (machines,)."""
        points = self._now.machine_fixed + self._now.machine_slope * (processed_per_s / self.unit)
        return np.asarray(points / (self.problem.cluster.usable_cpu * self.speed))

    def streams(self, processed_per_s: float) -> FloatVector:
        """Tuples/s on each stream at a rate, shape (streams,)."""
        return np.asarray(self._now.streams * (processed_per_s / self.unit))

    # -- time ---------------------------------------------------------------------------------

    def step(self, offered_per_s: float, seconds: float) -> IntervalSample:
        """Let so much time pass at an offered rate."""
        paused = min(self.pause_left_s, seconds)
        self.pause_left_s -= paused
        runs_s = seconds - paused
        carries = self._now.carries_per_s * (1.0 - self.failing)
        offered = offered_per_s * seconds
        waits = self.backlog + offered_per_s * paused  # when it runs again
        able = carries * runs_s
        came = waits + offered_per_s * runs_s
        processed = min(came, able)
        self.backlog = came - processed
        if processed <= 0.0:
            # Without tuples there is nothing to be late, and nothing is known.
            return IntervalSample(seconds, offered, 0.0, self.backlog, nan, 0.0)
        rate = max(offered_per_s, 1e-12)
        first, last = waits / rate, self.backlog / rate
        late_part = 1.0
        if last <= 0.0:  # the queue is empty after a part of what is processed
            empties_after_s = waits / max(carries - offered_per_s, 1e-12)
            late_part = min(1.0, carries * empties_after_s / processed)
        wait = _percentile(first, last, late_part)
        load = min(processed / able, _FULLEST)
        own = self._now.idle_latency_s * _TAIL / (1.0 - load)
        latency = own + wait
        if self.failing > _IN_PERCENTILE:
            latency = max(latency, STORM_TIMEOUT_S)
        limit = self.latency_limit_s - own
        late = processed * late_part * _part_above(first, last, limit)
        late += processed * self.failing
        return IntervalSample(seconds, offered, processed, self.backlog, latency, late)

    def _judged(self) -> _InForce:
        key = (self.placement, self.speed.tobytes())
        if key not in self._known:
            judged = capacity(self.problem, self.placement)
            carries = self._carried(judged.machine_fixed, judged.machine_slope, judged.scale)
            idle_ms = path_latency_ms(assess(self.problem, self.placement), 0.0) or 0.0
            self._known[key] = _InForce(
                carries * self.unit,
                idle_ms / 1e3,
                judged.machine_fixed,
                judged.machine_slope,
                stream_rates(self.problem, self.placement),
            )
        return self._known[key]

    def _carried(self, fixed: FloatVector, slope: FloatVector, scale: float) -> float:
        """The sustainable scale with machines at their speeds."""
        if (self.speed >= 1.0).all():
            return scale
        room = self.problem.cluster.usable_cpu * self.speed - fixed
        full = np.full(len(room), inf)
        np.divide(np.maximum(room, 0.0), slope, out=full, where=slope > 0)
        return min(scale, float(full.min()))


def _percentile(first: float, last: float, part: float) -> float:
    """The 95th percentile of waits that go evenly from first to last over a part of the tuples."""
    if part <= _IN_PERCENTILE:
        return 0.0
    low, high = min(first, last), max(first, last)
    return high - (high - low) * _IN_PERCENTILE / part


def _part_above(first: float, last: float, limit: float) -> float:
    """Of waits that go evenly from first to last, the part above a limit."""
    low, high = min(first, last), max(first, last)
    if high <= limit:
        return 0.0
    return 1.0 if low >= limit else (high - limit) / (high - low)


#: A pause by chance: the engine's mean and a number drawn evenly from 0 to 1.
def drawn_pause(pause_s: float, pauses: EnginePauses, chance: Callable[[], float]) -> float:
    """How long a pause lasts this time."""
    return pause_s * (1.0 + pauses.spread * (2.0 * chance() - 1.0))

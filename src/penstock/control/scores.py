"""What a rehearsal is judged by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from penstock.control.decision import Decision, DecisionKind
from penstock.control.recorded_load import RecordedLoad
from penstock.model.arrays import BoolVector, FloatVector

if TYPE_CHECKING:
    from penstock.planning.capacity_plans import CapacityPlanner

#: Least machine-hours and pictures go by intervals of so many seconds.
INTERVAL_S = 300.0
#: So long after a loss what happens is the fault's.
FAULT_S = 120.0
#: A change is settled once latency stays within the target for so long.
_SETTLED_S = 300.0


@dataclass(frozen=True, eq=False)
class RehearsalSeries:
    """What happened, one value per interval; each array is (intervals,)."""

    end_s: FloatVector
    offered_per_s: FloatVector
    carries_per_s: FloatVector
    machines: FloatVector
    #: The least that any plan needs to carry the mean offered rate.
    least: FloatVector
    #: The longest of the interval, NaN where nothing was completed.
    latency_s: FloatVector
    waiting: FloatVector


@dataclass(frozen=True)
class RegretParts:
    """Where machine-hours above the least come from, each as a part of the least; they add up."""

    #: Plans that use more than the least for what they carry, lost machines' stand-ins included.
    plans: float
    #: One plan for as long as it was in force, and not another for every five minutes.
    holding: float
    #: More was foreseen than came, room to drain the pause of a change included.
    forecast: float
    #: Machines that leave while others already run.
    pauses: float

    @property
    def total(self) -> float:
        return self.plans + self.holding + self.forecast + self.pauses


@dataclass(frozen=True)
class Score:
    """One policy on one load with one seed."""

    load: str
    policy: str
    seed: int
    hours: float
    machine_hours: float
    least_machine_hours: float
    regret: RegretParts
    price: float | None
    energy_kwh: float | None
    #: Parts of the time over the latency target: all of it, and without what faults explain.
    over_target: float
    over_target_own: float
    changes: int
    #: Changes within 120 s of a loss.
    fault_changes: int
    share_changes: int
    moves: int
    late: float
    highest_backlog: float
    #: Mean seconds from a change until latency stays within the target.
    settling_s: float
    #: Mean part that a growth carries above the highest rate until the next change.
    overshoot: float
    refusals: int

    @property
    def mean_machines(self) -> float:
        return self.machine_hours / self.hours


class Scorekeeper:
    """Adds up a rehearsal, window by window."""

    def __init__(self, planner: CapacityPlanner, load: RecordedLoad, target_s: float) -> None:
        self.planner, self.load, self.target_s = planner, load, target_s
        self.windows = self.over = self.over_own = 0
        self.machine_s = self.late = self.highest_backlog = 0.0
        self.decisions: list[Decision] = []
        self.refusals = 0
        self._rows: list[tuple[float, ...]] = []
        self._alive: list[BoolVector] = []
        self._is_over: list[bool] = []
        self._window_s = 1.0
        self._open = [
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
        ]  # seconds, offered, carries, machines, lat, wait

    def window(
        self,
        now_s: float,
        seconds: float,
        offered_per_s: float,
        carries_per_s: float,
        machines: int,
        latency_s: float,
        waiting: float,
        late: float,
        last_loss_s: float,
        alive: BoolVector,
    ) -> None:
        """One window in which latency is judged; a missing value counts as over the target."""
        is_over = not latency_s <= self.target_s
        self._is_over.append(is_over)
        self._window_s = seconds
        self.windows += 1
        self.over += is_over
        self.over_own += is_over and now_s - last_loss_s > FAULT_S
        self.machine_s += machines * seconds
        self.late += late
        self.highest_backlog = max(self.highest_backlog, waiting)
        row = self._open
        row[0] += seconds
        row[1] += offered_per_s * seconds
        row[2] += carries_per_s * seconds
        row[3] += machines * seconds
        row[4] = max(row[4], latency_s) if latency_s == latency_s else row[4]
        row[5] = max(row[5], waiting)
        if row[0] >= INTERVAL_S - 1e-6:
            total = row[0]
            self._rows.append(
                (now_s, row[1] / total, row[2] / total, row[3] / total, row[4], row[5])
            )
            self._alive.append(alive)
            self._open = [0.0] * 6

    def series(self) -> RehearsalSeries:
        rows = np.array(self._rows).reshape(-1, 6)
        least = np.array(
            [self._least(row[1], up) for row, up in zip(rows, self._alive, strict=True)]
        )
        return RehearsalSeries(
            rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3], least, rows[:, 4], rows[:, 5]
        )

    def score(self, policy: str, seed: int, losses_s: Sequence[float]) -> Score:
        """All of it, once the rehearsal is over."""
        series = self.series()
        made = [d for d in self.decisions if d.restarts]
        faults = sum(any(0 <= d.time_s - at <= FAULT_S for at in losses_s) for d in made)
        hours = self.windows * self._window_s / 3600.0
        least = float(series.least.sum()) * INTERVAL_S / 3600.0
        machine_hours = self.machine_s / 3600.0
        price, energy = self._price_and_energy(series)
        return Score(
            self.load.name, policy, seed, hours, machine_hours, least,
            self._regret(series, made, machine_hours, least),
            price, energy,
            self.over / max(self.windows, 1), self.over_own / max(self.windows, 1),
            len(made) - faults, faults,
            sum(d.kind is DecisionKind.SHARES for d in self.decisions),
            sum(d.moves for d in made),
            self.late, self.highest_backlog,
            self._settling_s(made), self._overshoot(made), self.refusals,
        )  # fmt: skip

    def _least(self, rate_per_s: float, alive: BoolVector) -> float:
        """The least for a rate; where not even all machines carry it, all of them."""
        return min(self.planner.least_for(rate_per_s, alive), float(alive.sum()))

    # -- figures ------------------------------------------------------------------------------

    def _regret(
        self, series: RehearsalSeries, made: list[Decision], used: float, least: float
    ) -> RegretParts:
        if least <= 0 or not len(series.end_s):
            return RegretParts(0.0, 0.0, 0.0, 0.0)
        ends = [d.time_s for d in made]
        plan = np.searchsorted(np.array(ends), series.end_s - INTERVAL_S / 2) if ends else 0
        plan = np.broadcast_to(plan, series.end_s.shape)
        highest = np.zeros(int(plan.max()) + 1)
        np.maximum.at(highest, plan, series.offered_per_s)
        everyone = np.ones(len(self.planner.class_of), dtype=np.bool_)
        hours = INTERVAL_S / 3600.0
        for_peak = np.array([self._least(r, everyone) for r in highest])[plan]
        most = self.planner.bound_per_s * 0.999
        for_carried = np.array([self._least(min(c, most), everyone) for c in series.carries_per_s])
        holding = float((for_peak - series.least).sum()) * hours / least
        forecast = float((for_carried - for_peak).sum()) * hours / least
        overlap = sum(
            max(0, d.machines_before - d.machines_after) * d.pause_s for d in made
        ) / 3600.0  # fmt: skip
        pauses = overlap / least
        return RegretParts(
            used / least - 1.0 - holding - forecast - pauses, holding, forecast, pauses
        )

    def _price_and_energy(self, series: RehearsalSeries) -> tuple[float | None, float | None]:
        """Only where all machines in the cluster are alike in what they cost."""
        kinds = self.planner.problem.cluster.types
        used = {m.type for m in self.planner.problem.cluster.machines}
        prices = {k.price_per_hour for k in kinds if k.name in used}
        price = None
        if len(prices) == 1 and None not in prices:
            price = self.machine_s / 3600.0 * float(next(iter(prices)) or 0.0)
        watts = {(k.idle_watts, k.full_watts) for k in kinds if k.name in used}
        idle, full = next(iter(watts)) if len(watts) == 1 else (None, None)
        if idle is None or full is None:
            return price, None
        load = np.minimum(series.offered_per_s / np.maximum(series.carries_per_s, 1e-9), 1.0)
        drawn = series.machines * (idle + (full - idle) * load)
        return price, float(drawn.sum()) * INTERVAL_S / 3.6e6

    def _settling_s(self, made: list[Decision]) -> float:
        over = np.array(self._is_over)
        need = max(1, round(_SETTLED_S / self._window_s))
        found = []
        for d in made:
            at = int(d.time_s / self._window_s)
            rest = over[at : at + 20 * need]
            last = 0
            for i in np.flatnonzero(rest):
                if i - last > need:
                    break
                last = int(i) + 1
            found.append(last * self._window_s)
        return float(np.mean(found)) if found else 0.0

    def _overshoot(self, made: list[Decision]) -> float:
        if not made:
            return 0.0
        found = []
        ends = [*(d.time_s for d in made[1:]), self.load.duration_s]
        for d, end_s in zip(made, ends, strict=True):
            if d.rate_after_per_s > d.rate_before_per_s and end_s - d.time_s >= self.load.step_s:
                first = int(d.time_s // self.load.step_s)
                highest = float(
                    self.load.rate_per_s[first : int(end_s // self.load.step_s)].max(initial=0)
                )
                if highest > 0:
                    found.append(d.rate_after_per_s / highest - 1.0)
        return float(np.mean(found)) if found else 0.0

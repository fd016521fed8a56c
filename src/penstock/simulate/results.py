"""The result of a simulation: figures with their intervals, and what happened over time."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from math import isfinite, nan

import numpy as np

from penstock.model.arrays import FloatVector
from penstock.model.problem import Problem
from penstock.simulate.intervals import BATCHES, Interval, interval
from penstock.simulate.measured import MeasuredInterval, measure, utilisation
from penstock.simulate.samples import Samples
from penstock.simulate.scenario import Scenario
from penstock.simulate.warmup import looks_to_cut, most_looks_to_cut

ENGINE, FLUID = "engine", "fluid"
#: Tuples in the system still grow if the second half has so many times those of the first.
_GROWS = 1.1


@dataclass(frozen=True)
class Balance:
    """Every tuple offered since the beginning is somewhere; all whole numbers."""

    offered: int
    completed: int
    lost: int
    #: Timed out and not sent again.
    given_up: int
    in_flight: int
    at_source: int
    #: Of those in flight: something of them is lost, and they wait for their time-out.
    awaiting_timeout: int = 0

    @property
    def missing(self) -> int:
        known = self.completed + self.lost + self.given_up + self.in_flight + self.at_source
        return self.offered - known


@dataclass(frozen=True)
class SimResult:
    """One or more runs of a scenario, counted from the same moment on."""

    problem: Problem
    scenario: Scenario
    seed: int
    runs: tuple[Samples, ...]
    model: str = ENGINE

    @cached_property
    def first_look(self) -> int:
        """The look at which counting begins."""
        warmup_s, looks = self.scenario.warmup_s, self.runs[0].looks
        last = max(0, min(len(run.looks) for run in self.runs) - 2)
        if warmup_s is not None:
            times = [look.time_s for look in looks]
            return min(int(np.searchsorted(times, warmup_s - 1e-9)), last)
        if not self.scenario.is_steady:
            return 0  # nothing settles where things change
        return min(looks_to_cut(self._present), last)

    @cached_property
    def still_settling(self) -> bool:
        """Whether MSER-5 cut as much as it may, and what is left still grows."""
        present = self._present
        if self.scenario.warmup_s is not None or not self.scenario.is_steady or len(present) < 4:
            return False
        if self.first_look < most_looks_to_cut(len(present)):
            return False
        settled = present[self.first_look :]
        half = len(settled) // 2
        return bool(settled[half:].mean() > _GROWS * settled[:half].mean())

    @cached_property
    def _present(self) -> FloatVector:
        """Tuples in the system at each look, the mean of all runs."""
        looks = min(len(run.looks) for run in self.runs)
        return np.mean([_present(run)[:looks] for run in self.runs], axis=0)

    @cached_property
    def warmup_s(self) -> float:
        return self.runs[0].looks[self.first_look].time_s

    @cached_property
    def each(self) -> tuple[MeasuredInterval, ...]:
        """What each run measured."""
        return tuple(measure(run, self.first_look, len(run.looks) - 1) for run in self.runs)

    @cached_property
    def measured(self) -> MeasuredInterval:
        """The first run; with several, see :attr:`intervals` for all of them together."""
        return self.each[0]

    @cached_property
    def intervals(self) -> dict[str, Interval]:
        """Mean and 95 % interval of every figure, by its path: ``topologies.diamond.latency_ms``.

        Over the runs, or over batches of a single one.
        """
        parts = [figures_of(one) for one in (self.each if len(self.runs) > 1 else self._batches())]
        whole = [figures_of(one) for one in self.each]
        intervals = {}
        for path in whole[0]:
            spread = interval([part[path] for part in parts if path in part])
            mean = interval([one[path] for one in whole]).mean
            intervals[path] = Interval(mean, spread.half_width)
        return intervals

    def _batches(self) -> list[MeasuredInterval]:
        run = self.runs[0]
        looks = np.linspace(self.first_look, len(run.looks) - 1, BATCHES + 1).round().astype(int)
        ends = np.unique(looks)
        return [measure(run, int(a), int(b)) for a, b in pairwise(ends)]

    def interval(self, path: str) -> Interval:
        return self.intervals[path]

    @cached_property
    def at_least(self) -> frozenset[str]:
        """Paths of the figures that are lower bounds, in one run or more."""
        return frozenset(
            f"topologies.{one.topology}.{name}"
            for measured in self.each
            for one in measured.topologies
            for name in one.at_least
        )

    @cached_property
    def balance(self) -> Balance:
        """Of the first run, in simulated tuples (or batches of them)."""
        last = self.runs[0].looks[-1]
        total = {name: int(values.sum()) for name, values in last.topologies.items()}
        return Balance(
            offered=total["offered"],
            completed=total["completed"],
            lost=total["lost"],
            given_up=total["timed_out"] - total["replayed"],
            in_flight=total["live"],
            at_source=int(last.at_source.sum()),
            awaiting_timeout=total["awaiting_timeout"],
        )

    @property
    def events(self) -> int:
        return sum(run.looks[-1].events for run in self.runs)

    @property
    def stopped(self) -> bool:
        return any(run.stopped for run in self.runs)

    @cached_property
    def over_time(self) -> tuple[MeasuredInterval, ...]:
        """The first run from look to look."""
        run = self.runs[0]
        return tuple(measure(run, k, k + 1) for k in range(len(run.looks) - 1))

    @cached_property
    def utilisation_over_time(self) -> np.ndarray:
        """Part of each machine's CPU in use from look to look, shape (looks, machines)."""
        run = self.runs[0]
        pairs = pairwise(run.looks)
        return np.array([utilisation(run, a, b, b.time_s - a.time_s) for a, b in pairs])


def figures_of(measured: MeasuredInterval) -> dict[str, float]:
    """Every figure of a stretch of time by its path."""
    figures = {
        "completed_per_s": measured.completed_per_s,
        "throughput_per_s": measured.throughput_per_s,
        "watts": nan if measured.watts is None else measured.watts,
    }
    for group in ("topologies", "components", "machines", "network"):
        for one in getattr(measured, group):
            name, *numbers = fields(one)
            where = f"{group}.{getattr(one, name.name)}"
            figures |= {
                f"{where}.{number.name}": getattr(one, number.name)
                for number in numbers
                if number.name != "at_least"
            }
    return figures


def number_or_none(value: float | None) -> float | None:
    """JSON knows no NaN."""
    return value if value is not None and isfinite(value) else None


def _present(run: Samples) -> np.ndarray:
    return np.array([look.present.sum() for look in run.looks], dtype=np.float64)

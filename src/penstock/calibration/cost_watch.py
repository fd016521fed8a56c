"""What components cost, as it becomes known batch by batch, and when that is well enough.

The same robust line that the pipeline fits (:mod:`penstock.telemetry.fit`), of each component on
each machine type, over the batches so far. The pipeline has the last word; this says when to ask.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from penstock.engines.base import Batch
from penstock.model.telemetry import UNKNOWN_TYPE, Sample
from penstock.telemetry.findings import CostFit
from penstock.telemetry.fit.group_fit import NEGLIGIBLE_POINTS, GroupKey, fit_groups
from penstock.telemetry.fit.points import Points

#: Standard errors to either side of a value that hold 95 %.
_SURE = 1.96


@dataclass(frozen=True, slots=True)
class OpenCost:
    """A cost that is not known well enough yet."""

    component: str
    machine_type: str
    #: Half of its 95 % interval as a part of it; ``None`` where there is no cost at all.
    error: float | None
    why: str = ""

    def __str__(self) -> str:
        how = self.why if self.error is None else f"± {100 * self.error:.3g} %"
        return f"{self.component} on {self.machine_type}: {how}"


@dataclass
class CostWatch:
    """Measurements of a run, task by task."""

    #: Half of a 95 % interval that is good enough, as a part of the cost.
    error: float
    _rows: dict[GroupKey, list[tuple[float, float, int, int, int]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    _instances: dict[GroupKey, list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, batch: Batch) -> None:
        """Take in what a batch measured; what has no CPU is no measurement."""
        usable = [s for s in batch.samples if s.cpu_points is not None]
        count: dict[str, int] = defaultdict(int)
        for sample in usable:
            count[sample.component] += 1
        for sample in usable:
            key = (sample.topology, sample.component, sample.machine_type or UNKNOWN_TYPE)
            cpu = float(sample.cpu_points or 0.0)
            row = (_rate(sample), cpu, sample.time_ms, sample.task, batch.number)
            self._rows[key].append(row)
            self._instances[key].append(float(count[sample.component]))

    def fits(self) -> list[CostFit]:
        """What is known so far, sorted by component and machine type."""
        keys = sorted(self._rows)
        table = [row for key in keys for row in self._rows[key]]
        if not table:
            return []
        rate, cpu, time_ms, task, batch = (np.array(column) for column in zip(*table, strict=True))
        instances = np.array([n for key in keys for n in self._instances[key]])
        points = Points(rate, cpu, np.zeros(len(rate)), time_ms, task, batch, instances)
        counts = [len(self._rows[key]) for key in keys]
        return fit_groups(points, np.repeat(np.arange(len(keys)), counts), keys, counts)

    def open_costs(self) -> list[OpenCost]:
        """The costs that want more batches; none when all are known."""
        fits = self.fits()
        everything: dict[str, float] = defaultdict(float)
        for fit in fits:
            if not fit.not_ready:
                everything[fit.machine_type] += fit.e * fit.rate_most + fit.met
        judged = (self._judged(fit, everything[fit.machine_type]) for fit in fits)
        return [cost for cost in judged if cost is not None]

    def _judged(self, fit: CostFit, everything: float) -> OpenCost | None:
        """``everything`` is the CPU of a task of each component on that machine type."""
        if fit.not_ready:
            return OpenCost(fit.component, fit.machine_type, None, fit.not_ready)
        # On a busy machine all get little CPU: what is little beside the others does not matter.
        little = min(NEGLIGIBLE_POINTS, self.error * everything)
        most = fit.e * fit.rate_most
        if most + fit.met < little:
            return None
        # Per tuple as a part of itself; what is always there as a part of the whole CPU.
        of_tuple = _SURE * fit.e_error / fit.e if most >= little else 0.0
        error = max(of_tuple, _SURE * fit.met_error / (most + fit.met))
        if error <= self.error:
            return None
        return OpenCost(fit.component, fit.machine_type, error)


def _rate(sample: Sample) -> float:
    """Tuples/s that a task took in, or a spout made."""
    taken = sum(entry.tuples for entry in sample.inputs or ())
    tuples = taken if sample.produced is None else sample.produced
    return 1000.0 * tuples / sample.window_ms

"""What was seen of a run: batch by batch, after the lab's limits were on and all was warm."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from penstock.engines.base import Batch
from penstock.engines.lab.lab import Lab
from penstock.engines.lab.pace import PaceMeter
from penstock.errors import PenstockError

#: Batches after the limits are on that are left out: what was under way, and one more.
_LEFT_OUT = 2


@dataclass(frozen=True)
class BatchObservation:
    """One batch, and what each machine did from the end of the one before to its end."""

    batch: Batch
    seconds: float
    #: By control group.
    cpu_s: Mapping[str, float]
    #: Time of day.
    ended: float = 0.0


@dataclass(frozen=True)
class RunObservation:
    """Batches of one run, watched after warm-up."""

    seen: tuple[BatchObservation, ...]

    def where(self, chosen: Callable[[Batch], bool]) -> RunObservation:
        """Some of the batches."""
        return RunObservation(tuple(one for one in self.seen if chosen(one.batch)))

    def __add__(self, other: RunObservation) -> RunObservation:
        return RunObservation(self.seen + other.seen)

    @property
    def batches(self) -> tuple[Batch, ...]:
        return tuple(one.batch for one in self.seen)

    @property
    def rows(self) -> int:
        return sum(rows_of(batch) for batch in self.batches)

    @property
    def machine_points(self) -> dict[str, float]:
        """CPU points that each machine used meanwhile.

        Over the time that the rate is over. From end to end, small batches at fixed times among
        large ones would take longer, and large ones less long, than the time between their starts.
        """
        machines = self.seen[0].cpu_s
        return {m: 100 * sum(one.cpu_s[m] for one in self.seen) / self.seconds for m in machines}

    @property
    def seconds(self) -> float:
        return sum(batch.seconds for batch in self.batches)

    @property
    def rate_per_s(self) -> float:
        return self.rows / self.seconds

    @property
    def batch_s(self) -> float:
        """Median time of a batch: what a tuple waits for its result."""
        return statistics.median(batch.seconds for batch in self.batches)

    def pace(self, meter: PaceMeter) -> float:
        """CPU that a meter's work took on average while these batches ran."""
        each = [meter.usual_s(one.ended - one.seconds, one.ended) for one in self.seen]
        return statistics.fmean(each)

    def own_points(self) -> dict[str, float]:
        """CPU points that each machine used beside the workers: its daemon, above all."""
        whole = self.machine_points
        window_ms, used = 0.0, dict.fromkeys(whole, 0.0)
        for batch in self.batches:
            # Each instance tells what its whole worker used.
            workers = {(s.host, s.worker): s.worker_cpu_points or 0.0 for s in batch.samples}
            length_ms = batch.samples[0].window_ms
            window_ms += length_ms
            for (host, _), points in workers.items():
                used[host] += points * length_ms
        return {m: whole[m] - used[m] / window_ms for m in used}

    def tuples_per_busy_s(self) -> dict[str, float]:
        """How fast each machine goes through a mix of all components, by the clock."""
        tuples: dict[str, float] = {}
        busy_s: dict[str, float] = {}
        for sample in (s for batch in self.batches for s in batch.samples):
            taken = sample.produced or sum(i.tuples for i in sample.inputs or ())
            tuples[sample.host] = tuples.get(sample.host, 0.0) + taken
            spent = (sample.process_ms or 0.0) * taken / 1e3
            busy_s[sample.host] = busy_s.get(sample.host, 0.0) + spent
        return {host: tuples[host] / busy_s[host] for host in tuples if busy_s[host] > 0}


class BatchWatch:
    """Waits for the limits, leaves out a few batches, then counts."""

    def __init__(self, lab: Lab, seconds: float, patience_until: float) -> None:
        self.lab, self.wanted_s, self.patience_until = lab, seconds, patience_until
        self.seen: list[BatchObservation] = []
        self._warm = 0
        #: Time and CPU at the end of the batch before, once it counts.
        self._before: tuple[float, dict[str, float]] | None = None

    def see(self, batch: Batch) -> None:
        if self.is_whole:
            return
        now = time.monotonic(), self.lab.cpu_s()
        if self._before is not None:
            (began, before), (ended, after) = self._before, now
            used = {m: after[m] - before[m] for m in after}
            self.seen.append(BatchObservation(batch, ended - began, used, time.time()))
        elif all(held.is_limited for held in self.lab.held.values()):
            self._warm += 1
        if self._warm >= _LEFT_OUT:
            self._before = now

    @property
    def is_whole(self) -> bool:
        return sum(one.batch.seconds for one in self.seen) >= self.wanted_s

    def is_done(self) -> bool:
        if self._before is None and time.monotonic() > self.patience_until:
            raise PenstockError("the lab did not warm up; is something else busy here?")
        return self.is_whole

    def observed(self) -> RunObservation:
        return RunObservation(tuple(self.seen))


def rows_of(batch: Batch) -> int:
    """Tuples that its sources gave."""
    return round(sum(s.produced or 0.0 for s in batch.samples))

"""Nasiri's profiling as two short runs: how much is full, then stepped loads until costs are known.

Nasiri et al. raise the rate of each component on each machine until its CPU is full, and read
``e`` and MET off (section 4). Here all components run at once, spread evenly over all machines. The
first run doubles the load from batch to batch until one takes longer than the time between two:
that is full. The second steps through parts of that, not in rising order, so that what changes with
time is not taken for what changes with load; it ends as soon as every cost is known well enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

from penstock.calibration.cost_watch import CostWatch, OpenCost
from penstock.engines.base import Batch
from penstock.errors import PenstockError

#: Parts of the full load, one batch each, in turn.
LEVELS = (0.15, 0.9, 0.5, 0.3, 0.7)
#: Tuples of the first batch; what starts, and is compiled, is done in the batches left out.
_LEAST_ROWS, _DOUBLINGS = 1_000, 15
_WARM_BATCHES = 4
#: Never judged on fewer batches: each load twice.
_FEWEST_BATCHES = 2 * len(LEVELS)


@dataclass
class FullLoad:
    """The first run: batches that double until one takes longer than there is time.

    Where a batch of next to nothing takes longer than that already, as on a busy machine, it is
    twice its time: as much for tuples as for the batch itself.
    """

    every_s: float
    #: Tuples a batch that fill the slowest of the machines for all of the time.
    rows: int | None = None
    _seen: int = 0
    #: What a batch takes with next to nothing in it.
    _idle_s: float = inf

    @property
    def most_rows(self) -> int:
        return int(_LEAST_ROWS * 2**_DOUBLINGS)

    @property
    def levels(self) -> tuple[float, ...]:
        first = (2.0**-_DOUBLINGS,) * _WARM_BATCHES
        return first + tuple(2.0 ** (n - _DOUBLINGS) for n in range(_DOUBLINGS + 1))

    def see(self, batch: Batch) -> None:
        self._seen += 1
        if self._seen <= _WARM_BATCHES:
            self._idle_s = min(self._idle_s, batch.seconds)
            return
        room_s = max(self.every_s, 2 * self._idle_s if self._idle_s > self.every_s else 0.0)
        if self.rows is None and batch.seconds > room_s:
            given = sum(s.produced or 0.0 for s in batch.samples)
            self.rows = max(_LEAST_ROWS, int(given * room_s / batch.seconds))

    @property
    def is_done(self) -> bool:
        return self.rows is not None or self._seen >= len(self.levels)

    def required_rows(self) -> int:
        """The full load, or an error where nothing fills the machines."""
        if self.rows is None:
            raise PenstockError(
                f"a batch of {self.most_rows:,} tuples in {self.every_s:g} s does not fill these "
                "machines: the topology costs too little to be calibrated"
            )
        return self.rows


@dataclass
class SteppedRun:
    """The second run: loads in turn, until every cost is known or the time is up."""

    error: float
    clock: Callable[[], float]
    ends_at: float
    say: Callable[[str], None] = lambda _text: None
    batches: int = 0
    #: Age of the run when what starts was over, for the pipeline to leave out.
    warm_after_s: float = 0.0
    open_costs: list[OpenCost] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._costs = CostWatch(self.error)

    def see(self, batch: Batch) -> None:
        self.batches += 1
        if self.batches <= _WARM_BATCHES:
            ages = [s.uptime_s for s in batch.samples if s.uptime_s is not None]
            self.warm_after_s = max([self.warm_after_s, *ages])
            return
        self._costs.add(batch)
        measured = self.batches - _WARM_BATCHES
        if measured % len(LEVELS) == 0:
            self.judge()
            worst = ", ".join(map(str, self.open_costs[:3])) or "every cost is known"
            self.say(f"after {measured} batches: {worst}")

    def judge(self) -> None:
        """Look at all batches so far, however few they are."""
        self.open_costs = self._costs.open_costs()

    @property
    def is_known(self) -> bool:
        enough = self.batches >= _WARM_BATCHES + _FEWEST_BATCHES
        return enough and not self.open_costs

    def is_done(self) -> bool:
        return self.is_known or self.clock() >= self.ends_at

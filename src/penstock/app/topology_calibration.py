"""What a topology's components cost, measured on purpose in as few minutes as that takes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.app.clusters import silent
from penstock.app.measuring import MeasuringOptions, measure
from penstock.app.runs import RunInput, run
from penstock.app.telemetry import SparkOptions
from penstock.calibration.cost_watch import OpenCost
from penstock.calibration.steps import LEVELS, FullLoad, SteppedRun
from penstock.engines.base import Engine, Say
from penstock.errors import InputError, PenstockError, UsageError

if TYPE_CHECKING:
    from penstock.telemetry.findings import Measurement

#: Tuples of the runs' own telemetry, below the folder of a run.
_TELEMETRY = "telemetry"
_FIRST, _SECOND = "full", "stepped"


@dataclass(frozen=True)
class CalibrationOptions:
    """How well costs are to be known, and for how long that is tried."""

    #: Half of the 95 % interval of every cost, as a part of it.
    error: float = 0.05
    minutes: float = 15.0
    #: Seconds between batches; a load is held for one batch.
    every_s: float = 2.0
    name: str = "calibrated"
    spark: SparkOptions = field(default_factory=SparkOptions)


@dataclass(frozen=True)
class CalibrationResult:
    """What the pipeline found in the runs, and what they did not reach."""

    measured: Measurement
    #: Tuples a batch that were full.
    full_rows: int
    batches: int
    seconds: float
    #: Costs known worse than asked for; empty when all are known.
    open_costs: tuple[OpenCost, ...]


def calibrate(
    topology: str | Path,
    target: Engine,
    options: CalibrationOptions | None = None,
    *,
    code: Path | None = None,
    out: Path | None = None,
    stop: Callable[[], bool] = lambda: False,
    say: Say = silent,
    clock: Callable[[], float] = time.monotonic,
) -> CalibrationResult:
    """Run a topology at stepped loads until every cost is known within the error asked for.

    With ``out``, telemetry of the runs stays in that folder, which must be new.
    """
    chosen = options or CalibrationOptions()
    if not 0 < chosen.error < 1 or chosen.minutes <= 0 or chosen.every_s <= 0:
        raise UsageError("error is a part between 0 and 1; minutes and seconds are over 0")
    if out is not None and out.exists() and any(out.iterdir()):
        raise InputError(f"{out} is not empty; calibrations begin anew")
    began = clock()
    with tempfile.TemporaryDirectory(prefix="penstock-calibrate-") as scratch:
        folder = out or Path(scratch)
        full = FullLoad(chosen.every_s)
        say("how much is full")
        run(
            topology, target, RunInput(full.most_rows, full.levels, chosen.every_s), code=code,
            out=folder / _FIRST, stop=lambda: stop() or full.is_done, on_batch=full.see, say=say,
        )  # fmt: skip
        if full.rows is None and stop():
            raise PenstockError("stopped before it was known how much is full")
        rows = full.required_rows()
        say(f"{rows:,} tuples a batch are full; now parts of that")
        stepped = SteppedRun(chosen.error, clock, began + 60 * chosen.minutes, say)
        run(
            topology, target, RunInput(rows, LEVELS, chosen.every_s), code=code,
            out=folder / _SECOND, stop=lambda: stop() or stepped.is_done(),
            on_batch=stepped.see, say=say,
        )  # fmt: skip
        seconds = clock() - began
        measuring = MeasuringOptions(
            chosen.name, warm_up_s=stepped.warm_after_s, spark=chosen.spark, source_format="jsonl"
        )
        measured = measure(str(folder / _SECOND / _TELEMETRY), measuring, say=say)
    stepped.judge()
    return CalibrationResult(measured, rows, stepped.batches, seconds, tuple(stepped.open_costs))

"""What ten billion samples would take on a hundred cores, worked out from measured costs.

Each step's seconds are measured with few and with many samples, and taken to grow in proportion
from there: samples of more hours, or of more tasks, are more rows of the same kind. What tasks do
is spread over the cores; what the driver does by itself is not.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from dataclasses import dataclass

from penstock_bench.benchmarks.pipeline_speed import ProgramRun, profiled
from penstock_bench.benchmarks.suite import FigureTable
from penstock_bench.benchmarks.volumes import VolumeSize, volume

#: Steps that the driver does alone; the others are tasks.
_BY_DRIVER = ("adding up hours", "workers and streams", "results")
#: From the start of the command to the first step.
START = "start of Spark"
_SLOT_S, _WINDOW_S = 600, 10
_TASK_MEMORY_BYTES = 4 * 2**30


@dataclass(frozen=True)
class StepCost:
    """One step with few samples, with many, and what each million of the difference took."""

    name: str
    few_s: float
    many_s: float
    per_million_s: float

    @property
    def is_spread(self) -> bool:
        return self.name not in (*_BY_DRIVER, START)

    def seconds(self, more_millions: float, core_ratio: float) -> float:
        """With so many millions more than the many, on so many times the cores."""
        if self.name == START:
            return self.many_s
        total = self.many_s + max(self.per_million_s, 0.0) * more_millions
        return total / core_ratio if self.is_spread else total


@dataclass(frozen=True)
class PaperEstimate:
    """All steps, for so many samples on so many cores."""

    few: int
    many: int
    samples: int
    cores: int
    #: Of the machine that measured.
    measured_cores: int
    steps: tuple[StepCost, ...]

    def seconds_of(self, step: StepCost) -> float:
        return step.seconds((self.samples - self.many) / 1e6, self.cores / self.measured_cores)

    @property
    def seconds(self) -> float:
        return sum(map(self.seconds_of, self.steps))

    @property
    def longest(self) -> StepCost:
        return max(self.steps, key=self.seconds_of)


def estimate(
    few: tuple[int, list[ProgramRun]],
    many: tuple[int, list[ProgramRun]],
    samples: int,
    cores: int,
    measured_cores: int,
) -> PaperEstimate:
    """From runs over so many samples each; medians step by step."""
    less, more = _steps_of(few[1]), _steps_of(many[1])
    millions = (many[0] - few[0]) / 1e6
    steps = tuple(
        StepCost(name, less.get(name, 0.0), value, (value - less.get(name, 0.0)) / millions)
        for name, value in more.items()
    )
    return PaperEstimate(few[0], many[0], samples, cores, measured_cores, steps)


def _steps_of(runs: list[ProgramRun]) -> dict[str, float]:
    by_run = [{line["pass"]: float(line["seconds"]) for line in r.answer["timings"]} for r in runs]
    starts = [run.seconds - sum(steps.values()) for run, steps in zip(runs, by_run, strict=True)]
    found = {START: statistics.median(starts)}
    for name in dict.fromkeys(name for steps in by_run for name in steps):
        found[name] = statistics.median(steps.get(name, 0.0) for steps in by_run)
    return found


def _estimated(
    records: int, more: int, components: int, types: int, samples: int, cores: int, repeats: int
) -> PaperEstimate:
    few, many = (VolumeSize(n, components, types) for n in (records, more))
    runs = [(size.records, list(profiled(size, repeats, peers=True))) for size in (few, many)]
    return estimate(runs[0], runs[1], samples, cores, len(os.sched_getaffinity(0)))


# -- figures ---------------------------------------------------------------------------------------


def paper_minutes(
    records: int,
    more: int,
    components: int,
    types: int,
    samples: int,
    cores: int,
    repeats: int = 1,
) -> Iterator[float]:
    """Minutes from start to profile, worked out."""
    found = _estimated(records, more, components, types, samples, cores, repeats)
    yield found.seconds / 60


def paper_table(
    records: int,
    more: int,
    components: int,
    types: int,
    samples: int,
    cores: int,
    repeats: int = 1,
) -> FigureTable:
    """Step by step, and what gives way first."""
    found = _estimated(records, more, components, types, samples, cores, repeats)
    rows = [
        [
            step.name,
            f"{step.few_s:.1f} s",
            f"{step.many_s:.1f} s",
            "tasks" if step.is_spread else "driver",
            f"{found.seconds_of(step):,.0f} s",
        ]
        for step in found.steps
    ]
    rows.append(["start to profile", *_totals(found), "", f"{found.seconds / 60:.0f} min"])
    rows += _limits(found, VolumeSize(records, components, types))
    columns = [
        "step",
        f"{records / 1e6:g} million",
        f"{more / 1e6:g} million",
        "done by",
        f"{samples / 1e9:g} billion on {cores} cores",
    ]
    title = f"{samples / 1e9:g} billion samples on {cores} cores, worked out from measured costs"
    return FigureTable(title, columns, rows)


def _totals(found: PaperEstimate) -> tuple[str, str]:
    return (
        f"{sum(step.few_s for step in found.steps):.1f} s",
        f"{sum(step.many_s for step in found.steps):.1f} s",
    )


def _limits(found: PaperEstimate, size: VolumeSize) -> list[list[str]]:
    """What the machines have to bring, and what gives way first."""
    import pyarrow.parquet as pq

    files = sorted(volume(size).iterdir())
    table = pq.read_table(files[0])
    stored = files[0].stat().st_size / len(table)
    held = table.nbytes / len(table)
    slot_tasks = _TASK_MEMORY_BYTES / held / (_SLOT_S / _WINDOW_S)
    first = found.longest
    by = f"spread over {found.cores} cores" if first.is_spread else "by the driver alone"
    volume_gb, per_core = stored * found.samples / 1e9, stored * found.samples / 1e6 / found.cores
    return [
        ["gives way first", "", "", "", f"{first.name}, {by}"],
        ["Parquet to read", "", "", "", f"{volume_gb:,.0f} GB"],
        ["of it by a core", "", "", "", f"{per_core / max(found.seconds, 1e-9):.1f} MB/s"],
        ["tasks whose slot fits into 4 GB", "", "", "", f"{slot_tasks:,.0f}"],
        ["bytes of a sample in memory", "", "", "", f"{held:.0f}"],
    ]

"""Spark on unlike machines: what a plan gains over equal partitions."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.engines.lab.cpu_keepalive import cpu_keepalive
from penstock.engines.lab.lab import Lab, lab_of
from penstock.engines.lab.machines import LabMachine, parse_machines
from penstock.engines.lab.pace import PaceMeter, pace_measured
from penstock.engines.spark.closed_loop_demo import ClosedLoop, predicted_points
from penstock.engines.spark.code import load_code, shipped_code
from penstock.engines.spark.observed import RunObservation
from penstock.engines.spark.sources import RateSource
from penstock.engines.spark.standalone import start_lab
from penstock.files.examples import load_topology
from penstock.model.plan import Plan
from penstock_bench.benchmarks.long_runs import made_once, say
from penstock_bench.benchmarks.suite import FigureTable

#: A batch fills all machines for so long.
BATCH_S = 8.0


@dataclass(frozen=True)
class SparkComparison:
    """One topology on one lab, three ways."""

    machines: tuple[LabMachine, ...]
    alone: RunObservation
    #: By number of equal partitions, watched for a short while; the best once more for long.
    sweep: dict[int, RunObservation]
    best_parts: int
    best_equal: RunObservation
    planned: RunObservation
    plan: Plan
    #: A load that was not in the profile, and what the profile says each machine uses at it.
    other: RunObservation
    predicted: dict[str, float]
    meter: PaceMeter

    @property
    def speed(self) -> dict[str, float]:
        """Tuples/s of each machine while all of them work; alone, each would find it easier."""
        return self.best_equal.tuples_per_busy_s()


@made_once
def _compared(topology: str, machines: str, seconds: float, parts: str) -> SparkComparison:
    lab_machines = parse_machines(machines)
    with (
        tempfile.TemporaryDirectory() as folder,
        lab_of("bench", lab_machines) as lab,
        cpu_keepalive(),
        pace_measured() as meter,
    ):
        loop = closed_loop_of(lab, topology, Path(folder))
        with loop.alone() as spark:
            cost = loop.cpu_s_per_tuple(spark)
            full = loop.full_batch(cost, BATCH_S)
            sweep = {
                number: loop.observe(
                    f"{number} equal", spark, loop.equal(number), full, seconds / 3
                )
                for number in (int(text) for text in parts.split(","))
            }
            best = max(sweep, key=lambda number: sweep[number].rate_per_s)
        profile, other = loop.costs(cost)
        plan = loop.plan(profile)
        equally = {machine.name: 1 / len(lab_machines) for machine in lab_machines}
        predicted = predicted_points(loop.problem(profile), equally, other.rate_per_s)
        # There and back again: a computer that becomes faster or slower meanwhile favours nobody.
        equal = {"alone": loop.slots, "best equal": best}
        there = _by_equal_parts(loop, equal, full, seconds / 2)
        with loop.under(plan) as (spark, deployment, places):
            planned = loop.observe("plan", spark, deployment, full, seconds, places=places)
        back = _by_equal_parts(loop, dict(reversed(equal.items())), full, seconds / 2)
        alone, best_equal = (there[name] + back[name] for name in equal)
    return SparkComparison(
        lab_machines, alone, sweep, best, best_equal, planned, plan, other, predicted, meter
    )


def _by_equal_parts(
    loop: ClosedLoop, parts: Mapping[str, int], source: RateSource, seconds: float
) -> dict[str, RunObservation]:
    """Spark without a plan, with one number of equal partitions after the other."""
    with loop.alone() as spark:
        return {
            name: loop.observe(name, spark, loop.equal(number), source, seconds)
            for name, number in parts.items()
        }


def closed_loop_of(lab: Lab, topology: str, folder: Path) -> ClosedLoop:
    graph = load_topology(topology)
    path = shipped_code(topology)
    assert path is not None
    return ClosedLoop(lab, start_lab(lab), graph, load_code(path, graph), folder, say)


def beside_each_other(topology: str, machines: str, seconds: float, parts: str) -> FigureTable:
    comparison = _compared(topology, machines, seconds, parts)
    base, pace = comparison.alone.rate_per_s, comparison.alone.pace(comparison.meter)
    rows = [("Spark alone, a partition per core", comparison.alone)]
    rows += [(f"{number} equal partitions", seen) for number, seen in comparison.sweep.items()]
    rows += [
        (f"best number of equal partitions ({comparison.best_parts})", comparison.best_equal),
        ("under the plan", comparison.planned),
    ]
    names = [machine.name for machine in comparison.machines]
    return FigureTable(
        f"{topology} on machines of {machines} points",
        [
            "", "tuples/s", "over alone", "CPU for the same work", "batch (s)",
            *(f"{name} (points)" for name in names),
        ],
        [
            [
                label, f"{seen.rate_per_s:,.0f}", f"{seen.rate_per_s / base:.2f}",
                f"{seen.pace(comparison.meter) / pace:.2f}", f"{seen.batch_s:.2f}",
                *(f"{seen.machine_points.get(name, 0):.1f}" for name in names),
            ]
            for label, seen in rows
        ],
    )  # fmt: skip


def machine_by_machine(topology: str, machines: str, seconds: float, parts: str) -> FigureTable:
    comparison = _compared(topology, machines, seconds, parts)
    used, slowest = comparison.other.machine_points, comparison.machines[-1]
    return FigureTable(
        f"{topology}, the machines",
        ["", "points", "speed over the slowest", "of its points", "CPU predicted", "CPU used"],
        [
            [
                m.name, f"{m.points:g}",
                f"{comparison.speed[m.name] / comparison.speed[slowest.name]:.2f}",
                f"{m.points / slowest.points:.2f}", f"{comparison.predicted[m.name]:.2f}",
                f"{used[m.name]:.2f}",
            ]
            for m in comparison.machines
        ],
    )  # fmt: skip


def gain_over_alone(
    topology: str, machines: str, seconds: float, parts: str, repeats: int = 1
) -> Iterator[float]:
    for _ in range(repeats):
        comparison = _compared(topology, machines, seconds, parts)
        yield comparison.planned.rate_per_s / comparison.alone.rate_per_s


def gain_over_best_equal(
    topology: str, machines: str, seconds: float, parts: str, repeats: int = 1
) -> Iterator[float]:
    for _ in range(repeats):
        comparison = _compared(topology, machines, seconds, parts)
        yield comparison.planned.rate_per_s / comparison.best_equal.rate_per_s


def speed_error(
    topology: str, machines: str, seconds: float, parts: str, repeats: int = 1
) -> Iterator[float]:
    """By how much the ratio of two machines' speeds misses that of their points, at most, in %."""
    for _ in range(repeats):
        comparison = _compared(topology, machines, seconds, parts)
        per_point = [comparison.speed[m.name] / m.points for m in comparison.machines]
        yield 100 * (max(per_point) / min(per_point) - 1)


def cpu_error(
    topology: str, machines: str, seconds: float, parts: str, repeats: int = 1
) -> Iterator[float]:
    """Error of the CPU predicted for a machine at a load not in the profile, at most, in %."""
    for _ in range(repeats):
        comparison = _compared(topology, machines, seconds, parts)
        used = comparison.other.machine_points
        yield 100 * max(abs(comparison.predicted[name] / used[name] - 1) for name in used)

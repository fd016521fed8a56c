"""Storm on unlike machines: what each scheduler's plan carries, beside what was predicted."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from penstock.engines.lab.machines import parse_machines
from penstock_bench.benchmarks.storm_runs import DEFAULT, OTHERS, PENSTOCK, WEIGHTED, compared
from penstock_bench.benchmarks.suite import FigureTable


def beside_each_other(topology: str, machines: str, seconds: float, windows: int) -> FigureTable:
    comparison = compared(topology, machines, seconds, windows)
    base = comparison.tried[DEFAULT].rate_per_s
    names = [machine.name for machine in parse_machines(machines)]
    rows = []
    for name, tried in comparison.tried.items():
        rates = [w.rate_per_s for w in tried.windows]
        points = (f"{tried.points[m]:.1f} ({tried.predicted_points.get(m, 0):.1f})" for m in names)
        rows.append(
            [
                name, f"{tried.rate_per_s:.1f}", f"{min(rates):.1f} … {max(rates):.1f}",
                f"{tried.predicted_per_s:.1f}", f"{tried.rate_per_s / base:.2f}",
                f"{tried.pace:.2f}", *points,
            ]
        )  # fmt: skip
    return FigureTable(
        f"{topology} on machines of {machines} points (no plan can exceed "
        f"{comparison.bound_per_s:.1f} tuples/s)",
        [
            "", "tuples/s", "spread", "predicted", "over default", "CPU for the same work",
            *(f"{m} (pred.)" for m in names),
        ],
        rows,
    )  # fmt: skip


def gain_over_default(
    topology: str, machines: str, seconds: float, windows: int, repeats: int = 1
) -> Iterator[float]:
    """The worse of Penstock's two over Storm's own."""
    for _ in range(repeats):
        tried = compared(topology, machines, seconds, windows).tried
        worse = min(tried[name].rate_per_s for name in (PENSTOCK, WEIGHTED))
        yield worse / tried[DEFAULT].rate_per_s


def over_every_other(
    topology: str, machines: str, seconds: float, windows: int, repeats: int = 1
) -> Iterator[float]:
    """Penstock, without its own grouping, over the best of them."""
    for _ in range(repeats):
        tried = compared(topology, machines, seconds, windows).tried
        others = max(tried[name].rate_per_s for name in (DEFAULT, *OTHERS))
        yield tried[PENSTOCK].rate_per_s / others


def throughput_error(
    topology: str, machines: str, seconds: float, windows: int, repeats: int = 1
) -> Iterator[float]:
    """Of Penstock's two plans, the larger difference between predicted and measured, in %."""
    for _ in range(repeats):
        tried = compared(topology, machines, seconds, windows).tried
        yield 100 * max(
            abs(tried[name].predicted_per_s / tried[name].rate_per_s - 1)
            for name in (PENSTOCK, WEIGHTED)
        )


def cpu_error(
    topology: str, machines: str, seconds: float, windows: int, repeats: int = 1
) -> Iterator[float]:
    """Median over the machines of Penstock's two plans of the error of the CPU, in %."""
    for _ in range(repeats):
        tried = compared(topology, machines, seconds, windows).tried
        yield 100 * statistics.median(
            error for name in (PENSTOCK, WEIGHTED) for error in tried[name].cpu_errors
        )

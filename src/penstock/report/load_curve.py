"""A load curve as text and as JSON."""

from __future__ import annotations

from math import isfinite, nan
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.files.answer_formats import answer_head
from penstock.planning.numbers import counted, percent, rate
from penstock.report.simulation import figures_table, interval_text, percentile_text
from penstock.report.simulation_remarks import (
    falling_behind,
    percentile_title,
    too_short_for_warmup,
    untold_percentile,
    what_it_needs,
)
from penstock.simulate.intervals import BATCHES
from penstock.simulate.latency import PERCENTILES
from penstock.simulate.load_curve import LoadCurve, LoadPoint
from penstock.simulate.results import SimResult, number_or_none

_FIGURES = ("latency_ms", *(f"latency_{name}_ms" for name in PERCENTILES))
#: A p99 of so many times that of the lowest load is where the curve is said to bend.
_BEND = 2.0


def load_curve_view(curve: LoadCurve) -> RenderableType:
    """One line for each load and topology."""
    problem = curve.problem
    title = f"{problem.title} on {problem.cluster.name}: latency against load"
    grid = Table.grid(padding=(0, 2))
    grid.add_row("sustainable", f"{rate(curve.sustainable_per_s)} tuples/s, a load of 100 %")
    events = sum(point.result.events for point in curve.points)
    runs = counted(len(curve.points), "run")
    grid.add_row("simulated", f"{runs}, {events:,} events, seed {curve.seed}")
    grid.add_row("±", f"95 % interval over {BATCHES} parts of a run")
    remarks = [Text(remark) for remark in curve_remarks(curve)]
    return Group(
        Text(title, "bold"), grid, Text(""), _table(curve), *([Text("")] if remarks else []),
        *remarks,
    )  # fmt: skip


def _table(curve: LoadCurve) -> Table:
    several = len(curve.problem.topologies) > 1
    table = figures_table(
        "load", *(["topology"] if several else []), "offered/s", "completed/s", "latency ms",
        *map(percentile_title, PERCENTILES), "CPU of busiest", "simulated s",
    )  # fmt: skip
    for point in curve.points:
        measured = point.result.measured
        for one in measured.topologies:
            table.add_row(
                percent(point.load, 0),
                *([one.topology] if several else []),
                rate(one.offered_per_s),
                rate(one.completed_per_s),
                *_latencies(point.result, f"topologies.{one.topology}"),
                percent(max(m.utilisation for m in measured.machines)),
                f"{measured.until_s:g}",
            )
    return table


def _latencies(result: SimResult, path: str) -> list[str]:
    """Mean and percentiles; those that curves are drawn of with their intervals."""
    with_interval = ("latency_ms", "latency_p99_ms")
    return [
        (interval_text if name in with_interval else percentile_text)(result, f"{path}.{name}")
        for name in _FIGURES
    ]


def curve_remarks(curve: LoadCurve) -> list[str]:
    """Where the curve bends, and what the reader must know about single loads."""
    remarks = []
    if bend := _bend(curve):
        remarks.append(bend)
    for point in curve.points:
        told = falling_behind(point.result)
        if not told and (unsettled := too_short_for_warmup(point.result)):
            told = [unsettled]
        remarks += [f"at {percent(point.load, 0)}: {text}" for text in told]
    if left_out := [name for p in curve.points if (name := untold_percentile(p.result))]:
        lowest = min(left_out, key=list(PERCENTILES).index)
        remarks.append(
            f"{percentile_title(lowest)} is told of runs with {what_it_needs(lowest)}; --duration "
            "sets their length"
        )
    if curve.stopped:
        remarks.append("stopped early: higher loads were not simulated")
    return remarks


def _bend(curve: LoadCurve) -> str | None:
    """Up to which load latency stays near that of the lowest one."""
    known = [(point.load, slowest_p99_ms(point)) for point in curve.points]
    if len(known) < 2 or not all(isfinite(p99) for _, p99 in known):
        return None
    (lowest, first), *_ = known
    near = [load for load, p99 in known if p99 <= _BEND * first]
    up_to = max(load for load in near if all(other in near for other, _ in known if other <= load))
    highest, last = known[-1]
    if up_to == highest:
        times = f"{last / first:.3g} times"
        return f"p99 at {percent(highest, 0)} is {times} that at {percent(lowest, 0)}"
    return (
        f"p99 is at most {_BEND:g} times that at {percent(lowest, 0)} up to a load of "
        f"{percent(up_to, 0)}, and at {percent(highest, 0)} {last / first:.3g} times"
    )


def slowest_p99_ms(point: LoadPoint) -> float:
    """p99 of the slowest topology at a load; NaN where it is not known of all of them."""
    found = [one.latency_p99_ms for one in point.result.measured.topologies]
    return max(found) if all(isfinite(value) for value in found) else nan


def load_curve_to_dict(curve: LoadCurve) -> dict[str, object]:
    """The curve as ``--json`` prints it."""
    return {
        **answer_head("load-curve"),
        "topologies": [topology.name for topology in curve.problem.topologies],
        "cluster": curve.problem.cluster.name,
        "seed": curve.seed,
        "sustainable_per_s": curve.sustainable_per_s,
        "stopped": curve.stopped,
        "remarks": curve_remarks(curve),
        "points": [_point(point) for point in curve.points],
    }


def _point(point: LoadPoint) -> dict[str, Any]:
    result, measured = point.result, point.result.measured
    return {
        "load": point.load,
        "seconds": measured.until_s,
        "warmup_s": result.warmup_s,
        "events": result.events,
        "busiest_utilisation": max(m.utilisation for m in measured.machines),
        "topologies": [
            {
                "topology": one.topology,
                "offered_per_s": one.offered_per_s,
                "completed_per_s": one.completed_per_s,
                **{
                    name: _interval(result, f"topologies.{one.topology}.{name}")
                    for name in _FIGURES
                },
                "at_least": list(one.at_least),
            }
            for one in measured.topologies
        ],
    }


def _interval(result: SimResult, path: str) -> dict[str, float | None]:
    found = result.interval(path)
    return {"mean": number_or_none(found.mean), "half_width": number_or_none(found.half_width)}

"""A load curve: latency at several parts of the sustainable rate."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite, nan
from typing import Any

from penstock.files.answer_formats import answer_head
from penstock.planning.numbers import counted, percent
from penstock.report.page import (
    Cell,
    Column,
    Document,
    Number,
    Section,
    Table,
    field_list,
    paragraph,
    table_of,
)
from penstock.report.pages.simulation import interval_cell, mean_cell
from penstock.report.pages.simulation_remarks import (
    falling_behind,
    percentile_title,
    too_short_for_warmup,
    unknown_percentile,
    what_it_needs,
)
from penstock.simulate.intervals import BATCHES
from penstock.simulate.latency import PERCENTILES
from penstock.simulate.load_curve import LoadCurve, LoadPoint
from penstock.simulate.measured import TopologyFigures
from penstock.simulate.results import SimResult, number_or_none

_FIGURES = ("latency_ms", *(f"latency_{name}_ms" for name in PERCENTILES))
#: A p99 of so many times that of the lowest load is where the curve is said to bend.
_BEND = 2.0


def load_curve_page(curve: LoadCurve) -> Document:
    """One line for each load and topology."""
    problem = curve.problem
    events = sum(point.result.events for point in curve.points)
    runs = counted(len(curve.points), "run")
    sustainable = Number(curve.sustainable_per_s, "tuples/s")
    about = field_list(
        {
            "sustainable": paragraph(sustainable, ", a load of 100 %"),
            "simulated": f"{runs}, {events:,} events, seed {curve.seed}",
            "±": f"95 % interval over {BATCHES} parts of a run",
        }
    )
    sections = [Section("", (about,)), Section("", (_table(curve),))]
    if remarks := curve_remarks(curve):
        sections.append(Section("", tuple(map(paragraph, remarks))))
    title = f"{problem.title} on {problem.cluster.name}: latency against load"
    return Document(title, tuple(sections))


def _table(curve: LoadCurve) -> Table:
    several = len(curve.problem.topologies) > 1
    rows = [(point, one) for point in curve.points for one in point.result.measured.topologies]

    def busiest(row: tuple[LoadPoint, TopologyFigures]) -> float:
        return 100 * max(m.utilisation for m in row[0].result.measured.machines)

    def latency(name: str) -> Callable[[tuple[LoadPoint, TopologyFigures]], Cell]:
        # Those that curves are drawn of have their intervals.
        read = interval_cell if name in ("latency_ms", "latency_p99_ms") else mean_cell
        return lambda row: read(row[0].result, f"topologies.{row[1].topology}.{name}")

    return table_of(
        rows,
        (Column("load", "%", digits=0), lambda row: 100 * row[0].load),
        *([(Column("topology"), lambda row: row[1].topology)] if several else []),
        (Column("offered", "tuples/s"), lambda row: row[1].offered_per_s),
        (Column("completed", "tuples/s"), lambda row: row[1].completed_per_s),
        (Column("latency ms"), latency("latency_ms")),
        *((Column(percentile_title(name)), latency(f"latency_{name}_ms")) for name in PERCENTILES),
        (Column("CPU of busiest", "%"), busiest),
        (Column("simulated s"), lambda row: float(row[0].result.measured.until_s)),
    )


def curve_remarks(curve: LoadCurve) -> list[str]:
    """Where the curve bends, and what the reader must know about single loads."""
    remarks = []
    if bend := _bend(curve):
        remarks.append(bend)
    for point in curve.points:
        cautions = falling_behind(point.result)
        if not cautions and (unsettled := too_short_for_warmup(point.result)):
            cautions = [unsettled]
        remarks += [f"at {percent(point.load, 0)}: {text}" for text in cautions]
    if left_out := [name for p in curve.points if (name := unknown_percentile(p.result))]:
        lowest = min(left_out, key=list(PERCENTILES).index)
        remarks.append(
            f"{percentile_title(lowest)} is known only of runs with {what_it_needs(lowest)}; "
            "--duration sets their length"
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
    p99s = [one.latency_p99_ms for one in point.result.measured.topologies]
    return max(p99s) if all(isfinite(value) for value in p99s) else nan


def load_curve_dict(curve: LoadCurve) -> dict[str, object]:
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
    interval = result.interval(path)
    return {
        "mean": number_or_none(interval.mean),
        "half_width": number_or_none(interval.half_width),
    }

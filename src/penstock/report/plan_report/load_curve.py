"""Latency against load, as simulated: how near its rate a plan can run."""

from __future__ import annotations

from penstock.planning.numbers import plain
from penstock.report.charts.load_curve import LoadLine, load_curve_svg
from penstock.report.page import Cell, Column, Figure, Number, Table
from penstock.report.pages.load_curve import curve_remarks
from penstock.simulate.intervals import Interval
from penstock.simulate.load_curve import LoadCurve

#: With so many topologies there is a line for each median, too.
_MOST_WITH_MEDIANS = 2


def load_curve_figure(curve: LoadCurve) -> Figure:
    """p99 against load, with the median where there is room for it."""
    loads = [point.load for point in curve.points]
    names = [topology.name for topology in curve.problem.topologies]
    parts = ("p99", "p50") if len(names) <= _MOST_WITH_MEDIANS else ("p99",)
    lines = [
        _line(curve, name, part, f"{part} of {name}" if len(names) > 1 else part)
        for part in parts
        for name in names
    ]
    alt = "; ".join(
        f"{line.name} from {plain(line.values_ms[0], 3)} ms at {100 * loads[0]:g} % to "
        f"{plain(line.values_ms[-1], 3)} ms at {100 * loads[-1]:g} % of the sustainable rate"
        for line in lines
    )
    caption = "p99 against load; bars are 95 % intervals."
    if remarks := curve_remarks(curve)[:1]:
        caption += f" {remarks[0][0].upper()}{remarks[0][1:]}."
    return Figure(
        caption, alt, lambda width: load_curve_svg(loads, lines, width), _numbers(curve, names)
    )


def _line(curve: LoadCurve, topology: str, part: str, name: str) -> LoadLine:
    intervals = [_interval(point.result.intervals, topology, part) for point in curve.points]
    half_widths = [one.half_width or 0.0 for one in intervals]
    return LoadLine(name, [one.mean for one in intervals], half_widths)


def _interval(intervals: dict[str, Interval], topology: str, part: str) -> Interval:
    return intervals[f"topologies.{topology}.latency_{part}_ms"]


def _numbers(curve: LoadCurve, names: list[str]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            100 * point.load,
            name,
            point.result.interval(f"topologies.{name}.offered_per_s").mean,
            point.result.interval(f"topologies.{name}.completed_per_s").mean,
            *(
                _number(_interval(point.result.intervals, name, part))
                for part in ("p50", "p90", "p99", "p999")
            ),
        )
        for point in curve.points
        for name in names
    ]
    columns = (
        Column("load", "%"),
        Column("topology"),
        Column("offered", "tuples/s"),
        Column("completed", "tuples/s"),
        Column("latency p50", "ms"),
        Column("latency p90", "ms"),
        Column("latency p99", "ms"),
        Column("latency p99.9", "ms"),
    )
    return Table("The same in numbers", columns, tuple(rows), folded=True).without_unknown()


def _number(interval: Interval) -> Number:
    mean, half = interval.mean, interval.half_width
    if mean != mean:
        return Number(None, "ms")
    if half is None or half != half:
        return Number(mean, "ms")
    return Number(mean, "ms", low=max(0.0, mean - half), high=mean + half)

"""Over time, as simulated: what arrives and comes out, how long it takes, who is busy."""

from __future__ import annotations

import numpy as np

from penstock.files.simulation_file import Simulation
from penstock.report.charts.over_time import Panel, Strips, over_time_svg
from penstock.report.numbers import rate
from penstock.report.page import (
    Block,
    Cell,
    Column,
    Figure,
    KeyFigure,
    KeyFigures,
    Note,
    Number,
    Section,
    Source,
    Table,
    paragraph,
)
from penstock.report.story.findings import Findings

_MOST_STRIPS = 12
_MOST_QUEUES = 3


def over_time(found: Findings) -> Section | None:
    one = found.simulation
    if one is None:
        return None
    source = found.simulation_source
    about = (
        f"Scenario {one.scenario}, {one.until_s[-1]:g} s simulated, "
        f"{'the fluid model' if one.model == 'fluid' else f'{one.events:,} events'}, seed "
        f"{one.seed}, runs: {one.runs}; counted from {one.warmup_s:g} s on. What is drawn is the "
        "first run."
    )
    blocks: list[Block] = [
        _key_figures(one, source),
        paragraph(about),
        over_time_figure(one, source),
    ]
    if one.stopped:
        blocks.append(Note("The simulation was stopped early; these are its results so far."))
    return Section("Over time", tuple(blocks))


def _key_figures(one: Simulation, source: Source) -> KeyFigures:
    slowest = max(
        one.topologies,
        key=lambda t: float(np.nan_to_num(one.figures[f"topologies.{t}.latency_p99_ms"][0])),
    )
    figures = [
        KeyFigure("Offered", Number(float(np.mean(one.offered_per_s)), "tuples/s", source), "mean"),
        KeyFigure("Completed", _number(one, "completed_per_s", "tuples/s", source)),
    ]
    for part in ("p50", "p99", "p999"):
        path = f"topologies.{slowest}.latency_{part}_ms"
        name = {"p50": "Half within", "p99": "99 % within", "p999": "99.9 % within"}[part]
        if path in one.figures:
            figures.append(KeyFigure(name, _number(one, path, "ms", source), f"of {slowest}"))
    return KeyFigures(tuple(figures))


def _number(one: Simulation, path: str, unit: str, source: Source) -> Number:
    mean = one.figures[path][0]
    return Number(None if np.isnan(mean) else mean, unit, source)


def over_time_figure(one: Simulation, source: Source = Source.RUN) -> Figure:
    """Rates, latency, queues and CPU; what changes is marked."""
    panels = [
        Panel("tuples/s", (("offered", one.offered_per_s), ("completed", one.completed_per_s))),
        *_queues(one),
        Panel("CPU in use, %", _cpu_lines(one), most=100.0),
    ]
    if not np.isnan(one.p50_ms).all():
        panels.insert(
            1,
            Panel(
                "latency of the slowest topology, ms", (("p50", one.p50_ms), ("p99", one.p99_ms))
            ),
        )
    mean = one.utilisation.mean(axis=0)
    busiest = np.argsort(-mean, kind="stable")[:_MOST_STRIPS]
    strips = Strips(
        "CPU of the busiest machines",
        [one.machines[m] for m in busiest],
        one.utilisation[:, busiest],
    )
    caption = (
        "Rates, latency and CPU over the simulated time; the strips go from dark blue (idle) to "
        "yellow (full)."
    )
    alt = (
        f"Completed {rate(min(one.completed_per_s))} to {rate(max(one.completed_per_s))} tuples/s; "
        f"busiest machine {one.machines[int(busiest[0])]}, mean {100 * mean[busiest[0]]:.0f} %."
    )
    return Figure(
        caption,
        alt,
        lambda width: over_time_svg(one.until_s, panels, strips, one.changes, width),
        _data(one, source),
    )


def _queues(one: Simulation) -> list[Panel]:
    """Tuples at the components that hold most of them."""
    if not one.components:
        return []
    fullest = np.sort(np.argsort(-one.present.mean(axis=0), kind="stable")[:_MOST_QUEUES])
    lines = tuple((one.components[c], one.present[:, c].tolist()) for c in fullest)
    return [Panel("tuples at the components that hold most", lines)]


def _cpu_lines(one: Simulation) -> tuple[tuple[str, list[float]], ...]:
    used = one.utilisation[:, one.utilisation.max(axis=0) > 0]
    if not used.shape[1]:
        return (("no machine", [0.0] * len(one.until_s)),)
    return (
        ("busiest machine", (100 * used.max(axis=1)).tolist()),
        ("mean in use", (100 * used.mean(axis=1)).tolist()),
    )


def _data(one: Simulation, source: Source) -> Table:
    lines = {f"CPU, {name}": ("%", values) for name, values in _cpu_lines(one)}
    for panel in _queues(one):
        lines |= {f"at {name}": ("tuples", list(values)) for name, values in panel.lines}
    rows: list[tuple[Cell, ...]] = [
        (
            one.until_s[k],
            one.offered_per_s[k],
            one.completed_per_s[k],
            None if np.isnan(one.p50_ms[k]) else one.p50_ms[k],
            None if np.isnan(one.p99_ms[k]) else one.p99_ms[k],
            *(values[k] for _, values in lines.values()),
        )
        for k in range(len(one.until_s))
    ]
    columns = (
        Column("until", "s", source),
        Column("offered", "tuples/s", source),
        Column("completed", "tuples/s", source),
        Column("latency p50", "ms", source),
        Column("latency p99", "ms", source),
        *(Column(name, unit, source) for name, (unit, _) in lines.items()),
    )
    return Table("The same in numbers", columns, tuple(rows), folded=True)

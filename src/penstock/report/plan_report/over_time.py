"""The simulation: figures, latency against load, and over time what arrives and comes out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.files.simulation_file import Simulation
from penstock.planning.numbers import rate
from penstock.report.charts.lines import FAR_APART
from penstock.report.charts.over_time import Panel, Strips, over_time_svg
from penstock.report.page import (
    Block,
    Cell,
    Column,
    Figure,
    Items,
    KeyFigure,
    KeyFigures,
    Number,
    Section,
    Source,
    Table,
    paragraph,
)
from penstock.report.plan_report.facts import PlanReport
from penstock.report.plan_report.load_curve import load_curve_figure

_MOST_STRIPS = 12
_MOST_QUEUES = 3
#: A steady run that completes less of what is offered falls behind, and shows it over time.
_KEEPS_UP = 0.98


def over_time(report: PlanReport) -> Section | None:
    """The simulation: its figures, latency against load, and over time what changes."""
    blocks: list[Block] = []
    if report.simulation is not None:
        blocks += _scenario(report.simulation, report.simulation_source)
    if report.load_curve is not None and report.load_curve.points:
        blocks.append(load_curve_figure(report.load_curve))
    return Section("Simulation", tuple(blocks)) if blocks else None


def _scenario(one: Simulation, source: Source) -> list[Block]:
    about = (
        f"Scenario {one.scenario}, {one.until_s[-1]:g} s simulated, "
        f"{'the fluid model' if one.model == 'fluid' else f'{one.events:,} events'}, seed "
        f"{one.seed}, runs: {one.runs}; counted from {one.warmup_s:g} s on."
    )
    blocks: list[Block | None] = [_key_figures(one, source)]
    if _is_eventful(one):
        blocks += [paragraph(f"{about} What is drawn is the first run."), _notes(one)]
        blocks.append(over_time_figure(one, source))
    else:
        about += " Nothing changes during it, so there is nothing to show over time."
        blocks += [paragraph(about), _notes(one)]
    return [block for block in blocks if block is not None]


def _notes(one: Simulation) -> Items | None:
    """What is unfinished, and what the run cannot tell."""
    if not one.remarks:
        return None
    return Items(tuple(paragraph(f"{text[0].upper()}{text[1:]}.") for text in one.remarks))


def _is_eventful(one: Simulation) -> bool:
    """Whether there is more to see over time than the noise of a steady run."""
    if len(one.until_s) < 2:
        return False
    return not one.steady or sum(one.completed_per_s) < _KEEPS_UP * sum(one.offered_per_s)


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
        if path in one.figures and not np.isnan(one.figures[path][0]):
            about = f"of {slowest}; at least, as tuples are unfinished"
            about = about if path in one.at_least else f"of {slowest}"
            figures.append(KeyFigure(name, _number(one, path, "ms", source), about))
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
    if latencies := latency_lines(one):
        known = [v for _, values in latencies for v in values if v > 0]
        logarithmic = bool(known) and max(known) > FAR_APART * min(known)
        title = "latency of the slowest topology, ms"
        panels.insert(1, Panel(title, latencies, logarithmic=logarithmic))
    if any(one.awaiting_timeout):
        lines = (("all", one.in_flight), ("waiting for their time-out", one.awaiting_timeout))
        panels.insert(2, Panel("tuples in flight", lines))
    mean = one.utilisation.mean(axis=0)
    busiest = np.argsort(-mean, kind="stable")
    shown = sorted(busiest, key=lambda m: not _is_changed(one, one.machines[m]))[:_MOST_STRIPS]
    strips = Strips(
        f"CPU of {'changed and ' if one.changes else ''}the busiest machines",
        [one.machines[m] for m in shown],
        one.utilisation[:, shown],
    )
    caption = (
        "Rates, latency and CPU over the simulated time; the strips go from dark blue (idle) to "
        "yellow (full). A percentile is left out where a sample has too few tuples for it; "
        "tuples unfinished at a sample's end count as old as they are then."
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


def _is_changed(one: Simulation, machine: str) -> bool:
    """Whether a machine slows down, dies or comes back."""
    return any(what.startswith(f"{machine} ") for _, what in one.changes)


def latency_lines(one: Simulation) -> tuple[tuple[str, Sequence[float]], ...]:
    """The median, and the highest percentile that most samples have tuples enough for."""
    known = {
        name: values
        for name, values in (("p50", one.p50_ms), ("p90", one.p90_ms), ("p99", one.p99_ms))
        if np.isfinite(values).mean() > 0.5
    }
    if len(known) == 3:
        del known["p90"]
    return tuple(known.items())


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
    latencies = latency_lines(one)
    rows: list[tuple[Cell, ...]] = [
        (
            one.until_s[k],
            one.offered_per_s[k],
            one.completed_per_s[k],
            *(None if np.isnan(values[k]) else values[k] for _, values in latencies),
            *(values[k] for _, values in lines.values()),
        )
        for k in range(len(one.until_s))
    ]
    columns = (
        Column("until", "s", source),
        Column("offered", "tuples/s", source),
        Column("completed", "tuples/s", source),
        *(Column(f"latency {name}", "ms", source) for name, _ in latencies),
        *(Column(name, unit, source) for name, (unit, _) in lines.items()),
    )
    return Table("The same in numbers", columns, tuple(rows), folded=True)

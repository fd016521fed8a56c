"""A simulation as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.files.document import document_of
from penstock.files.simulation_file import Simulation, simulation_from, simulation_to_dict
from penstock.planning.numbers import UNKNOWN, percent, plain, rate
from penstock.report.simulation_remarks import percentile_title, simulation_remarks
from penstock.report.text import MOST_MACHINES_LISTED
from penstock.simulate.intervals import BATCHES, Interval
from penstock.simulate.latency import PERCENTILES
from penstock.simulate.results import FLUID, SimResult


def simulation_view(result: SimResult) -> RenderableType:
    """What arrived, what came out, how long it took, who was busy."""
    problem = result.problem
    title = f"{problem.title} on {problem.cluster.name}, scenario {result.scenario.name}"
    tables = [_topologies(result), _components(result), _machines(result)]
    if sum(hop.tuples_per_s for hop in result.measured.network):
        tables.append(_network(result))
    parts: list[RenderableType] = [Text(title, "bold"), _summary(result)]
    for table in tables:
        parts += [Text(""), table]
    remarks = simulation_remarks(result)
    return Group(*parts, *([Text("")] if remarks else []), *(Text(one) for one in remarks))


def _summary(result: SimResult) -> Table:
    measured, scenario = result.measured, result.scenario
    grid = Table.grid(padding=(0, 2))
    runs = f"{len(result.runs)} runs of " if len(result.runs) > 1 else ""
    how = "fluid model" if result.model == FLUID else f"{result.events:,} events"
    grid.add_row("simulated", f"{runs}{measured.until_s:g} s, {how}, seed {result.seed}")
    rule = "as asked" if scenario.warmup_s is not None else "by MSER-5"
    if scenario.warmup_s is None and not result.warmup_s:
        rule = "nothing to cut off"
    grid.add_row("counted", f"from {result.warmup_s:g} s on ({rule})")
    over = "runs" if len(result.runs) > 1 else f"{BATCHES} parts of the run"
    grid.add_row("±", f"95 % interval over {over}")
    grid.add_row(
        "throughput", interval_text(result, "throughput_per_s") + " tuples/s, all components"
    )
    if measured.watts is not None:
        hours = (measured.until_s - measured.from_s) / 3600
        energy = f"{measured.watts * hours:.4g} Wh"
        grid.add_row("power", f"{interval_text(result, 'watts')} W, {energy} in the time counted")
    balance = result.balance
    grid.add_row(
        "tuples offered",
        f"{balance.offered:,} = {balance.completed:,} completed + {balance.lost:,} lost + "
        f"{balance.given_up:,} given up + {balance.in_flight:,} in flight + "
        f"{balance.at_source:,} at the source",
    )
    if balance.awaiting_timeout:
        waiting = f"{balance.awaiting_timeout:,} of those in flight wait for their time-out"
        grid.add_row("unfinished", f"{balance.in_flight + balance.at_source:,}; {waiting}")
    return grid


def _topologies(result: SimResult) -> Table:
    table = figures_table(
        "topology", "offered/s", "completed/s", "latency ms", *map(percentile_title, PERCENTILES),
        "timed out/s", "lost/s",
    )  # fmt: skip
    for one in result.measured.topologies:
        path = f"topologies.{one.topology}"
        table.add_row(
            one.topology,
            rate(one.offered_per_s),
            interval_text(result, f"{path}.completed_per_s"),
            interval_text(result, f"{path}.latency_ms"),
            *(percentile_text(result, f"{path}.latency_{name}_ms") for name in PERCENTILES),
            rate(result.interval(f"{path}.timed_out_per_s").mean),
            rate(result.interval(f"{path}.lost_per_s").mean),
        )
    return table


def _components(result: SimResult) -> Table:
    table = figures_table("component", "tuples/s", "wait ms", "stay ms", "p99", "present", "lost/s")
    for one in result.measured.components:
        path = f"components.{one.component}"
        table.add_row(
            one.component,
            rate(one.processed_per_s),
            interval_text(result, f"{path}.wait_ms"),
            interval_text(result, f"{path}.stay_ms"),
            _ms(result.interval(f"{path}.stay_p99_ms").mean),
            interval_text(result, f"{path}.present"),
            rate(one.lost_per_s),
        )
    return table


def _machines(result: SimResult) -> Table:
    """Machines in use, or the busiest of them."""
    over_time = result.utilisation_over_time[result.first_look :]
    rows = [
        (one.machine, one.utilisation, float(over_time[:, m].max()))
        for m, one in enumerate(result.measured.machines)
        if one.utilisation > 0
    ]
    cut = len(rows) > MOST_MACHINES_LISTED
    if cut:
        rows = sorted(rows, key=lambda row: -row[1])[:MOST_MACHINES_LISTED]
    table = figures_table("busiest machines" if cut else "machine", "CPU", "most of any sample")
    for name, mean, most in rows:
        table.add_row(name, percent(mean), percent(most))
    return table


def _network(result: SimResult) -> Table:
    table = figures_table("network", "tuples/s", "Mb/s")
    for one in result.measured.network:
        if one.tuples_per_s:
            table.add_row(one.hop, rate(one.tuples_per_s), plain(8e-6 * one.bytes_per_s))
    return table


def recorded(result: SimResult) -> Simulation:
    """The result as it is when it has been written to a file and read again."""
    written = simulation_to_dict(result, simulation_remarks(result))
    return simulation_from(document_of(written, "simulation"))


def interval_text(result: SimResult, path: str) -> str:
    found: Interval = result.interval(path)
    if not np.isfinite(found.mean):
        return UNKNOWN
    mean = rate(found.mean) if found.mean >= 1000 else plain(found.mean)
    if path in result.at_least:
        return f"≥ {mean}"
    if found.half_width is None or not np.isfinite(found.half_width):
        return mean
    width = found.half_width
    return f"{mean} ± {f'{width:,.0f}' if width >= 10 else plain(width, 2)}"


def percentile_text(result: SimResult, path: str) -> str:
    known = _ms(result.interval(path).mean)
    return f"≥ {known}" if path in result.at_least else known


def _ms(value: float) -> str:
    if not np.isfinite(value):
        return UNKNOWN
    return f"{value:,.0f}" if value >= 100 else plain(value, 3)


def figures_table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column(columns[0])
    for column in columns[1:]:
        table.add_column(column, justify="right")
    return table


def comparison_rows(rows: Sequence[tuple[str, SimResult | None]]) -> Table:
    """Simulated figures of several schedulers' plans."""
    table = figures_table(
        "scheduler", "offered/s", "completed/s", "latency ms", "p99", "CPU of busiest"
    )
    for scheduler, result in rows:
        if result is None:
            table.add_row(scheduler, "no plan")
            continue
        measured = result.measured
        worst = max(measured.topologies, key=lambda t: np.nan_to_num(t.latency_p99_ms))
        table.add_row(
            scheduler,
            rate(sum(t.offered_per_s for t in measured.topologies)),
            interval_text(result, "completed_per_s"),
            interval_text(result, f"topologies.{worst.topology}.latency_ms"),
            percentile_text(result, f"topologies.{worst.topology}.latency_p99_ms"),
            percent(max(m.utilisation for m in measured.machines)),
        )
    return table

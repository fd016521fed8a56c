"""A simulation: what arrived, what came out, how long it took, who was busy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from penstock.files.document import document_of
from penstock.files.simulation_file import Simulation, simulation_from, simulation_to_dict
from penstock.report.page import (
    Block,
    Cell,
    Column,
    Document,
    FieldList,
    Number,
    Paragraph,
    Section,
    Table,
    field_list,
    paragraph,
    table_of,
)
from penstock.report.pages.plan import MOST_MACHINES_LISTED
from penstock.report.pages.simulation_remarks import percentile_title, simulation_remarks
from penstock.simulate.intervals import BATCHES
from penstock.simulate.latency import PERCENTILES
from penstock.simulate.measured import ComponentFigures, TopologyFigures
from penstock.simulate.results import FLUID, SimResult

_RATE = "tuples/s"
#: A cell from the figure of this path.
CellReader: TypeAlias = Callable[[SimResult, str], Cell]


def simulation_page(result: SimResult) -> Document:
    """What arrived, what came out, how long it took, who was busy."""
    problem = result.problem
    title = f"{problem.title} on {problem.cluster.name}, scenario {result.scenario.name}"
    tables = [_topologies(result), _components(result), _machines(result)]
    if sum(hop.tuples_per_s for hop in result.measured.network):
        tables.append(_network(result))
    blocks: list[tuple[Block, ...]] = [(_summary(result),), *((table,) for table in tables)]
    blocks.append(tuple(map(paragraph, simulation_remarks(result))))
    return Document(title, tuple(Section("", own) for own in blocks if own))


def _summary(result: SimResult) -> FieldList:
    measured, scenario = result.measured, result.scenario
    runs = f"{len(result.runs)} runs of " if len(result.runs) > 1 else ""
    how = "fluid model" if result.model == FLUID else f"{result.events:,} events"
    rule = "as asked" if scenario.warmup_s is not None else "by MSER-5"
    if scenario.warmup_s is None and not result.warmup_s:
        rule = "nothing to cut off"
    over = "runs" if len(result.runs) > 1 else f"{BATCHES} parts of the run"
    balance = result.balance
    named: dict[str, str | Number | Paragraph] = {
        "simulated": f"{runs}{measured.until_s:g} s, {how}, seed {result.seed}",
        "counted": f"from {result.warmup_s:g} s on ({rule})",
        "±": f"95 % interval over {over}",
        "throughput": paragraph(
            interval_number(result, "throughput_per_s", _RATE), ", all components"
        ),
    }
    if measured.watts is not None:
        hours = (measured.until_s - measured.from_s) / 3600
        energy = f", {measured.watts * hours:.4g} Wh in the time counted"
        named["power"] = paragraph(interval_number(result, "watts", "W"), energy)
    named["tuples offered"] = (
        f"{balance.offered:,} = {balance.completed:,} completed + {balance.lost:,} lost + "
        f"{balance.given_up:,} given up + {balance.in_flight:,} in flight + "
        f"{balance.at_source:,} at the source"
    )
    if balance.awaiting_timeout:
        waiting = f"{balance.awaiting_timeout:,} of those in flight wait for their time-out"
        named["unfinished"] = f"{balance.in_flight + balance.at_source:,}; {waiting}"
    return field_list(named)


def _topologies(result: SimResult) -> Table:
    def cell(name: str, read: CellReader) -> Callable[[TopologyFigures], Cell]:
        return lambda one: read(result, f"topologies.{one.topology}.{name}")

    return table_of(
        result.measured.topologies,
        (Column("topology"), lambda one: one.topology),
        (Column("offered", _RATE), lambda one: one.offered_per_s),
        (Column("completed", _RATE), cell("completed_per_s", interval_cell)),
        (Column("latency ms"), cell("latency_ms", interval_cell)),
        *(
            (Column(percentile_title(name)), cell(f"latency_{name}_ms", mean_cell))
            for name in PERCENTILES
        ),
        (Column("timeouts", _RATE), cell("timed_out_per_s", mean_cell)),
        (Column("lost", _RATE), cell("lost_per_s", mean_cell)),
    )


def _components(result: SimResult) -> Table:
    def cell(name: str, read: CellReader) -> Callable[[ComponentFigures], Cell]:
        return lambda one: read(result, f"components.{one.component}.{name}")

    return table_of(
        result.measured.components,
        (Column("component"), lambda one: one.component),
        (Column("tuples/s"), lambda one: one.processed_per_s),
        (Column("wait ms"), cell("wait_ms", interval_cell)),
        (Column("stay ms"), cell("stay_ms", interval_cell)),
        (Column("p99"), cell("stay_p99_ms", mean_cell)),
        (Column("present"), cell("present", interval_cell)),
        (Column("lost", _RATE), lambda one: one.lost_per_s),
    )


def _machines(result: SimResult) -> Table:
    """Machines in use, or the busiest of them."""
    over_time = result.utilisation_over_time[result.first_look :]
    rows = [
        (one.machine, 100 * one.utilisation, 100 * float(over_time[:, m].max()))
        for m, one in enumerate(result.measured.machines)
        if one.utilisation > 0
    ]
    is_cut = len(rows) > MOST_MACHINES_LISTED
    if is_cut:
        rows = sorted(rows, key=lambda row: -row[1])[:MOST_MACHINES_LISTED]
    return table_of(
        rows,
        (Column("busiest machines" if is_cut else "machine"), lambda row: row[0]),
        (Column("CPU", "%"), lambda row: row[1]),
        (Column("most of any sample", "%"), lambda row: row[2]),
    )


def _network(result: SimResult) -> Table:
    return table_of(
        (one for one in result.measured.network if one.tuples_per_s),
        (Column("network"), lambda one: one.hop),
        (Column("tuples/s"), lambda one: one.tuples_per_s),
        (Column("Mb/s"), lambda one: 8e-6 * one.bytes_per_s),
    )


def recorded(result: SimResult) -> Simulation:
    """The result as it is when it has been written to a file and read again."""
    written = simulation_to_dict(result, simulation_remarks(result))
    return simulation_from(document_of(written, "simulation"))


def interval_number(result: SimResult, path: str, unit: str = "") -> Number:
    """A mean with half the width of its interval."""
    interval = result.interval(path)
    if not np.isfinite(interval.mean):
        return Number(None, unit)
    return Number(float(interval.mean), unit, margin=interval.half_width)


def interval_cell(result: SimResult, path: str) -> Cell:
    """The same for a table; where tuples are still on their way, the mean is a lower bound."""
    number = interval_number(result, path)
    if path in result.at_least and number.value is not None:
        return paragraph("≥ ", Number(number.value))
    return number


def mean_cell(result: SimResult, path: str) -> Cell:
    """A mean, or the lower bound that it is."""
    mean = Number(interval_number(result, path).value)
    return paragraph("≥ ", mean) if path in result.at_least else mean


def simulated_schedulers(rows: Sequence[tuple[str, SimResult | None]]) -> Table:
    """Simulated figures of several schedulers' plans."""
    columns = (
        Column("scheduler"),
        Column("offered", _RATE),
        Column("completed", _RATE),
        Column("latency ms"),
        Column("p99"),
        Column("CPU of busiest", "%"),
    )
    return Table("", columns, tuple(_simulated(*row) for row in rows))


def _simulated(scheduler: str, result: SimResult | None) -> tuple[Cell, ...]:
    if result is None:
        return scheduler, "no plan", None, None, None, None
    measured = result.measured
    worst = max(measured.topologies, key=lambda t: np.nan_to_num(t.latency_p99_ms))
    path = f"topologies.{worst.topology}"
    return (
        scheduler,
        sum(t.offered_per_s for t in measured.topologies),
        interval_cell(result, "completed_per_s"),
        interval_cell(result, f"{path}.latency_ms"),
        mean_cell(result, f"{path}.latency_p99_ms"),
        100 * max(m.utilisation for m in measured.machines),
    )

"""``penstock lab demo``: the closed loop on unlike machines, before and after."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from penstock.cli import engine_options, options
from penstock.cli.output import say, show, write_json
from penstock.engines.base import Ability
from penstock.engines.lab.machines import parse_machines
from penstock.engines.registry import naming_its_package, require
from penstock.errors import EXIT_DONE
from penstock.files.answer_formats import answer_head
from penstock.files.examples import load_topology
from penstock.planning.numbers import rate
from penstock.report.pages.plan import plan_page

#: Labs are of Spark where no engine is named: they start in seconds.
DEFAULT_ENGINE = "spark"


def command(
    engine: engine_options.EngineName = DEFAULT_ENGINE,
    machines: Annotated[
        str, typer.Option("--machines", help="CPU points of each machine (100 is one core).")
    ] = "90,50,30",
    example: Annotated[
        str, typer.Option("--example", "-e", help="The shipped topology to run.")
    ] = "linear",
    seconds: Annotated[
        float,
        typer.Option("--seconds", help="Seconds to measure each run after its warm-up.", min=5),
    ] = 30.0,
    as_json: options.Json = False,
) -> int:
    """Run a topology on unlike machines, measure it, plan it, run it under the plan, compare.

    penstock lab demo --engine spark

    penstock lab demo --machines 80,40 --example wordcount --seconds 60
    """
    target = engine_options.engine(engine)
    require(target, Ability.DEMO)
    lab_machines = parse_machines(machines)
    with naming_its_package(engine):
        result = target.closed_loop(load_topology(example), lab_machines, seconds, say)
    before, after, gain = result.before, result.after, result.gain
    if as_json:
        write_json(
            {
                **answer_head("lab-demo"), "topology": example,
                "machines": [m.points for m in lab_machines],
                "before": {"rate_per_s": before.rate_per_s, "batch_s": before.batch_s},
                "after": {"rate_per_s": after.rate_per_s, "batch_s": after.batch_s},
                "gain": gain,
            }
        )  # fmt: skip
        return EXIT_DONE
    show(plan_page(result.plan))
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column(f"{example}, {result.rows_per_batch:,} tuples a batch")
    for column in (
        "tuples/s",
        "batch (s)",
        *(f"{m.name} used of {m.points:g}" for m in lab_machines),
    ):
        table.add_column(column, justify="right")
    for name, seen in (("Spark alone", before), ("under the plan", after)):
        used = [f"{seen.machine_points.get(m.name, float('nan')):.0f}" for m in lab_machines]
        table.add_row(name, rate(seen.rate_per_s), f"{seen.batch_s:.2f}", *used)
    show("", table)
    predicted = rate(result.plan.predicted.scale or 0.0)
    show(f"under the plan {100 * gain:+.0f} %; predicted for batches without an end: {predicted}/s")
    return EXIT_DONE

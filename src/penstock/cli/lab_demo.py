"""``penstock lab demo``: the closed loop on unlike machines, before and after."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from penstock.cli import options
from penstock.cli.output import is_terminal, say, show, write_json
from penstock.engines import Engine
from penstock.engines.lab import keeper
from penstock.engines.lab.lab import lab_of
from penstock.engines.lab.machines import parse_machines
from penstock.engines.spark.session import require_spark
from penstock.errors import EXIT_DONE, PenstockError, UsageError
from penstock.files.answer_formats import answer_head
from penstock.files.examples import load_topology
from penstock.planning.numbers import rate
from penstock.report.text import plan_view

_BATCH_S = 5.0


def command(
    engine: options.EngineOption = Engine.SPARK,
    machines: Annotated[
        str, typer.Option("--machines", help="Points of a core of each machine.")
    ] = "90,50,30",
    example: Annotated[
        str, typer.Option("--example", "-e", help="The shipped topology to run.")
    ] = "linear",
    seconds: Annotated[
        float, typer.Option("--seconds", help="Watch each run for so long when warm.", min=5)
    ] = 30.0,
    as_json: options.Json = False,
) -> int:
    """Run a topology on unlike machines, measure it, plan it, run it under the plan, compare.

    penstock lab demo --engine spark

    penstock lab demo --machines 80,40 --example wordcount --seconds 60
    """
    if engine is not Engine.SPARK:
        raise UsageError(f"the demo is for Spark, not {engine.value}")
    require_spark()
    from penstock.engines.spark.closed_loop_demo import ClosedLoop
    from penstock.engines.spark.code import load_code, shipped_code
    from penstock.engines.spark.standalone import start_lab

    found = parse_machines(machines)
    if keeper.find(engine.value) is not None:
        raise PenstockError("a lab is up already and would compete: penstock lab down")
    graph = load_topology(example)
    path = shipped_code(example)
    if path is None:
        raise UsageError(f"no code is shipped for {example}")
    with tempfile.TemporaryDirectory(prefix="penstock-lab-demo-") as folder:
        say(f"starting Spark on machines of {machines} points of a core")
        with lab_of("demo", found) as lab:
            for note in lab.notes:
                say(f"note: {note}")
            loop = ClosedLoop(lab, start_lab(lab), graph, load_code(path, graph), Path(folder), say)
            say(
                "Spark alone: equal partitions, one for each core; first without limits, to warm up"
            )
            with loop.alone() as spark:
                cost = loop.cpu_s_per_tuple(spark)
                source = loop.full_batch(cost, _BATCH_S)
                before = loop.observe("before", spark, loop.equal(loop.slots), source, seconds)
            say("measuring costs at three loads")
            profile, _other = loop.costs(cost)
            plan = loop.plan(profile)
            say("the same topology under the plan")
            with loop.under(plan) as (spark, deployment, places):
                after = loop.observe("after", spark, deployment, source, seconds, places=places)
    gain = after.rate_per_s / before.rate_per_s - 1
    if as_json:
        write_json(
            {
                **answer_head("lab-demo"), "topology": graph.name,
                "machines": [m.points for m in found],
                "before": {"rate_per_s": before.rate_per_s, "batch_s": before.batch_s},
                "after": {"rate_per_s": after.rate_per_s, "batch_s": after.batch_s},
                "gain": gain,
            }
        )  # fmt: skip
        return EXIT_DONE
    show(plan_view(plan, bars=is_terminal()))
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column(f"{graph.name}, {source.rows_per_batch:,} tuples a batch")
    for column in ("tuples/s", "batch (s)", *(f"{m.name} used of {m.points:g}" for m in found)):
        table.add_column(column, justify="right")
    for name, seen in (("Spark alone", before), ("under the plan", after)):
        used = [f"{seen.machine_points.get(m.name, float('nan')):.0f}" for m in found]
        table.add_row(name, rate(seen.rate_per_s), f"{seen.batch_s:.2f}", *used)
    show("", table)
    predicted = rate(plan.predicted.scale or 0.0)
    show(f"under the plan {100 * gain:+.0f} %; predicted for batches without an end: {predicted}/s")
    return EXIT_DONE

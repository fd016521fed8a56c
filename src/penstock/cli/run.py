"""``penstock run``: a topology on real tuples, as PySpark streams."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from penstock import app
from penstock.cli import engine_options, kafka_options, options
from penstock.cli.output import say, show, write_json
from penstock.cli.stopping import stoppable
from penstock.engines.base import Batch, Engine
from penstock.engines.spark.deployment import PlaceBy
from penstock.engines.spark.session import LOCAL
from penstock.errors import EXIT_DONE, InputError, UsageError
from penstock.files.answer_formats import answer_head
from penstock.files.examples import load_topology
from penstock.planning.numbers import counted, rate

_SAY_EVERY_S = 2.0
#: The engine that runs topologies from code, where none is named.
DEFAULT_ENGINE = "spark"


def command(
    topology: Annotated[
        str | None, typer.Argument(help="Topology file; its code is in the .py beside it.")
    ] = None,
    example: Annotated[
        str | None, typer.Option("--example", "-e", help="Name of a shipped topology.")
    ] = None,
    engine: engine_options.EngineName = DEFAULT_ENGINE,
    code: Annotated[
        Path | None, typer.Option("--code", help="Python file with the components' functions.")
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", help="End after this many seconds. Default: at Ctrl-C.", min=0),
    ] = None,
    batches: Annotated[
        int | None, typer.Option("--batches", help="Stop after this many batches.", min=1)
    ] = None,
    rows: Annotated[
        int, typer.Option("--rows", help="Numbers in each batch of the rate source.", min=1)
    ] = 20_000,
    levels: Annotated[
        str | None,
        typer.Option(
            "--levels",
            help="Fractions of --rows that batches take in turn. Default: 1,0.5,0.25, so that "
            "costs can be fitted; 1 under a plan.",
        ),
    ] = None,
    every: Annotated[
        float,
        typer.Option("--every", help="Seconds between batches; 0: no pause.", min=0),
    ] = 0.0,
    rates: Annotated[
        Path | None,
        typer.Option(
            "--rates",
            help="Offer numbers at the rates in this file, lines of a time and tuples/s; what is "
            "not taken in waits. --rows is the most in a batch then.",
        ),
    ] = None,
    files: Annotated[
        Path | None,
        typer.Option("--files", help="Read lines from the files in this folder instead."),
    ] = None,
    files_per_batch: Annotated[
        int, typer.Option("--files-per-batch", help="Files in each batch.", min=1)
    ] = 1,
    topic: Annotated[
        str | None,
        typer.Option("--source", help="Read a Kafka topic instead: kafka://broker:9092/topic."),
    ] = None,
    kafka_config: kafka_options.Config = None,
    config: Annotated[
        list[str] | None, typer.Option("--config", help="Set a property of Spark.")
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            "--plan", help="Follow this plan; if the file is replaced, follow the new one."
        ),
    ] = None,
    place_by: Annotated[
        PlaceBy | None,
        typer.Option(
            "--place-by",
            help="What workers announce: their type (default on spark://…), their machine's name, "
            "or nothing (default elsewhere: counts and shares only).",
        ),
    ] = None,
    show_rows: Annotated[
        int, typer.Option("--show", help="Show this many rows of the last results.", min=0)
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Keep results, telemetry and the checkpoint here."),
    ] = None,
    master: options.Master = LOCAL,
    as_json: options.Json = False,
) -> int:
    """Run a topology on Spark, show the rate of every component, and keep what it measured.

    penstock run --example wordcount --seconds 60

    penstock run clicks.yaml --files incoming --plan plan.json --master spark://host:7077
    """
    if (topology is None) == (example is None):
        raise UsageError("name a topology file, or an example with --example")
    if example is not None:
        load_topology(example)
    client = kafka_options.client_of(topic, kafka_config)
    target = _target(engine, master, config, place_by)
    source = app.RunInput(
        rows=rows,
        levels=_levels(levels) if levels else None,
        every_s=every,
        rates=rates,
        files=files,
        files_per_batch=files_per_batch,
        kafka=topic,
        kafka_client=client,
    )
    with stoppable(seconds) as stop:
        result = app.run(
            str(topology or example),
            target,
            source,
            code=code,
            plan=plan,
            batches=batches,
            out=out,
            show_rows=show_rows,
            stop=stop,
            on_batch=_BatchNotes(),
            say=say,
        )
    if not result.batches and stop.received is None:
        raise InputError(f"no batch ended: {_what_is_awaited(files, topic)}")
    if as_json:
        write_json({**answer_head("run"), **result.to_dict()})
    else:
        show(_view(result))
        for rows_of in result.results:
            number = min(show_rows, rows_of.total)
            show("", f"{rows_of.stream}, {number} of {rows_of.total:,} rows")
            show(_rows_view(rows_of.columns))
    if out:
        say(f"results, state and telemetry are in {out}")
    return stop.exit_code or EXIT_DONE


def _target(name: str, master: str, config: list[str] | None, place_by: PlaceBy | None) -> Engine:
    """The engine, with those of its options that differ from its own defaults."""
    settings = options.spark_config(config or [])
    return engine_options.engine(
        name, master=master if master != LOCAL else None, config=settings or None, place_by=place_by
    )


def _what_is_awaited(files: Path | None, topic: str | None) -> str:
    if files is not None:
        return f"no new file came into {files}; wait longer with --seconds"
    return f"nothing came in from {topic or 'the source'}; wait longer with --seconds"


def _rows_view(columns: Mapping[str, Sequence[object]]) -> Table:
    table = Table(*columns, box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for row in zip(*columns.values(), strict=True):
        table.add_row(*map(str, row))
    return table


class _BatchNotes:
    """Says in passing what batches do."""

    def __init__(self) -> None:
        self._next_s = 0.0

    def __call__(self, batch: Batch) -> None:
        if time.monotonic() < self._next_s:
            return
        names = dict.fromkeys(sample.component for sample in batch.samples)
        rates = ", ".join(f"{name} {rate(batch.rate_per_s(name))}/s" for name in names)
        say(f"batch {batch.number}, {batch.seconds:.1f} s: {rates}")
        self._next_s = time.monotonic() + _SAY_EVERY_S


def _view(result: app.RunResult) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("component")
    for column in ("tuples in", "tuples/s", "CPU s", "CPU µs per tuple"):
        table.add_column(column, justify="right")
    for name in result.components:
        tuples, cpu = result.tuples.get(name, 0.0), result.cpu_s.get(name, 0.0)
        each = f"{1e6 * cpu / tuples:.1f}" if tuples else "–"
        speed = rate(tuples / result.seconds) if result.seconds else "–"
        table.add_row(name, f"{tuples:,.0f}", speed, f"{cpu:.2f}", each)
    table.caption = f"{counted(result.batches, 'batch')} in {result.seconds:.1f} s"
    table.caption_justify = "left"
    return table


def _levels(text: str) -> tuple[float, ...]:
    """Parts of the rows, as ``1,0.5,0.25``."""
    try:
        levels = tuple(float(level) for level in text.split(","))
    except ValueError:
        levels = ()
    if not levels or not all(0 < level <= 1 for level in levels):
        raise UsageError(f'--levels takes parts above 0 and up to 1, as 0.25,0.5,1, not "{text}"')
    return levels

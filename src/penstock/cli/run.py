"""``penstock run``: a topology on real tuples, as PySpark streams."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from penstock.cli import options
from penstock.cli.output import say, show, write_json
from penstock.cli.stopping import stoppable
from penstock.engines import Engine
from penstock.engines.spark.deployment import PlaceBy
from penstock.engines.spark.session import require_spark
from penstock.errors import EXIT_DONE, InputError, UsageError
from penstock.files.answer_formats import answer_head
from penstock.files.examples import load_topology, topology_names
from penstock.files.store import load
from penstock.model.topology import Kind, Topology
from penstock.planning.numbers import counted, rate

if TYPE_CHECKING:
    from penstock.engines.spark.runner import Batch

_SAY_EVERY_S = 2.0
_SPARK_LOG = "spark.log"
#: Parts of --rows: at several loads what a tuple costs can be told from what is always there.
_TO_MEASURE, _UNDER_A_PLAN = "1,0.5,0.25", "1"


def command(
    topology: Annotated[
        str | None, typer.Argument(help="Topology file; its code is in the .py beside it.")
    ] = None,
    example: Annotated[
        str | None, typer.Option("--example", "-e", help="A shipped topology, by name.")
    ] = None,
    engine: options.EngineOption = Engine.SPARK,
    code: Annotated[
        Path | None, typer.Option("--code", help="The functions of its components.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", help="End after this long; else Ctrl-C.", min=0)
    ] = None,
    batches: Annotated[
        int | None, typer.Option("--batches", help="Stop after so many batches.", min=1)
    ] = None,
    rows: Annotated[
        int, typer.Option("--rows", help="Numbers in each batch of the rate source.", min=1)
    ] = 20_000,
    levels: Annotated[
        str | None,
        typer.Option(
            "--levels",
            help="Parts of --rows that batches take in turn. Default: 1,0.5,0.25, so that costs "
            "can be fitted; 1 under a plan.",
        ),
    ] = None,
    every: Annotated[
        float,
        typer.Option("--every", help="Seconds between batches; 0: as fast as they go.", min=0),
    ] = 0.0,
    files: Annotated[
        Path | None, typer.Option("--files", help="Read lines of the files here instead.")
    ] = None,
    files_per_batch: Annotated[
        int, typer.Option("--files-per-batch", help="Files in each batch.", min=1)
    ] = 1,
    kafka: Annotated[
        str | None,
        typer.Option("--kafka", help="Read a topic instead: kafka://broker:9092/topic."),
    ] = None,
    config: Annotated[
        list[str] | None, typer.Option("--config", help="A setting of Spark's, name=value.")
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option("--plan", help="Keep to this plan; a new one in its place is taken over."),
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
        int, typer.Option("--show", help="Show so many rows of the last results.", min=0)
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Keep results, telemetry and the checkpoint here."),
    ] = None,
    master: Annotated[str, typer.Option("--master", help="Spark's master.")] = "local[*]",
    as_json: options.Json = False,
) -> int:
    """Run a topology on Spark, show the rate of every component, and keep what it measured.

    penstock run --example wordcount --seconds 60

    penstock run clicks.yaml --files incoming --plan plan.json --master spark://host:7077
    """
    if not master.startswith(("local", "spark://")):
        raise UsageError(f"--master takes local[…] or spark://…, not {master}")
    if engine is not Engine.SPARK:
        raise UsageError(f"penstock run is for Spark, not {engine.value}")
    require_spark()
    from penstock.engines.spark.results import newest_results
    from penstock.engines.spark.start import Order, start

    graph, home = _topology(topology, example)
    if place_by is None:
        place_by = PlaceBy.TYPE if master.startswith("spark://") else PlaceBy.NOTHING
    watch = _Watch(graph, batches)
    with tempfile.TemporaryDirectory(prefix="penstock-run-") as scratch:
        folder = (out or Path(scratch) / "run").absolute()
        with stoppable(seconds) as stop:
            order = Order(
                master=master,
                topology=graph,
                home=home,
                code_file=code,
                rows_per_batch=rows,
                levels=_parts(levels or (_UNDER_A_PLAN if plan else _TO_MEASURE)),
                every_s=every,
                files=files,
                files_per_batch=files_per_batch,
                kafka=kafka,
                plan=plan,
                place_by=place_by,
                folder=folder,
                config=options.spark_config(config or []),
                log_file=folder / _SPARK_LOG if out else None,
            )
            start(order, watch.see, say, lambda: stop() or watch.done)
        results = newest_results(folder) if show_rows else {}
    if not watch.batches and stop.received is None:
        raise InputError(f"no batch ended: {_what_is_awaited(files, kafka)}")
    if as_json:
        write_json(watch.to_dict())
    else:
        show(watch.view())
        for name, table in results.items():
            show("", f"{name}, {min(show_rows, table.num_rows)} of {table.num_rows:,} rows")
            show(_rows_view(table.slice(0, show_rows).to_pydict()))
    if out:
        say(f"results, state and telemetry are in {out}")
    return stop.exit_code or EXIT_DONE


def _what_is_awaited(files: Path | None, kafka: str | None) -> str:
    if files is not None:
        return f"no new file came into {files}; wait longer with --seconds"
    return f"nothing came in from {kafka or 'the source'}; wait longer with --seconds"


def _parts(levels: str) -> tuple[float, ...]:
    try:
        found = tuple(float(level) for level in levels.split(","))
    except ValueError:
        found = ()
    if not found or not all(0 < level <= 1 for level in found):
        raise UsageError(f'--levels takes parts above 0 and up to 1, as 0.25,0.5,1, not "{levels}"')
    return found


def _topology(file: str | None, example: str | None) -> tuple[Topology, Path | None]:
    """The topology, and its file where it has one of its own."""
    if (file is None) == (example is None):
        raise UsageError("name a topology file, or an example with --example")
    if example is not None or file in topology_names():
        return load_topology(str(example or file)), None
    value = load(str(file))
    if not isinstance(value, Topology):
        raise InputError(f"{file} is a {type(value).__name__.lower()}, not a topology")
    return value, Path(str(file))


def _rows_view(columns: dict[str, list[object]]) -> Table:
    table = Table(*columns, box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for row in zip(*columns.values(), strict=True):
        table.add_row(*map(str, row))
    return table


class _Watch:
    """Adds up what batches did, and says it in passing."""

    def __init__(self, graph: Topology, most: int | None) -> None:
        self.names = [c.name for c in graph.components if c.kind is not Kind.ACKER]
        self.most = most
        self.batches = 0
        self.seconds = 0.0
        self.tuples = dict.fromkeys(self.names, 0.0)
        self.cpu_s = dict.fromkeys(self.names, 0.0)
        self._said = 0.0

    @property
    def done(self) -> bool:
        return self.most is not None and self.batches >= self.most

    def see(self, batch: Batch) -> None:
        self.batches += 1
        self.seconds += batch.seconds
        for name in self.names:
            self.tuples[name] += batch.rate_per_s(name) * batch.seconds
            self.cpu_s[name] += batch.cpu_s(name)
        if time.monotonic() - self._said >= _SAY_EVERY_S:
            rates = ", ".join(f"{name} {rate(batch.rate_per_s(name))}/s" for name in self.names)
            say(f"batch {batch.number}, {batch.seconds:.1f} s: {rates}")
            self._said = time.monotonic()

    def view(self) -> Table:
        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
        table.add_column("component")
        for column in ("tuples in", "tuples/s", "CPU s", "CPU µs per tuple"):
            table.add_column(column, justify="right")
        for name in self.names:
            tuples, cpu = self.tuples[name], self.cpu_s[name]
            each = f"{1e6 * cpu / tuples:.1f}" if tuples else "–"
            speed = rate(tuples / self.seconds) if self.seconds else "–"
            table.add_row(name, f"{tuples:,.0f}", speed, f"{cpu:.2f}", each)
        table.caption = f"{counted(self.batches, 'batch')} in {self.seconds:.1f} s"
        table.caption_justify = "left"
        return table

    def to_dict(self) -> dict[str, object]:
        return {
            **answer_head("run"),
            "batches": self.batches,
            "seconds": self.seconds,
            "components": {
                name: {"tuples": self.tuples[name], "cpu_s": self.cpu_s[name]}
                for name in self.names
            },
        }

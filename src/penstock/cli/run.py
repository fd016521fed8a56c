"""``penstock run``: a topology on real tuples, as PySpark streams."""

from __future__ import annotations

import tempfile
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from penstock.cli import options
from penstock.cli.output import say, show, write_json
from penstock.errors import EXIT_DONE, EXIT_INTERRUPTED, InputError, UsageError
from penstock.examples import load_topology, topology_names
from penstock.files.store import load
from penstock.model.topology import Kind, Topology
from penstock.report.numbers import rate
from penstock.telemetry.session import spark_session

if TYPE_CHECKING:
    from penstock.engines.spark.runner import Batch

_SAY_EVERY_S = 2.0


class Engine(StrEnum):
    """What a topology can run on."""

    SPARK = "spark"


def command(
    topology: Annotated[
        str | None, typer.Argument(help="Topology file; its code is in the .py beside it.")
    ] = None,
    example: Annotated[
        str | None, typer.Option("--example", "-e", help="A shipped topology, by name.")
    ] = None,
    engine: Annotated[Engine, typer.Option("--engine", help="What runs it.")] = Engine.SPARK,
    code: Annotated[
        Path | None, typer.Option("--code", help="The functions of its components.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", help="Stop after this long; else Ctrl-C.", min=0)
    ] = None,
    batches: Annotated[
        int | None, typer.Option("--batches", help="Stop after so many batches.", min=1)
    ] = None,
    rows: Annotated[
        int, typer.Option("--rows", help="Numbers in each batch of the rate source.", min=1)
    ] = 20_000,
    files: Annotated[
        Path | None, typer.Option("--files", help="Read lines of the files here instead.")
    ] = None,
    files_per_batch: Annotated[
        int, typer.Option("--files-per-batch", help="Files in each batch.", min=1)
    ] = 1,
    plan: Annotated[
        Path | None, typer.Option("--plan", help="Instances and shares as this plan has them.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Keep results, telemetry and the checkpoint here."),
    ] = None,
    master: Annotated[str, typer.Option("--master", help="Spark's master.")] = "local[*]",
    as_json: options.Json = False,
) -> int:
    """Run a topology on Spark, show the rate of every component, and keep what it measured.

    penstock run --example wordcount --seconds 60

    penstock run clicks.yaml --files incoming --out clicks-run
    """
    if not master.startswith(("local", "spark://")):
        raise UsageError(f"--master takes local[…] or spark://…, not {master}")
    assert engine is Engine.SPARK  # the only one yet
    graph, home = _topology(topology, example)
    with tempfile.TemporaryDirectory(prefix="penstock-run-") as scratch:
        folder = out or Path(scratch) / "run"
        with (
            options.stoppable_budget(stopping="ending after this batch") as budget,
            spark_session(master, short=True) as spark,
        ):
            from penstock.engines.spark import code as engine_code
            from penstock.engines.spark.deployment import Deployment
            from penstock.engines.spark.runner import Runner
            from penstock.engines.spark.sources import FileSource, RateSource, Source

            where = code or (
                engine_code.code_beside(home) if home else engine_code.shipped_code(graph.name)
            )
            if where is None:
                raise InputError(f"no code is shipped for {graph.name}; write it and give --code")
            loaded = engine_code.load_code(where, graph)
            source: Source = RateSource(rows)
            if files is not None:
                source = FileSource(files, files_per_batch)
            cores = spark.sparkContext.defaultParallelism
            placed = (
                Deployment.of(options.load_plan(plan), graph.name)
                if plan
                else Deployment.evenly(graph, cores)
            )
            watch = _Watch(graph, batches)
            say(f"{graph.name} on {master}: {source.about}; Ctrl-C ends it after the batch")
            runner = Runner(
                spark, graph, loaded, source, folder.absolute(), lambda: placed, watch.see
            )
            began = time.monotonic()
            stop_at = None if seconds is None else began + seconds
            runner.run(
                lambda: (
                    budget.stopped
                    or watch.done
                    or (stop_at is not None and time.monotonic() > stop_at)
                )
            )
    if as_json:
        write_json(watch.to_dict())
    else:
        show(watch.view())
    if out:
        say(f"results, state and telemetry are in {out}")
    return EXIT_INTERRUPTED if budget.stopped else EXIT_DONE


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
        table.caption = f"{self.batches} batches in {self.seconds:.1f} s"
        table.caption_justify = "left"
        return table

    def to_dict(self) -> dict[str, object]:
        return {
            "format": "penstock/run",
            "version": 1,
            "batches": self.batches,
            "seconds": self.seconds,
            "components": {
                name: {"tuples": self.tuples[name], "cpu_s": self.cpu_s[name]}
                for name in self.names
            },
        }

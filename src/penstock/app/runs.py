"""A topology run from its code on an engine, and what every component of it did."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from penstock.app.clusters import silent
from penstock.engines.base import Ability, Batch, Engine, ResultRows, RunOrder, Say
from penstock.engines.registry import naming_its_package, require
from penstock.errors import InputError
from penstock.files.examples import load_topology, topology_names
from penstock.files.store import load
from penstock.model.topology import Kind, Topology

#: Parts of the rows: at several loads what a tuple costs can be told from what is always there.
_TO_MEASURE, _UNDER_A_PLAN = (1.0, 0.5, 0.25), (1.0,)


@dataclass(frozen=True)
class RunInput:
    """What a topology is fed: numbers at a rate, lines of files, or a topic of Kafka's."""

    #: Numbers in each batch of the rate source.
    rows: int = 20_000
    #: Parts of ``rows`` that batches take in turn; by default 1, 0.5, 0.25, so that costs can be
    #: fitted, and 1 under a plan.
    levels: tuple[float, ...] | None = None
    #: Seconds between batches; 0 is as fast as they go.
    every_s: float = 0.0
    #: A file of the rates at which numbers are offered; ``rows`` is then the most in a batch.
    rates: Path | None = None
    files: Path | None = None
    files_per_batch: int = 1
    #: As ``kafka://broker:9092/topic``.
    kafka: str | None = None
    #: Properties of the Kafka client; may hold passwords.
    kafka_client: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass
class RunResult:
    """What a run did, added up batch by batch."""

    topology: Topology
    batches: int = 0
    seconds: float = 0.0
    tuples: dict[str, float] = field(default_factory=dict)
    cpu_s: dict[str, float] = field(default_factory=dict)
    #: The newest rows of streams that no component takes, where they were asked for.
    results: Sequence[ResultRows] = ()

    @property
    def components(self) -> list[str]:
        return [c.name for c in self.topology.components if c.kind is not Kind.ACKER]

    def add(self, batch: Batch) -> None:
        self.batches += 1
        self.seconds += batch.seconds
        for name in self.components:
            self.tuples[name] = self.tuples.get(name, 0.0) + batch.tuples(name)
            self.cpu_s[name] = self.cpu_s.get(name, 0.0) + batch.cpu_s(name)

    def to_dict(self) -> dict[str, object]:
        return {
            "batches": self.batches,
            "seconds": self.seconds,
            "components": {
                name: {"tuples": self.tuples.get(name, 0.0), "cpu_s": self.cpu_s.get(name, 0.0)}
                for name in self.components
            },
        }


def run(
    topology: str | Path,
    target: Engine,
    source: RunInput | None = None,
    *,
    code: Path | None = None,
    plan: Path | None = None,
    batches: int | None = None,
    out: Path | None = None,
    show_rows: int = 0,
    stop: Callable[[], bool] = lambda: False,
    on_batch: Callable[[Batch], None] = lambda _batch: None,
    say: Say = silent,
) -> RunResult:
    """Run a topology, an example by name or a file with its code beside it, until told to stop.

    ``plan`` is kept to; a new one in its place is taken over. With ``out``, results, telemetry and
    the checkpoint stay in that folder.
    """
    require(target, Ability.RUN)
    graph, home = _topology(topology)
    fed = source or RunInput()
    result = RunResult(graph)

    def add(batch: Batch) -> None:
        result.add(batch)
        on_batch(batch)

    with tempfile.TemporaryDirectory(prefix="penstock-run-") as scratch:
        folder = (out or Path(scratch) / "run").absolute()
        order = RunOrder(
            topology=graph,
            folder=folder,
            home=home,
            code_file=code,
            rows_per_batch=fed.rows,
            levels=fed.levels or (_UNDER_A_PLAN if plan else _TO_MEASURE),
            every_s=fed.every_s,
            rates=fed.rates,
            files=fed.files,
            files_per_batch=fed.files_per_batch,
            kafka=fed.kafka,
            kafka_client=fed.kafka_client,
            plan=plan,
            log_file=folder / f"{target.name}.log" if out else None,
            say=say,
            on_batch=add,
            stop=lambda: stop() or (batches is not None and result.batches >= batches),
        )
        with naming_its_package(target.name):
            target.run(order)
            rows = target.results(folder, show_rows) if show_rows else ()
    return replace(result, results=rows)


def _topology(source: str | Path) -> tuple[Topology, Path | None]:
    """The topology, and its file where it has one of its own."""
    if str(source) in topology_names():
        return load_topology(str(source)), None
    value = load(str(source))
    if not isinstance(value, Topology):
        raise InputError(f"{source} is a {type(value).__name__.lower()}, not a topology")
    return value, Path(source)

"""A run from what a user asks for: topology, code, input, plan, where."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from penstock.engines.spark.code import Code, code_beside, load_code, shipped_code
from penstock.engines.spark.deployment import Deployment, PlaceBy
from penstock.engines.spark.planned import PlanInForce, PlannedRun
from penstock.engines.spark.runner import Batch, Runner
from penstock.engines.spark.session import spark_session
from penstock.engines.spark.sources import FileSource, KafkaSource, RateSource, Source
from penstock.errors import InputError
from penstock.model.topology import Topology


@dataclass(frozen=True)
class Order:
    """What is to run, and on what."""

    master: str
    topology: Topology
    #: The topology's file, where it has one; its code is beside it.
    home: Path | None
    code_file: Path | None
    rows_per_batch: int
    levels: tuple[float, ...]
    every_s: float
    files: Path | None
    kafka: str | None
    files_per_batch: int
    plan: Path | None
    place_by: PlaceBy
    folder: Path
    #: Settings of Spark's that the user gives.
    config: Mapping[str, str] = field(default_factory=dict)
    #: What Spark prints; without, a file that stays only if Spark fails.
    log_file: Path | None = None

    @property
    def code(self) -> Code:
        path = self.code_file or (
            code_beside(self.home) if self.home else shipped_code(self.topology.name)
        )
        if path is None:
            name = self.topology.name
            raise InputError(f"no code is shipped for {name}; write it and give --code")
        return load_code(path, self.topology)

    @property
    def source(self) -> Source:
        if self.kafka is not None:
            return KafkaSource(self.kafka, self.rows_per_batch)
        if self.files is not None:
            return FileSource(self.files, self.files_per_batch)
        return RateSource(self.rows_per_batch, self.levels)


def start(
    order: Order,
    on_batch: Callable[[Batch], None],
    say: Callable[[str], None],
    stop: Callable[[], bool],
) -> None:
    """Run until told to stop; under a plan if there is one, otherwise evenly over all cores."""
    code, source, graph = order.code, order.source, order.topology
    what = f"{graph.name} on {order.master}: {source.about}; Ctrl-C ends it after the batch"
    if order.plan is not None:
        in_force = PlanInForce(order.plan, graph, order.place_by, say)
        say(what)
        PlannedRun(
            order.master, graph, code, source, order.folder, in_force, on_batch, say,
            order.every_s, config=order.config, log_file=order.log_file,
        ).run(stop)  # fmt: skip
        return
    # Java moves packets and does little else: compiled in haste is well enough.
    with spark_session(
        order.master, config=order.config, short=True, log_file=order.log_file
    ) as spark:
        even = Deployment.evenly(graph, spark.sparkContext.defaultParallelism)
        say(what)
        Runner(
            spark, graph, code, source, order.folder, lambda: even, on_batch, every_s=order.every_s
        ).run(stop)

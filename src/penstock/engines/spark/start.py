"""A run from what a user asks for: topology, code, input, plan, where."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.engines.base import RunOrder
from penstock.engines.rate_steps import read_rate_steps
from penstock.engines.spark.code import Code, code_beside, load_code, shipped_code
from penstock.engines.spark.deployment import Deployment, PlaceBy
from penstock.engines.spark.kafka_connector import with_connector
from penstock.engines.spark.planned import PlanInForce, PlannedRun
from penstock.engines.spark.runner import Runner
from penstock.engines.spark.session import say_ui_address, spark_session
from penstock.engines.spark.sources import (
    FileSource,
    KafkaSource,
    OfferedSource,
    RateSource,
    Source,
)
from penstock.errors import InputError


@dataclass(frozen=True)
class SparkTarget:
    """The Spark that a topology is to run on."""

    master: str
    place_by: PlaceBy
    #: Settings of Spark's that the user gives.
    config: Mapping[str, str] = field(default_factory=dict)


def start(order: RunOrder, target: SparkTarget) -> None:
    """Run until told to stop; under a plan if there is one, otherwise evenly over all cores."""
    code, source, graph = _code(order), _source(order), order.topology
    config = with_connector(order.kafka, target.config, os.environ, order.say)
    about = f"{graph.name} on {target.master}: {source.about}; Ctrl-C ends it after the batch"
    if order.plan is not None:
        in_force = PlanInForce(order.plan, graph, target.place_by, order.say)
        order.say(about)
        PlannedRun(
            target.master, graph, code, source, order.folder, in_force, order.on_batch, order.say,
            order.every_s, config=config, log_file=order.log_file,
        ).run(order.stop)  # fmt: skip
        return
    # Java moves packets and does little else: compiled in haste is well enough.
    with spark_session(target.master, config=config, log_file=order.log_file) as spark:
        even = Deployment.evenly(graph, spark.sparkContext.defaultParallelism)
        order.say(about)
        say_ui_address(spark, order.say)
        Runner(
            spark, graph, code, source, order.folder, lambda: even, order.on_batch,
            every_s=order.every_s,
        ).run(order.stop)  # fmt: skip


def _code(order: RunOrder) -> Code:
    path = order.code_file or (
        code_beside(order.home) if order.home else shipped_code(order.topology.name)
    )
    if path is None:
        name = order.topology.name
        raise InputError(f"no code is shipped for {name}; write it and give --code")
    return load_code(path, order.topology)


def _source(order: RunOrder) -> Source:
    if order.kafka is not None:
        return KafkaSource(order.kafka, order.rows_per_batch, order.kafka_client)
    if order.files is not None:
        return FileSource(order.files, order.files_per_batch)
    if order.rates is not None:
        read_rate_steps(order.rates)  # what is wrong in it is said before anything starts
        return OfferedSource(order.rates.absolute(), order.rows_per_batch)
    return RateSource(order.rows_per_batch, order.levels)

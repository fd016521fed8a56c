"""A sweep as one Spark job: a task for each cell that has no result yet.

A finished task's result travels to the driver with the news that it is finished (as the update of
an accumulator), and the driver keeps it at once. So nothing but the driver needs the sweep's
folder, a job that is killed loses only the cells that were being worked on, and a task that Spark
ran twice is kept twice under the same name.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock.errors import PenstockError
from penstock.telemetry.spark_errors import SparkFailed, reason_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: A finished cell: its key, its columns, how long it took, and what went wrong, if anything.
Finished: TypeAlias = dict[str, Any]
#: A cell as (key, what the work is given).
Task = tuple[str, Any]
Work = Callable[[Any], dict[str, Any]]


def run_tasks(
    spark: SparkSession,
    tasks: Sequence[Task],
    work: Work,
    keep: Callable[[Finished], None],
    progress: Callable[[Finished], None] = lambda _finished: None,
) -> None:
    """Run the tasks on Spark and keep each result as it comes."""
    if not tasks:
        return
    from py4j.protocol import Py4JError
    from pyspark.accumulators import AccumulatorParam

    class FinishedCells(AccumulatorParam[list[Finished]]):
        """Adds results up in a task; on the driver keeps them."""

        def zero(self, value: list[Finished]) -> list[Finished]:
            return []

        def addInPlace(self, value1: list[Finished], value2: list[Finished]) -> list[Finished]:  # noqa: N802
            value1.extend(value2)
            return value1

    class Receiver(list[Finished]):
        """The driver's end."""

        def extend(self, arrived: Any) -> None:
            for finished in arrived:
                keep(finished)
                progress(finished)

    context = spark.sparkContext
    arrivals = context.accumulator(Receiver(), FinishedCells())

    def one(task: Task) -> None:
        arrivals.add([finished(task, work)])

    try:
        context.parallelize(list(tasks), len(tasks)).foreach(one)
    except Py4JError as error:
        reason = f"Spark gave up: {reason_of(error)}; finished cells are kept"
        raise SparkFailed(reason) from error


def finished(task: Task, work: Work) -> Finished:
    """The result of one cell; what goes wrong in it is its result."""
    key, given = task
    began = time.monotonic()
    try:
        row = {**work(given), "error": None}
        trace = None
    except Exception as error:  # whatever it is, the other cells go on
        row = {**getattr(given, "names", {}), "error": f"{type(error).__name__}: {error}"}
        trace = None if isinstance(error, PenstockError) else traceback.format_exc()
    return {"key": key, "row": row, "seconds": time.monotonic() - began, "trace": trace}

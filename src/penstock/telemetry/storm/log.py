"""Lines of Storm's LoggingMetricsConsumer to records, frame to frame.

A line is ``time stamp, epoch seconds, host:port, task:component, name, value``; all lines of one
task at one second are one record. Counters are totals since the worker's start.

- **Counter or rate?** Each counter has a gauge ``<name>.m1_rate`` beside it, and cut to 23
  characters both have one name. Storm writes a counter as a Java Long and a rate as a Double, and
  Java never writes a Double without a point or an exponent: a whole number is a counter.
- **Which stream?** See :mod:`penstock.telemetry.storm.log_names`.
- **CPU of a task** is nowhere in these lines. The worker's is: ``workerCpuUsage``, in cores, the
  sum of its Java threads since it was last read; garbage collection and compilation, which are no
  Java threads, are missing from it.
- **Mean milliseconds** have no counts of their window beside them: given where a task has one
  stream, or the same for all; absent where streams differ, and where Storm writes 0.0, which it
  does for "under a millisecond" and for "nothing measured" alike.
- **The sample rate** is not in the log either. Storm counts one tuple in 20 unless told otherwise
  (``topology.stats.sample.rate``), and writes 20 times that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from penstock.model.telemetry import (
    INPUT_FIELDS,
    OUTPUT_FIELDS,
    SAMPLE_FIELDS,
    SAMPLE_VERSION,
    Counters,
    SampleField,
)
from penstock.telemetry.reasons import LONGEST_WINDOW_MS, Reason
from penstock.telemetry.schemas import spark_type
from penstock.telemetry.storm.log_lines import COUNTERS, OF_VALUE, OF_WORKER, parsed
from penstock.telemetry.storm.log_names import (
    IN,
    IN_LENGTH,
    OUT,
    candidates,
    with_names,
)
from penstock.telemetry.storm.names import SYSTEM, UNMEASURED

SET_ASIDE_COLUMNS = ("raw", "reason", "field", "file")

_BYTES_PER_MB = 1024.0 * 1024.0
#: The tasks of a worker report within the same second or two.
_SAME_MOMENT_MS = 2000

_WORKER = ("run", "topology", "host", "worker")
_TASK = (*_WORKER, "task", "component")
_MOMENT = (*_TASK, "time_ms")


@dataclass(frozen=True)
class LogFrames:
    """Records with the column ``file`` beside them, and the lines that could not be used."""

    records: DataFrame
    set_aside: DataFrame


def read_log(
    lines: DataFrame,
    *,
    topology: str | None = None,
    sample_rate: float | None = None,
    streams: Iterable[tuple[str, str]] = (),
) -> LogFrames:
    """Records from the lines of any number of logs; ``lines`` has the columns value and file.

    The topology is read off the path, as Storm lays its logs out, unless it is given. ``streams``
    are (component, stream) pairs that help to make cut names whole.
    """
    judged = parsed(lines, topology)
    # A line with a bad value still says that its moment has such a counter.
    placed = judged.where(F.col("reason").isNull() | F.col("reason").isin(*OF_VALUE))
    metrics = _metrics(placed)
    counters = metrics.where(F.col("meaning").isin(*COUNTERS) & ~F.col("is_bad"))
    moments = _with_windows(_moments(with_names(metrics, candidates(counters, streams))))
    is_sample = ~_begins(F.col("component"), UNMEASURED) & ~F.col("is_cut_off")
    cut_off = moments.where("is_cut_off").select(*_MOMENT)
    return LogFrames(
        _records(moments.where(is_sample), sample_rate),
        judged.where(F.col("reason").isNotNull())
        .select(*SET_ASIDE_COLUMNS)
        .union(
            placed.where(F.col("reason").isNull())
            .join(cut_off, list(_MOMENT), "left_semi")
            .select("raw", F.lit(Reason.CUT_OFF.value), F.lit(""), "file")
        ),
    )


def _metrics(placed: DataFrame) -> DataFrame:
    """One row per moment and metric, over the lines of all files as if they were one log.

    A rotated log goes on in the next file, in the middle of a moment. A copy kept beside it says
    everything twice: a line is there as often as in the file that has it most often.
    """
    ends = placed.groupBy("file").agg(
        F.min("stamp").alias("file_begins"), F.max("stamp").alias("file_ends")
    )
    at_an_end = (F.col("stamp") == F.col("file_begins")) | (F.col("stamp") == F.col("file_ends"))
    begins = F.when(F.col("meaning") == "in", F.lit(len(IN))).when(
        F.col("meaning") == "out", F.lit(len(OUT))
    )
    # What is no counter is told by its meaning alone.
    rest = F.coalesce(F.substring("name", begins + 1, F.length("name")), F.lit(""))
    line = (*_MOMENT, "meaning", "name", "text", "number", "is_cut", "is_bad")
    good = ~F.col("is_bad")
    return (
        placed.join(F.broadcast(ends), "file")
        .withColumn("is_bad", F.col("reason").isNotNull())
        # Every grouping that follows is within one task: one shuffle serves them all.
        .repartition(*_TASK)
        .groupBy(*line, "file")
        .agg(F.count("*").alias("times"), F.max(at_an_end).alias("is_at_an_end"))
        .groupBy(*line)
        .agg(
            F.max("times").alias("times"),
            F.max("is_at_an_end").alias("is_at_an_end"),
            F.min("file").alias("file"),
        )
        .withColumn("rest", rest)
        .groupBy(*_MOMENT, "meaning", "rest", (F.col("is_cut") & (rest != "")).alias("is_cut"))
        .agg(
            F.sum(F.when(good, F.col("number") * F.col("times"))).alias("tuples"),
            F.min(F.when(good, F.col("number"))).alias("least"),
            F.max(F.when(good, F.col("number"))).alias("most"),
            F.sum("times").alias("lines"),
            F.max("is_bad").alias("is_bad"),
            F.max("is_at_an_end").alias("is_at_an_end"),
            F.min("file").alias("file"),
        )
    )


def _moments(metrics: DataFrame) -> DataFrame:
    """One row per task and second, and whether a file ends inside it."""
    meaning, is_bad = F.col("meaning"), F.col("is_bad")
    is_input, is_output = meaning == "in", meaning == "out"
    # Cut to 7 characters, __system and __metrics… still show.
    ticks = _begins(F.col("rest"), [name[:IN_LENGTH] for name in UNMEASURED])
    # As storm_names.keeps_output says it.
    own = _begins(F.col("component"), [SYSTEM]) | ~_begins(F.col("stream"), [SYSTEM])
    countable = own & ~_begins(F.col("stream"), UNMEASURED)

    def single_value(name: str) -> Column:
        return F.max(F.when(meaning == name, F.col("most")))

    def same_for_all(name: str) -> Column:
        least = F.min(F.when(meaning == name, F.col("least")))
        return F.when((least == single_value(name)) & (least > 0), least)

    moments = metrics.groupBy(*_MOMENT).agg(
        F.min("file").alias("file"),
        F.sum("lines").alias("lines"),
        F.max("is_at_an_end").alias("is_at_an_end"),
        F.max(meaning.isin(*COUNTERS)).alias("has_counts"),
        _entries(is_input & ~ticks, INPUT_FIELDS).alias("inputs"),
        _entries(is_output & countable, OUTPUT_FIELDS).alias("outputs"),
        # Without a counter that cannot be read, the rest would be too little.
        F.max(is_input & is_bad).alias("no_inputs"),
        F.max(is_output & is_bad).alias("no_outputs"),
        *[same_for_all(name).alias(name) for name in ("execute_ms", "process_ms", "latency_ms")],
        *[single_value(name).alias(name) for name in ("population", "capacity", *OF_WORKER)],
    )
    # Only the first and the last task in a file can be cut off, and then has more lines elsewhere.
    most = F.max("lines").over(Window.partitionBy(*_TASK))
    return moments.withColumn("is_cut_off", F.col("is_at_an_end") & (F.col("lines") < most))


def _entries(included: Column, fields: Iterable[SampleField]) -> Column:
    """The entries of one list, in order, with null for what this log does not know."""
    known = {"component": F.col("source"), "stream": F.col("stream"), "tuples": F.col("tuples")}
    entry = F.struct(
        *[known.get(f.name, F.lit(None)).cast(spark_type(f)).alias(f.name) for f in fields]
    )
    return F.array_sort(F.collect_list(F.when(included, entry)))


def _with_windows(moments: DataFrame) -> DataFrame:
    """Length of the window, and what ``__system`` says of the worker at that moment."""
    worker = (
        Window.partitionBy(*_WORKER)
        .orderBy("time_ms")
        .rangeBetween(-_SAME_MOMENT_MS, _SAME_MOMENT_MS)
    )
    task = Window.partitionBy(*_TASK).orderBy("time_ms")
    time, uptime_ms = F.col("time_ms"), 1000 * F.col("uptime_s")
    since_last = time - F.lag("time_ms").over(task)
    # A task's first moment is the base its totals are counted from. Storm reports at fixed steps.
    until_next = F.lead("time_ms").over(task) - time
    # ``least`` passes over nulls, which is wanted only below.
    whole_life = F.when(uptime_ms.isNotNull(), F.least(uptime_ms, F.lit(LONGEST_WINDOW_MS)))
    return moments.withColumns({m: F.max(m).over(worker) for m in OF_WORKER}).withColumn(
        "window_ms", F.least(F.coalesce(since_last, until_next, whole_life), uptime_ms)
    )


def _begins(text: Column, beginnings: Iterable[str]) -> Column:
    condition = F.lit(False)
    for beginning in beginnings:
        condition = condition | text.startswith(beginning)
    return condition


def _records(moments: DataFrame, sample_rate: float | None) -> DataFrame:
    """The contract: the columns of the record, and the file it came from."""
    capacity = F.col("capacity")

    def unless(spoiled: str, entries: str) -> Column:
        # Storm counts a stream from its first tuple on: a task with counters, but none of these,
        # had no such tuple. Of a task without counters nothing is known.
        return F.when(F.col("has_counts") & ~F.coalesce(spoiled, F.lit(False)), F.col(entries))

    known = {
        "version": F.lit(SAMPLE_VERSION),
        "run": F.nullif("run", F.lit("")),
        "topology": F.nullif("topology", F.lit("")),
        "inputs": unless("no_inputs", "inputs"),
        "outputs": unless("no_outputs", "outputs"),
        "counters": F.lit(Counters.TOTAL.value),
        "sample_rate": F.lit(sample_rate),
        "worker_cpu_points": 100 * F.col("worker_cpu"),
        "worker_memory_mb": F.col("worker_memory") / _BYTES_PER_MB,
        "queue_fill": F.when(capacity > 0, F.least(F.col("population") / capacity, F.lit(1.0))),
    }
    same_name = ("time_ms", "window_ms", "uptime_s", *_TASK[1:], "execute_ms", "process_ms")
    columns = {name: F.col(name) for name in (*same_name, "latency_ms")} | known
    return moments.select(
        *[
            columns.get(f.name, F.lit(None)).cast(spark_type(f)).alias(f.name)
            for f in SAMPLE_FIELDS
        ],
        "file",
    )

"""What worker processes and machines used."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from penstock.telemetry.clean import USED

_MINUTE_MS = 60_000
#: Windows of one worker within so long depend on each other.
_CLUSTER_MS = 600_000
#: What a worker is called among the components.
WORKER = "(worker)"


def worker_minutes(rates: DataFrame) -> DataFrame:
    """CPU of each worker process by minute: of the whole process, and of its tasks together."""
    worker = ("topology", "run", "host", "machine_type", "worker", "hour")
    # All tasks of a worker report at the same moment, each with the worker's own figure.
    moments = (
        rates.where(F.col("status") == USED)
        .groupBy(*worker, "time_ms")
        .agg(
            F.max("worker_cpu_points").alias("worker_cpu_points"),
            # Unknown for one task is unknown for the sum.
            F.when(F.count("cpu_points") == F.count("*"), F.sum("cpu_points")).alias(
                "tasks_cpu_points"
            ),
            F.max("worker_memory_mb").alias("worker_memory_mb"),
            F.count("*").alias("tasks"),
        )
    )
    return moments.groupBy(*worker, F.floor(F.col("time_ms") / _MINUTE_MS).alias("minute")).agg(
        F.avg("worker_cpu_points").alias("worker_cpu_points"),
        F.avg("tasks_cpu_points").alias("tasks_cpu_points"),
        # The median of the minute: one wild reading of one task would spoil the mean.
        F.median(F.col("worker_cpu_points") - F.col("tasks_cpu_points")).alias("own_cpu_points"),
        F.max("worker_memory_mb").alias("worker_memory_mb"),
        F.max("tasks").alias("tasks"),
    )


def worker_windows(rates: DataFrame, crossings: DataFrame) -> DataFrame:
    """What each worker used beside its tasks and the tuples they took in, as points of a fit.

    The worker is taken for a component of its machine type: the same fit tells what it costs anyway
    and what it costs per tuple. How many of the tuples enter or leave it is known by the hour; in
    each window as many as in proportion.
    """
    known = F.count("*")
    worker = ("run", "hour", "host", "worker")
    moments = (
        rates.where(F.col("status") == USED)
        .groupBy(*worker, "machine_type", "time_ms")
        .agg(
            F.max("worker_cpu_points").alias("whole"),
            F.when(F.count("cpu_points") == known, F.sum("cpu_points")).alias("tasks"),
            F.when(F.count("rate") == known, F.sum("rate")).alias("rate"),
            F.sum("rate_variance").alias("rate_variance"),
        )
        .where("whole is not null and tasks is not null and rate is not null")
    )
    usual = F.avg("rate").over(Window.partitionBy(*worker))
    return (
        moments.withColumn("usual", usual)
        .join(crossings, [*worker], "left")
        .select(
            F.lit("").alias("topology"),
            F.lit(WORKER).alias("component"),
            "machine_type",
            "run",
            F.xxhash64("host", "worker").alias("task"),
            "time_ms",
            "rate",
            (F.col("whole") - F.col("tasks")).alias("cpu_points"),
            F.coalesce("rate_variance", F.lit(0.0)).alias("rate_variance"),
            F.lit(1.0).alias("instances"),
            F.xxhash64("run", "host", "worker", F.floor(F.col("time_ms") / _CLUSTER_MS)).alias(
                "cluster"
            ),
            F.when(F.col("usual") > 0, F.col("crossing") * F.col("rate") / F.col("usual")).alias(
                "crossing"
            ),
        )
    )


def utilisation(workers: DataFrame) -> DataFrame:
    """What each machine used in each hour; its workers' processes where known, else their tasks."""
    used = F.coalesce("worker_cpu_points", "tasks_cpu_points")
    machines = workers.groupBy("host", "machine_type", "hour", "minute").agg(
        F.sum(used).alias("cpu_points"),
        F.sum("worker_memory_mb").alias("memory_mb"),
        F.count("*").alias("workers"),
    )
    return machines.groupBy("host", "machine_type", "hour").agg(
        F.count("*").alias("minutes"),
        F.max("workers").alias("workers"),
        F.avg("cpu_points").alias("cpu_points_mean"),
        F.percentile_approx("cpu_points", 0.95, 10_000).alias("cpu_points_p95"),
        F.max("cpu_points").alias("cpu_points_most"),
        F.max("memory_mb").alias("memory_mb_most"),
    )


def worker_overheads(workers: DataFrame) -> DataFrame:
    """What a worker process costs beside its tasks, by machine type."""
    known = workers.where("own_cpu_points is not null")
    return known.groupBy("machine_type").agg(
        quartiles(F.col("own_cpu_points")).alias("quartiles"), F.count("*").alias("minutes")
    )


def quartiles(column: Column) -> Column:
    return F.percentile_approx(column, F.array(F.lit(0.25), F.lit(0.5), F.lit(0.75)), 10_000)

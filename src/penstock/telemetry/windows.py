"""Windows and rates: one row per task and window, with what was taken in, put out and used."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.telemetry.clean import USED, Settings
from penstock.telemetry.schemas import WINDOWS

_TASK = ("topology", "run", "component", "task", "host", "machine_type", "worker", "rack")
_COUNTER = ("component", "stream", "task")
_MEANS = (
    "execute_ms", "process_ms", "cpu_points", "worker_cpu_points", "memory_mb",
    "worker_memory_mb", "queue_fill", "latency_ms", "held_back",
)  # fmt: skip


def merged(windows: DataFrame, settings: Settings) -> DataFrame:
    """Short windows added up to ``window_s``: less noise, fewer rows. Event time decides."""
    if settings.window_s <= 0:
        return windows
    length_ms = int(settings.window_s * 1000)
    is_short = (F.col("status") == USED) & (F.col("window_ms") < length_ms)
    seconds = F.col("window_ms")

    def mean(name: str) -> Column:
        known = F.when(F.col(name).isNotNull(), seconds)
        return (F.sum(F.col(name) * seconds) / F.sum(known)).alias(name)

    short = (
        windows.where(is_short)
        # A window belongs where its middle lies.
        .withColumn("slot", F.floor((F.col("time_ms") - F.col("window_ms") / 2) / length_ms))
        .groupBy(*_TASK, "slot", "hour")
        .agg(
            F.max("time_ms").alias("time_ms"),
            F.sum("window_ms").alias("window_ms"),
            F.first("status").alias("status"),
            F.max("last_task").alias("last_task"),
            # Entries of one stream may stand in the list several times: whoever reads them adds up.
            *[_joined(name) for name in ("inputs", "outputs")],
            F.sum("produced").alias("produced"),
            F.min("sample_rate").alias("sample_rate"),
            *[mean(name) for name in _MEANS],
        )
    )
    return (
        windows.where(~is_short).select(*short.drop("slot").columns).unionByName(short.drop("slot"))
    )


def _joined(name: str) -> Column:
    counted = F.count(name)
    return F.when(counted > 0, F.flatten(F.collect_list(name))).alias(name)


def rates(windows: DataFrame) -> DataFrame:
    """Tuples per second of each task and window. What was not counted stays unknown, not zero."""
    seconds = F.col("window_ms") / 1000.0
    taken_in = _sum("inputs", "tuples")
    put_out = _sum("outputs", "tuples")
    # A spout takes in what it makes; where its writer does not say, the fullest of its streams.
    output = F.coalesce(
        F.col("produced"), F.array_max(F.transform("outputs", lambda o: o["tuples"]))
    )
    # It takes nothing in, and says so or says nothing.
    is_spout = F.col("inputs").isNull() | (F.size("inputs") == 0)
    # In merged windows a counter stands once for each of them; only both ends of the whole count.
    own = F.array_distinct(F.transform("inputs", lambda i: F.struct(*[i[n] for n in _COUNTER])))
    counters = F.when(is_spout, 1).otherwise(F.size(own))
    # Storm counts one tuple of every 1/p at a random place: at each end of a window the count is
    # off by a variance of (1/p)²/6, for each counter.
    variance = F.when(
        F.col("sample_rate") < 1,
        counters / (3.0 * F.pow("sample_rate", F.lit(2.0)) * F.pow(seconds, F.lit(2.0))),
    ).otherwise(0.0)
    values = {
        "window_s": seconds,
        "rate": F.coalesce(F.when(is_spout, output), taken_in) / seconds,
        "rate_variance": variance,
        "out_rate": put_out / seconds,
        "bytes_per_s": _sum("outputs", "bytes") / seconds,
    }
    return windows.select(*[values.get(name, F.col(name)).alias(name) for name in WINDOWS.names])


def _sum(name: str, counter: str) -> Column:
    return F.aggregate(
        name, F.lit(0.0), lambda total, entry: total + F.coalesce(entry[counter], F.lit(0.0))
    )

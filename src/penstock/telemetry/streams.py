"""What comes out for what goes in: counts by stream and block of time, and sums of them."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from penstock.telemetry.clean import USED, WARM_UP

#: Counts of neighbouring windows are off by the same tuples with opposite signs (one is in flight,
#: or falls between two samples), so errors are judged on blocks of about so many windows, where
#: they cancel as in the sum.
BLOCK_WINDOWS = 20


def stream_blocks(rates: DataFrame) -> DataFrame:
    """Tuples in, and out by stream, of every task in every block."""
    counted = rates.where(F.col("status").isin(USED, WARM_UP)).where("rate is not null")
    # Windows of about the same length share their blocks, although no two may be equally long.
    block_ms = 1000 * BLOCK_WINDOWS * F.pow(F.lit(2.0), F.round(F.log2("window_s")))
    scope = ("topology", "run", "component", "task", "hour")
    windows = counted.select(
        *scope,
        # By its beginning, so that blocks of all lengths are in order.
        (F.floor(F.col("time_ms") / block_ms) * block_ms).cast("bigint").alias("block"),
        (F.col("rate") * F.col("window_s")).alias("tuples_in"),
        "window_s",
        "outputs",
    )
    intake = windows.groupBy(*scope, "block").agg(
        F.sum("tuples_in").alias("tuples_in"), F.sum("window_s").alias("seconds")
    )
    output = F.col("output")
    put = (
        windows.select(*scope, "block", F.explode("outputs").alias("output"))
        .groupBy(*scope, "block", output["stream"].alias("stream"))
        .agg(
            F.sum(output["tuples"]).alias("tuples_out"),
            F.sum(output["bytes"]).alias("bytes"),
            F.sum(F.when(output["bytes"].isNotNull(), output["tuples"])).alias("sized_tuples"),
        )
    )
    return intake.join(put, [*scope, "block"])


def stream_sums(blocks: DataFrame) -> DataFrame:
    """Sums from which selectivity and its error follow, for both halves of the time."""
    stream = Window.partitionBy("topology", "component", "stream")
    middle = (F.min("block").over(stream) + F.max("block").over(stream)) / 2
    halves = blocks.withColumn("late", F.col("block") > middle)
    i, o = F.col("tuples_in"), F.col("tuples_out")
    keys = ("topology", "component", "stream")
    return halves.groupBy(*keys, "late").agg(
        F.count("*").alias("blocks"),
        F.sum(i).alias("i"),
        F.sum(o).alias("o"),
        F.sum(i * i).alias("ii"),
        F.sum(i * o).alias("io"),
        F.sum(o * o).alias("oo"),
        F.sum("bytes").alias("bytes"),
        F.sum("sized_tuples").alias("sized_tuples"),
        F.sum("seconds").alias("seconds"),
    )

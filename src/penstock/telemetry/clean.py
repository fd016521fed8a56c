"""From records to windows that can be counted: repeats set aside, totals turned into differences.

Frame to frame. The rules do not depend on the order in which records arrived, so that batch, live
and interrupted runs end with the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from penstock.model.telemetry import SAMPLE_FIELDS, Counters
from penstock.telemetry.reasons import Reason

#: A task reports once for one moment.
KEY = ("topology", "run", "task", "time_ms")
#: A series of totals belongs to one task in one worker process.
_SERIES = ("topology", "run", "task", "host", "worker")

#: Values of the column status.
USED, BASELINE, WARM_UP, UNKNOWN = "used", "baseline", "warm-up", "unknown"


@dataclass(frozen=True)
class Settings:
    """What a user may set about cleaning."""

    #: In a worker's first minute half of its CPU is the compiler's (measured on Storm).
    warm_up_s: float = 60.0
    #: Windows shorter than this are merged up to it; 0 leaves them as they came.
    window_s: float = 0.0


def repeated_keys(samples: DataFrame) -> DataFrame:
    """Hashes of the keys that occur more than once: few, so that the rest need not be sorted."""
    return (
        samples.groupBy(_key_hash().alias("key_hash")).count().where("count > 1").select("key_hash")
    )


def set_aside_repeats(samples: DataFrame, repeated: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Samples without repeats, and those set aside with the reason.

    Of equal records one stays. Records that contradict each other are all set aside: nothing says
    which of them is true, and taking the first would depend on the order of arrival.
    """
    flagged = samples.withColumn("key_hash", _key_hash()).join(
        repeated.withColumn("repeated", F.lit(True)), "key_hash", "left"
    )
    clear = flagged.where("repeated is null").select(*samples.columns)
    same_key = Window.partitionBy(*KEY)
    content = F.xxhash64(*[f.name for f in SAMPLE_FIELDS])
    doubtful = (
        flagged.where("repeated")
        .withColumn("content", content)
        .withColumn(
            "contradicted", F.min("content").over(same_key) != F.max("content").over(same_key)
        )
        .withColumn("place", F.row_number().over(same_key.orderBy("content", "file")))
        .withColumn(
            "reason",
            F.when(F.col("contradicted"), Reason.CONFLICT.value).when(
                F.col("place") > 1, Reason.DUPLICATE.value
            ),
        )
    )
    kept = clear.unionByName(doubtful.where("reason is null").select(*samples.columns))
    aside = doubtful.where("reason is not null").select(
        F.to_json(F.struct(*[f.name for f in SAMPLE_FIELDS])).cast("binary").alias("raw"),
        "reason",
        F.lit("").alias("field"),
        "file",
        "hour",
    )
    return kept, aside


def _key_hash() -> Column:
    return F.xxhash64(*KEY)


def differences(samples: DataFrame, settings: Settings) -> DataFrame:
    """Every row as counts of its own window, with the status that says what it is good for."""
    delta = samples.where(F.col("counters") == Counters.DELTA.value).withColumn(
        "status", _status(settings, F.lit(False))
    )
    series = Window.partitionBy(*_SERIES).orderBy("time_ms")
    counted = ("inputs", "outputs", "produced", "uptime_s", "time_ms")
    total = samples.where(F.col("counters") == Counters.TOTAL.value).withColumn(
        "before", F.lag(F.struct(*counted)).over(series)
    )
    before = F.col("before")
    total = (
        total.withColumn("window_ms", F.col("time_ms") - before["time_ms"])
        .withColumn("inputs", _since("inputs", ("component", "stream", "task")))
        .withColumn("outputs", _since("outputs", ("stream",)))
        .withColumn("produced", F.col("produced") - before["produced"])
    )
    fell = F.coalesce(
        F.exists("inputs", lambda entry: entry["tuples"] < 0)
        | F.exists("outputs", lambda entry: entry["tuples"] < 0)
        | (F.col("produced") < 0)
        | (F.col("uptime_s") < before["uptime_s"]),
        F.lit(False),
    )
    total = total.withColumn("status", _status(settings, before.isNull() | fell)).drop("before")
    return delta.unionByName(total)


def _since(name: str, key: tuple[str, ...]) -> Column:
    """Entries of a list of totals minus the same entries of the record before."""

    def earlier(same: Column, counter: str) -> Column:
        return F.aggregate(
            same, F.lit(0.0), lambda total, old: total + F.coalesce(old[counter], F.lit(0.0))
        )

    def difference(entry: Column) -> Column:
        same = F.filter(F.col("before")[name], lambda old: _same(entry, old, key))
        changed = entry
        for counter in ("tuples", "bytes"):
            # A stream that was not there before counted from zero.
            before = F.coalesce(earlier(same, counter), F.lit(0.0))
            changed = changed.withField(counter, entry[counter] - before)
        return changed

    return F.transform(name, difference)


def _same(entry: Column, old: Column, key: tuple[str, ...]) -> Column:
    equal = F.lit(True)
    for name in key:
        equal = equal & entry[name].eqNullSafe(old[name])
    return equal


def _status(settings: Settings, is_baseline: Column) -> Column:
    uncounted = F.col("inputs").isNull() & F.col("outputs").isNull() & F.col("produced").isNull()
    return (
        F.when(is_baseline, BASELINE)
        .when(uncounted, UNKNOWN)
        .when(F.col("uptime_s") < settings.warm_up_s, WARM_UP)
        .otherwise(USED)
    )

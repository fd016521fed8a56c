"""From records to windows that can be counted: repeats set aside, totals turned into differences.

Frame to frame. The rules do not depend on the order in which records arrived, so that batch, live
and interrupted runs end with the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nextafter

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from penstock.model.telemetry import SAMPLE_FIELDS, Counters
from penstock.telemetry.reasons import Reason

#: A task reports once for one moment.
KEY = ("topology", "run", "task", "time_ms")
#: A series of totals belongs to one task in one worker process.
_SERIES = ("topology", "run", "task", "host", "worker")

_HOUR_MS = 3_600_000

#: Values of the column status.
USED, BASELINE, WARM_UP, UNKNOWN = "used", "baseline", "warm-up", "unknown"


#: In a worker's first minute half of its CPU is the compiler's (measured on Storm).
USUAL_WARM_UP_S = 60.0


@dataclass(frozen=True)
class Settings:
    """What a user may set about cleaning."""

    #: Seconds of a worker that are left out; ``None``: a minute, or what fits a shorter run.
    warm_up_s: float | None = None
    #: Windows shorter than this are merged up to it; 0 leaves them as they came.
    window_s: float = 0.0


def fitting_warm_up_s(first_s: float | None, longest_s: float | None) -> float:
    """A minute; where no worker ran for two, half of the longest run, its first window at least.

    ``first_s`` is the least uptime at the end of a window, ``longest_s`` the most; ``None`` where
    no record has one. The first window has the start of the processes in it.
    """
    if first_s is None or longest_s is None or longest_s >= 2 * USUAL_WARM_UP_S:
        return USUAL_WARM_UP_S
    return min(USUAL_WARM_UP_S, max(longest_s / 2, nextafter(first_s, inf)))


def repeated_keys(samples: DataFrame) -> DataFrame:
    """Hashes of the keys that occur more than once: few, so that the rest need not be sorted."""
    return (
        samples.groupBy(_key_hash().alias("key_hash")).count().where("count > 1").select("key_hash")
    )


def doubtful(samples: DataFrame, repeated: DataFrame) -> DataFrame:
    """Records whose key occurs more than once, with the reason to set them aside, if any.

    Of equal records one stays. Records that contradict each other are all set aside: nothing says
    which of them is true, and taking the first would depend on the order of arrival.
    """
    same_key = Window.partitionBy(*KEY)
    content = F.xxhash64(*[f.name for f in SAMPLE_FIELDS])
    contradicted = F.min("content").over(same_key) != F.max("content").over(same_key)
    place = F.row_number().over(same_key.orderBy("content", "file"))
    return (
        samples.withColumn("key_hash", _key_hash())
        .join(repeated, "key_hash", "left_semi")
        .drop("key_hash")
        .withColumn("content", content)
        .withColumn(
            "reason",
            F.when(contradicted, Reason.CONFLICT.value).when(place > 1, Reason.DUPLICATE.value),
        )
        .drop("content")
    )


def without_repeats(samples: DataFrame, repeated: DataFrame, judged: DataFrame) -> DataFrame:
    """Every sample once: those never in doubt, and those of the doubtful that stay."""
    clear = (
        samples.withColumn("key_hash", _key_hash())
        .join(repeated, "key_hash", "left_anti")
        .drop("key_hash")
    )
    return clear.unionByName(judged.where("reason is null").select(*samples.columns))


def set_aside(judged: DataFrame) -> DataFrame:
    """Of the doubtful, what goes into quarantine."""
    return judged.where("reason is not null").select(
        F.to_json(F.struct(*[f.name for f in SAMPLE_FIELDS])).cast("binary").alias("raw"),
        "reason",
        F.lit("").alias("field"),
        "file",
        "hour",
    )


def _key_hash() -> Column:
    return F.xxhash64(*KEY)


def differences(samples: DataFrame, settings: Settings, *, totals: bool = True) -> DataFrame:
    """Every row as counts of its own window, with the status that says what it is good for.

    ``totals`` says that there may be totals among the samples; else none are looked for.
    """
    delta = samples.where(F.col("counters") == Counters.DELTA.value).withColumn(
        "status", _status(settings, F.lit(False))
    )
    if not totals:
        return delta
    series = Window.partitionBy(*_SERIES).orderBy("time_ms")
    counted = ("inputs", "outputs", "produced", "uptime_s", "time_ms")
    last = F.lag(F.struct(*counted)).over(series)
    # Live, only the hour before is at hand: history must not look further back.
    hours = F.floor(F.col("time_ms") / _HOUR_MS) - F.floor(last["time_ms"] / _HOUR_MS)
    total = samples.where(F.col("counters") == Counters.TOTAL.value).withColumn(
        "before", F.when(hours <= 1, last)
    )
    before = F.col("before")
    total = (
        total.withColumn("window_ms", F.col("time_ms") - before["time_ms"])
        # Not counted the time before: the first of its series, not what came since the start.
        .withColumn("begins", _begins("inputs") | _begins("outputs"))
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
    total = total.withColumn("status", _status(settings, before.isNull() | F.col("begins") | fell))
    return delta.unionByName(total.drop("before", "begins"))


def _begins(name: str) -> Column:
    return F.col(name).isNotNull() & F.col("before")[name].isNull()


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
    warm_up_s = USUAL_WARM_UP_S if settings.warm_up_s is None else settings.warm_up_s
    uncounted = F.col("inputs").isNull() & F.col("outputs").isNull() & F.col("produced").isNull()
    return (
        F.when(is_baseline, BASELINE)
        .when(uncounted, UNKNOWN)
        .when(F.col("uptime_s") < warm_up_s, WARM_UP)
        .otherwise(USED)
    )

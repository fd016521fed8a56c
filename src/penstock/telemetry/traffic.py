"""Who sends how much to whom: between instances, and from there workers, machines and racks.

A writer that knows the source task of every tuple (ours does) gives exact traffic. Storm's own
counters know the source *component* only; then the tuples are dealt out by what each of its tasks
put on that stream, and the row says that it is an estimate. It cannot see that local-or-shuffle
keeps tuples at home.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from penstock.telemetry.clean import USED, WARM_UP

#: From near to far.
DISTANCES = ("same worker", "same machine", "same rack", "other rack")
#: Where an instance is, by each of these.
LEVELS = {
    "worker": ("host", "worker"),
    "machine": ("host",),
    "rack": ("rack",),
}
_SCOPE = ("topology", "run", "hour")
#: Stands for all streams; no stream is called so.
_ANY = ""
_ENTRIES = "array<struct<by: string, tuples: double>>"
#: What names of Storm's own components begin with.
_SYSTEM = "__"
_PLACE = ("host", "worker", "rack")


def instance_traffic(rates: DataFrame) -> DataFrame:
    """Tuples between every two instances that exchange any, by hour."""
    counted = rates.where(F.col("status").isin(USED, WARM_UP))
    received = _received(counted)
    exact = _from_known_tasks(received.where("source_task is not null"), counted)
    shared = _dealt_out(received.where("source_task is null"), counted)
    pairs = exact.unionByName(shared)
    return pairs.select(
        "*",
        (F.col("tuples") / F.col("seconds")).alias("tuples_per_s"),
        (F.col("bytes") / F.col("seconds")).alias("bytes_per_s"),
        _distance().alias("distance"),
    )


def place_traffic(traffic: DataFrame) -> DataFrame:
    """The same tuples between workers, machines and racks, by hour: one row per level and pair.

    A sender that is not known is null; a rack that nobody named has no row.
    """
    levels = [_at_level(traffic, level) for level in LEVELS]
    return reduce(DataFrame.unionByName, levels)


def worker_crossings(traffic: DataFrame) -> DataFrame:
    """Tuples/s that enter or leave each worker, by hour; unknown where a sender is not known.

    Acknowledgements back to spouts are left out, as in the model, where ackers send nothing.
    """
    counted = traffic.where(~is_system("source"))
    crossing = F.when(F.col("distance") == DISTANCES[0], 0.0).when(
        F.col("distance").isNotNull(), F.col("tuples_per_s")
    )
    ends = [
        counted.select(
            "run",
            "hour",
            F.col(f"{end}_host").alias("host"),
            F.col(f"{end}_worker").alias("worker"),
            crossing.alias("crossing"),
        )
        for end in ("source", "target")
    ]
    known = F.count("crossing") == F.count("*")
    return (
        reduce(DataFrame.unionByName, ends)
        .where("worker is not null")
        .groupBy("run", "hour", "host", "worker")
        .agg(F.when(known, F.sum("crossing")).alias("crossing"))
    )


def is_system(name: str) -> Column:
    """Whether a column names one of Storm's own components."""
    return F.col(name).startswith(_SYSTEM)


def _at_level(traffic: DataFrame, level: str) -> DataFrame:
    source, target = (
        F.concat_ws("/", *[F.col(f"{end}_{name}") for name in LEVELS[level]])
        for end in ("source", "target")
    )
    ends = traffic.select(
        *_SCOPE,
        F.lit(level).alias("level"),
        # Joining nulls gives an empty text.
        F.nullif(source, F.lit("")).alias("source"),
        F.nullif(target, F.lit("")).alias("target"),
        "tuples_per_s",
        "bytes_per_s",
    )
    keys = (*_SCOPE, "level", "source", "target")
    return ends.where("target is not null").groupBy(*keys).agg(
        F.sum("tuples_per_s").alias("tuples_per_s"), F.sum("bytes_per_s").alias("bytes_per_s")
    )  # fmt: skip


def _received(counted: DataFrame) -> DataFrame:
    """What each task took in, by source and stream, and in how many seconds."""
    # Seconds are those in which the task was watched, with or without tuples from that source.
    by_task = (*_SCOPE, "component", "task", *_PLACE)
    flat = counted.where("inputs is not null").select(
        *by_task, "window_s", F.posexplode_outer("inputs").alias("place", "input")
    )
    watched = F.sum(F.when(F.coalesce(F.col("place"), F.lit(0)) == 0, F.col("window_s")))
    entry = F.col("input")
    sums = flat.groupBy(
        *by_task, entry["component"].alias("source"), entry["stream"].alias("stream"),
        entry["task"].alias("source_task"),
    ).agg(
        F.sum(entry["tuples"]).alias("tuples"), F.sum(entry["bytes"]).alias("bytes"),
        watched.alias("own_seconds"),
    )  # fmt: skip
    # The list of a window is split over several rows: its length counts once, for the task.
    seconds = F.sum("own_seconds").over(Window.partitionBy(*by_task))
    return (
        sums.withColumn("seconds", seconds)
        .where("source is not null and tuples > 0 and seconds > 0")
        .select(
            *_SCOPE,
            "source",
            "stream",
            "source_task",
            F.col("component").alias("target"),
            F.col("task").alias("target_task"),
            *[F.col(name).alias(f"target_{name}") for name in _PLACE],
            "tuples",
            "bytes",
            "seconds",
        )
    )


def _from_known_tasks(received: DataFrame, counted: DataFrame) -> DataFrame:
    """Add where the source task ran; one that moved within the hour counts where it was longest.

    A record may stand for several tasks (an executor's): tuples of any of them are its tuples.
    """
    longest = Window.partitionBy(*_SCOPE, "task").orderBy(F.desc("seconds"), "sender", *_PLACE)
    last = F.coalesce("last_task", "task")
    homes = (
        counted.groupBy(*_SCOPE, "task", last.alias("last"), *_PLACE)
        .agg(F.sum("window_s").alias("seconds"))
        .withColumn("sender", F.col("task"))
        .withColumn("task", F.explode(F.sequence("sender", "last")))
        .withColumn("place", F.row_number().over(longest))
        .where("place = 1")
        .select(
            *_SCOPE,
            F.col("task").alias("source_task"),
            "sender",
            *[F.col(name).alias(f"source_{name}") for name in _PLACE],
        )
    )
    joined = received.join(homes, [*_SCOPE, "source_task"], "left")
    sender = F.coalesce("sender", "source_task").alias("source_task")
    counts = ("tuples", "bytes")
    keys = [c for c in joined.columns if c not in (*counts, "sender", "source_task")]
    summed = joined.groupBy(*keys, sender).agg(*[F.sum(name).alias(name) for name in counts])
    return summed.withColumn("estimated", F.lit(False))


def _dealt_out(received: DataFrame, counted: DataFrame) -> DataFrame:
    """Share what came from a component over its tasks, by what each of them put on the stream.

    Storm counts its acknowledgements where they arrive but not where they are sent: on a stream
    that nobody says to have put anything on, by what each of them took in.
    """
    shares = _shares(counted)
    by_stream = [*_SCOPE, "source", "stream"]
    named = shares.where(F.col("by") != _ANY).select(*_SCOPE, "source", F.col("by").alias("stream"))
    how = F.when(F.col("named"), F.col("stream")).otherwise(_ANY)
    marked = received.drop("source_task").join(
        named.distinct().withColumn("named", F.lit(True)), by_stream, "left"
    )
    # Left: a source that never reported still sent these tuples, from we do not know where.
    joined = marked.withColumn("by", how).join(shares, [*_SCOPE, "source", "by"], "left")
    share = F.coalesce(F.col("share"), F.lit(1.0))
    passing = ("tuples", "bytes", "share", "sender", "named", "by")
    return joined.select(
        *[name for name in joined.columns if name not in passing],
        F.col("sender").alias("source_task"),
        (F.col("tuples") * share).alias("tuples"),
        (F.col("bytes") * share).alias("bytes"),
        F.lit(True).alias("estimated"),
    )


def _shares(counted: DataFrame) -> DataFrame:
    """Part of each task in what its component put on each stream, and on any."""
    put = F.transform("outputs", lambda o: F.struct(o["stream"].alias("by"), o["tuples"]))
    on_any = F.struct(F.lit(_ANY).alias("by"), (F.col("rate") * F.col("window_s")).alias("tuples"))
    entries = F.concat(F.coalesce(put, F.array().cast(_ENTRIES)), F.array(on_any))
    sent = (
        counted.select(*_SCOPE, "component", "task", *_PLACE, F.explode(entries).alias("entry"))
        .groupBy(*_SCOPE, "component", F.col("entry.by").alias("by"), "task", *_PLACE)
        .agg(F.sum("entry.tuples").alias("sent"))
        .where("sent > 0")
    )
    all_tasks = Window.partitionBy(*_SCOPE, "component", "by")
    return sent.select(
        *_SCOPE,
        F.col("component").alias("source"),
        "by",
        F.col("task").alias("sender"),
        *[F.col(name).alias(f"source_{name}") for name in _PLACE],
        (F.col("sent") / F.sum("sent").over(all_tasks)).alias("share"),
    )


def _distance() -> Column:
    def same(name: str) -> Column:
        return F.col(f"source_{name}") == F.col(f"target_{name}")

    return (
        F.when(F.col("source_host").isNull(), None)
        .when(same("host") & same("worker"), DISTANCES[0])
        .when(same("host"), DISTANCES[1])
        .when(same("rack"), DISTANCES[2])
        .otherwise(DISTANCES[3])
    )

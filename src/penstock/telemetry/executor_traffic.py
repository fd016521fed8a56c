"""Traffic between instances as a profile carries it: of one run of each topology, heaviest first.

The newest run is the one that was seen last; tasks of an earlier one are other tasks. The rate of a
pair is a mean over the time in which its target was watched. At most ``MOST_PAIRS`` pairs are
listed, an equal part of them for each topology, the heaviest of each; what is left out is counted.
Cost: sums over the tables of streams and traffic, which have a row per pair and hour, not per
record.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from penstock.model.instance_traffic import InstanceTraffic
from penstock.telemetry.fit.rounding import rounded
from penstock.telemetry.traffic import is_system

#: Pairs of instances in one profile: half a megabyte of JSON.
MOST_PAIRS = 10_000
_RUN = ("topology", "run")
_PAIR = ("topology", "run", "source", "source_task", "target", "target_task")


def executor_traffic(
    traffic: DataFrame, streams: DataFrame, most_pairs: int = MOST_PAIRS
) -> tuple[InstanceTraffic, ...]:
    """Of every topology that was seen, by name."""
    runs = newest_runs(traffic, streams)
    members = task_lists(traffic, streams, runs).collect()
    topologies = {row["topology"] for row in members}
    if not topologies:
        return ()
    each = max(1, most_pairs // len(topologies))
    listed = heaviest(task_pairs(traffic, runs), each).collect()
    return _as_traffic(members, listed)


def newest_runs(traffic: DataFrame, streams: DataFrame) -> DataFrame:
    """The run of each topology that was seen last; of equals the one whose name comes last."""
    never = F.lit(None).cast("bigint").alias("block")
    seen = streams.select(*_RUN, "hour", "block").unionByName(traffic.select(*_RUN, "hour", never))
    last = seen.groupBy(*_RUN).agg(F.max(F.struct("hour", "block")).alias("last"))
    return last.groupBy("topology").agg(F.max(F.struct("last", "run"))["run"].alias("run"))


def task_lists(traffic: DataFrame, streams: DataFrame, runs: DataFrame) -> DataFrame:
    """Tasks of each component of these runs. One that never sent or received is not known."""
    senders = streams.select(*_RUN, "component", "task")
    for end in ("source", "target"):
        named = traffic.select(
            *_RUN, F.col(end).alias("component"), F.col(f"{end}_task").alias("task")
        )
        senders = senders.unionByName(named)
    return (
        senders.where("task is not null")
        .join(F.broadcast(runs), list(_RUN), "left_semi")
        .groupBy(*_RUN, "component")
        .agg(F.sort_array(F.collect_set("task")).alias("tasks"))
    )


def task_pairs(traffic: DataFrame, runs: DataFrame) -> DataFrame:
    """Mean tuples/s of every pair of tasks of these runs.

    Acknowledgements back to spouts are left out, as in the model, where ackers send nothing.
    """
    own = traffic.join(F.broadcast(runs), list(_RUN), "left_semi").where(~is_system("source"))
    target = (*_RUN, "target_task")
    # All rows of a target at one place have the time it was watched there in that hour.
    places = [f"target_{name}" for name in ("host", "worker", "rack")]
    stays = own.groupBy(*target, "hour", *places).agg(F.max("seconds").alias("seconds"))
    watched = stays.groupBy(*target).agg(F.sum("seconds").alias("seconds"))
    sums = own.groupBy(*_PAIR).agg(
        F.sum("tuples").alias("tuples"), F.max("estimated").alias("estimated")
    )
    rate = (F.col("tuples") / F.col("seconds")).alias("tuples_per_s")
    return sums.join(watched, list(target)).select(*_PAIR, rate, "estimated")


def heaviest(pairs: DataFrame, most: int) -> DataFrame:
    """So many pairs of each topology; the others as one row without tasks.

    Among the others are the pairs whose source task is not known.
    """
    order = (F.desc("tuples_per_s"), "source_task", "target_task")
    known = F.col("source_task").isNotNull()
    place = F.row_number().over(Window.partitionBy("topology", known).orderBy(*order))
    ranked = pairs.withColumn("place", F.when(known, place))
    is_listed = F.coalesce(F.col("place") <= most, F.lit(False))
    return (
        ranked.withColumn("source_task", F.when(is_listed, F.col("source_task")))
        .withColumn("target_task", F.when(is_listed, F.col("target_task")))
        .groupBy(*_RUN, "source_task", "target_task")
        .agg(
            F.sum("tuples_per_s").alias("tuples_per_s"),
            F.count("*").alias("pairs"),
            F.max("estimated").alias("estimated"),
        )
    )


def _as_traffic(members: list[Any], listed: list[Any]) -> tuple[InstanceTraffic, ...]:
    tasks: dict[str, list[Any]] = defaultdict(list)
    pairs: dict[str, list[Any]] = defaultdict(list)
    others: dict[str, Any] = {}
    for row in members:
        tasks[row["topology"]].append(row)
    for row in listed:
        if row["source_task"] is None:
            others[row["topology"]] = row
        else:
            pairs[row["topology"]].append(row)
    several = len(tasks) > 1
    made = []
    for topology in sorted(tasks):
        rows = sorted(
            pairs[topology],
            key=lambda r: (-rounded(r["tuples_per_s"]), r["source_task"], r["target_task"]),
        )
        rest = others.get(topology)
        made.append(
            InstanceTraffic(
                tasks=tuple(sorted((r["component"], tuple(r["tasks"])) for r in tasks[topology])),
                pairs=tuple(
                    (r["source_task"], r["target_task"], rounded(r["tuples_per_s"])) for r in rows
                ),
                topology=topology if several else "",
                run=tasks[topology][0]["run"],
                estimated=any(row["estimated"] for row in rows),
                pairs_left_out=int(rest["pairs"]) if rest else 0,
                left_out_per_s=rounded(rest["tuples_per_s"]) if rest else 0.0,
            )
        )
    return tuple(made)

"""Traffic between instances as a profile carries it: of one run of each topology, heaviest first.

The newest run is the one that was seen last; tasks of an earlier one are other tasks. The rate of a
pair is a mean over the time in which its target was watched. At most ``MOST_PAIRS`` pairs are
listed, an equal part of them for each topology, the heaviest of each; what is left out is counted.
Cost: sums over the tables of streams and traffic, which have a row per pair and hour, not per
record; half a dozen small jobs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from penstock.model.instance_traffic import InstanceTraffic
from penstock.telemetry.fit.rounding import rounded

#: Pairs of instances in one profile: half a megabyte of JSON.
MOST_PAIRS = 10_000
#: What names of Storm's own components begin with.
_SYSTEM = "__"
_RUN = ("topology", "run")
_PAIR = ("topology", "run", "source_task", "target_task")


def executor_traffic(
    traffic: DataFrame, streams: DataFrame, most_pairs: int = MOST_PAIRS
) -> tuple[InstanceTraffic, ...]:
    """Of every topology that was seen, by name."""
    members = task_lists(traffic, streams).collect()
    runs = newest_runs(members)
    if not runs:
        return ()
    tasks: dict[str, list[Any]] = defaultdict(list)
    for row in members:
        if row["run"] == runs[row["topology"]]:
            tasks[row["topology"]].append(row)
    pairs = heaviest(task_pairs(traffic, runs), max(1, most_pairs // len(runs))).collect()
    rows_of: dict[str, list[Any]] = defaultdict(list)
    for row in pairs:
        rows_of[row["topology"]].append(row)
    return tuple(
        _traffic_of(name if len(runs) > 1 else "", runs[name], tasks[name], rows_of[name])
        for name in sorted(runs)
    )


def task_lists(traffic: DataFrame, streams: DataFrame) -> DataFrame:
    """Tasks of each component of each run, and when they were last seen.

    One that never sent or received anything is not known.
    """
    seen = streams.select(*_RUN, "component", "task", "hour", "block")
    never = F.lit(None).cast("bigint").alias("block")
    for end in ("source", "target"):
        component, task = F.col(end).alias("component"), F.col(f"{end}_task").alias("task")
        seen = seen.unionByName(traffic.select(*_RUN, component, task, "hour", never))
    return (
        seen.where("task is not null")
        .groupBy(*_RUN, "component")
        .agg(
            F.sort_array(F.collect_set("task")).alias("tasks"),
            F.max(F.struct("hour", "block")).alias("last"),
        )
    )


def newest_runs(members: Sequence[Any]) -> dict[str, str]:
    """The run of each topology that was seen last; of equals the one whose name comes last."""
    newest: dict[str, tuple[str, int, str]] = {}
    for row in members:
        seen = (row["last"]["hour"], row["last"]["block"] or 0, row["run"])
        newest[row["topology"]] = max(seen, newest.get(row["topology"], seen))
    return {topology: run for topology, (_, _, run) in newest.items()}


def task_pairs(traffic: DataFrame, runs: Mapping[str, str]) -> DataFrame:
    """Mean tuples/s of every pair of tasks of these runs.

    Acknowledgements back to spouts are left out, as in the model, where ackers send nothing.
    """
    listed = pa.table({"topology": list(runs), "run": list(runs.values())})
    chosen = F.broadcast(traffic.sparkSession.createDataFrame(listed))
    target = (*_RUN, "target_task")
    own = (
        traffic.join(chosen, list(_RUN), "left_semi")
        .where(~F.col("source").startswith(_SYSTEM))
        # All that follows is of one target: rows move once.
        .repartition(*target)
    )
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


def _traffic_of(
    topology: str, run: str, members: Sequence[Any], rows: Sequence[Any]
) -> InstanceTraffic:
    """Of the rows of one topology; the one without tasks is of all that is left out."""
    listed = sorted(
        (row for row in rows if row["source_task"] is not None),
        key=lambda row: (-rounded(row["tuples_per_s"]), row["source_task"], row["target_task"]),
    )
    rest = next((row for row in rows if row["source_task"] is None), None)
    return InstanceTraffic(
        tasks=tuple(sorted((row["component"], tuple(row["tasks"])) for row in members)),
        pairs=tuple(
            (row["source_task"], row["target_task"], rounded(row["tuples_per_s"])) for row in listed
        ),
        topology=topology,
        run=run,
        estimated=any(row["estimated"] for row in listed),
        pairs_left_out=int(rest["pairs"]) if rest else 0,
        left_out_per_s=rounded(rest["tuples_per_s"]) if rest else 0.0,
    )

"""What telemetry says of plans: rates and CPU of the time in which each ran exactly as planned.

Frame to frame, until :func:`what_ran` adds up the little that is left. A stretch of time counts for
a plan if every instance that reported in it was where the plan has it, and all of them did: a
machine that was lost, a rebalance by hand or telemetry that was not collected leave stretches out
instead of spoiling figures. Stretches are as short as they can be: workers from before a plan go on
reporting for seconds after Nimbus has given their executors away: that should not cost a minute.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.change.history import Receipt, WhatRan, ends_ms
from penstock.model.plan import Plan
from penstock.telemetry.slots.counts import STATUSES, USED

#: A stretch has so many windows, so that all tasks report in it.
_WINDOWS = 3
_FOREVER_MS = 2**62
_STRETCH = ("id", "stretch")
_PLACE = ("topology", "component", "machine")
_TASK = (*_STRETCH, "topology", "component", "machine", "worker", "task")
#: Topology, component and machine.
Place = tuple[str, str, str]
_FIGURES = ("rate", "cpu_points", "worker_cpu_points", "queue_fill", "held_back", "latency_ms")


def what_ran(
    rates: DataFrame, measurable: Sequence[Receipt], everything: Sequence[Receipt]
) -> tuple[dict[str, WhatRan], dict[str, Counter[Place]]]:
    """By plan put in force what ran; and of the others how many windows each place has."""
    windows = _windows(rates, measurable, everything).persist()
    try:
        seen: dict[str, Counter[Place]] = {}
        for row in windows.groupBy("id", *_PLACE).count().collect():
            place = (row["topology"], row["component"], row["machine"])
            seen.setdefault(row["id"], Counter())[place] = int(row["count"])
        as_planned = windows.join(_stretches_as_planned(windows, measurable), [*_STRETCH], "semi")
        tasks = _by_task(as_planned).persist()
        measured = _added_up(tasks)
        tasks.unpersist()
    finally:
        windows.unpersist()
    return measured, {key: places for key, places in seen.items() if key not in measured}


def _windows(
    rates: DataFrame, measurable: Sequence[Receipt], everything: Sequence[Receipt]
) -> DataFrame:
    """Windows of the plans' components while the plans were in force, by plan and stretch."""
    spark = rates.sparkSession
    spans = [
        (a.id, topology, run, a.ended_ms, ends_ms(a, everything) or _FOREVER_MS)
        for a in measurable
        for topology, run in sorted(a.runs.items())
    ]
    components = [
        (a.id, t.name, c.name)
        for a in measurable
        for t in a.plan.problem.topologies
        for c in t.components
    ]
    names = [(a.id, *pair) for a in measurable for pair in sorted(machine_of_host(a.plan).items())]
    span = spark.createDataFrame(
        spans, "id string, topology string, run string, began_ms bigint, ends_ms bigint"
    )
    own = spark.createDataFrame(components, "id string, topology string, component string")
    machines = spark.createDataFrame(names, "id string, host string, machine string")
    begins = F.col("time_ms") - F.col("window_s") * 1000
    inside = (begins >= F.col("began_ms")) & (F.col("time_ms") <= F.col("ends_ms"))
    windows = (
        rates.where(F.col("status") == STATUSES[USED])
        .join(F.broadcast(span), ["topology", "run"])
        .where(inside)
        .join(F.broadcast(own), ["id", "topology", "component"])
        .join(F.broadcast(machines), ["id", "host"], "left")
        # A machine that the plan's cluster did not have keeps its name, and fits no plan.
        .withColumn("machine", F.coalesce("machine", "host"))
    )
    length_ms = int(1000 * _WINDOWS * _usual_window_s(windows))
    return windows.withColumn("stretch", F.floor(F.col("time_ms") / length_ms) * length_ms)


def _usual_window_s(windows: DataFrame) -> float:
    """Of the task that reports most seldom. One late report on a busy machine changes nothing."""
    of_task = windows.groupBy("topology", "component", "task").agg(F.median("window_s").alias("s"))
    return float(of_task.agg(F.max("s")).collect()[0][0] or 1.0)


def machine_of_host(plan: Plan) -> dict[str, str]:
    """Machines by the names that telemetry may have for them: their own, or their host's."""
    machines = plan.problem.cluster.machines
    hosts = Counter(m.host for m in machines if m.host)
    names = {m.host: m.name for m in machines if m.host and hosts[m.host] == 1}
    return names | {m.name: m.name for m in machines}


def _stretches_as_planned(windows: DataFrame, measurable: Sequence[Receipt]) -> DataFrame:
    planned = [
        (a.id, topology, component, machine, count)
        for a in measurable
        for (topology, component, machine), count in sorted(instances(a.plan).items())
    ]
    frame = windows.sparkSession.createDataFrame(
        planned, "id string, topology string, component string, machine string, planned bigint"
    )
    plan_places = frame.groupBy("id").agg(F.count("*").alias("wanted"))
    observed = windows.groupBy(*_STRETCH, *_PLACE).agg(F.count_distinct("task").alias("tasks"))
    fits = F.coalesce(F.col("tasks") == F.col("planned"), F.lit(False))
    return (
        observed.join(F.broadcast(frame), ["id", *_PLACE], "left")
        .groupBy(*_STRETCH)
        .agg(F.count_if(fits).alias("fitting"), F.count("*").alias("places"))
        .join(F.broadcast(plan_places), "id")
        .where("fitting = places and places = wanted")
        .select(*_STRETCH)
    )


def instances(plan: Plan) -> Counter[Place]:
    """How many instances of a component a machine has."""
    return Counter(
        (*component, place.machine) for component, places in plan.places.items() for place in places
    )


def _by_task(windows: DataFrame) -> DataFrame:
    def mean(name: str) -> Column:
        seconds = F.when(F.col(name).isNotNull(), F.col("window_s"))
        return (F.sum(F.col(name) * F.col("window_s")) / F.sum(seconds)).alias(name)

    return windows.groupBy(*_TASK).agg(
        *[mean(name) for name in _FIGURES],
        F.min(F.col("time_ms") - F.col("window_s") * 1000).alias("from_ms"),
        F.max("time_ms").alias("to_ms"),
    )


def _added_up(tasks: DataFrame) -> dict[str, WhatRan]:
    spans = tasks.groupBy("id").agg(
        F.min("from_ms").alias("from_ms"),
        F.max("to_ms").alias("to_ms"),
        F.count_distinct("stretch").alias("stretches"),
    )
    components = (
        tasks.groupBy(*_STRETCH, "topology", "component")
        .agg(
            F.sum("rate").alias("rate"),
            *[F.avg(name).alias(name) for name in ("queue_fill", "held_back", "latency_ms")],
        )
        .groupBy("id", "topology", "component")
        .agg(*[F.avg(n).alias(n) for n in ("rate", "queue_fill", "held_back", "latency_ms")])
    )
    # All tasks of a worker tell the worker's own figure; a worker has one topology.
    workers = tasks.groupBy(*_STRETCH, "machine", "topology", "worker").agg(
        F.max("worker_cpu_points").alias("process"),
        # Unknown for one task is unknown for the sum.
        F.when(F.count("cpu_points") == F.count("*"), F.sum("cpu_points")).alias("threads"),
    )
    machines = (
        workers.groupBy(*_STRETCH, "machine")
        .agg(*[_whole_sum(name) for name in ("process", "threads")])
        .groupBy("id", "machine")
        .agg(F.avg("process").alias("process"), F.avg("threads").alias("threads"))
    )
    by_component, by_machine = _rows_by_id(components), _rows_by_id(machines)
    return {
        row["id"]: _what_ran(row, by_component.get(row["id"], []), by_machine.get(row["id"], []))
        for row in spans.orderBy("id").collect()
    }


def _whole_sum(name: str) -> Column:
    return F.when(F.count(name) == F.count("*"), F.sum(name)).alias(name)


def _rows_by_id(frame: DataFrame) -> Mapping[str, list[Any]]:
    rows: dict[str, list[Any]] = {}
    for row in frame.orderBy(*frame.columns[:3]).collect():
        rows.setdefault(row["id"], []).append(row)
    return rows


def _what_ran(span: Any, components: list[Any], machines: list[Any]) -> WhatRan:
    def known(name: str) -> dict[tuple[str, str], float]:
        return {
            (r["topology"], r["component"]): float(r[name])
            for r in components
            if r[name] is not None
        }

    def by_topology(name: str) -> dict[str, float]:
        """The largest of the components that say it: of spouts, the one most held back."""
        rates: dict[str, float] = {}
        for (topology, _), value in known(name).items():
            rates[topology] = max(rates.get(topology, 0.0), value)
        return rates

    return WhatRan(
        from_ms=int(span["from_ms"]),
        to_ms=int(span["to_ms"]),
        stretches=int(span["stretches"]),
        rate_per_s=known("rate"),
        held_back=by_topology("held_back"),
        queue_fill=known("queue_fill"),
        latency_ms=by_topology("latency_ms"),
        threads_cpu={
            r["machine"]: float(r["threads"]) for r in machines if r["threads"] is not None
        },
        processes_cpu={
            r["machine"]: float(r["process"]) for r in machines if r["process"] is not None
        },
    )

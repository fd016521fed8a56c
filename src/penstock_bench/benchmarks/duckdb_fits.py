"""The pipeline's fits over tables that DuckDB made: the same estimators, fed from SQL.

A sample of every group goes through the pipeline's own bulk fit, in two processes; one step over
all windows comes from sums in SQL. The sample is another one than Spark takes (the hash functions
differ), so that estimates agree to a part of a standard error and not to the digit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.model.arrays import FloatVector, IntVector
from penstock.model.cpu_form import FormKind
from penstock.telemetry.findings import CostFit
from penstock.telemetry.fit import costs
from penstock.telemetry.fit.extrapolate import Estimate
from penstock.telemetry.fit.group_fit import GroupKey, fit_groups
from penstock.telemetry.fit.points import Points
from penstock.telemetry.fit.scatter import BISQUARE
from penstock.telemetry.fit.worker_costs import WORKER, crossing_cost
from penstock.telemetry.slots.counts import STATUSES
from penstock.telemetry.slots.fit_points import GROUP
from penstock.telemetry.slots.sums import MOST_SAMPLED

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_CLUSTER_MS = 600_000
_BUCKETS = 1_000_000
#: Fewer groups than this are fitted sooner than a second process starts.
_FEW_GROUPS = 200
_GROUP = ", ".join(GROUP)
USED = STATUSES[0]
#: Hashes of DuckDB have 64 bits without a sign.
_SIGNED = "(hash({}) >> 1)::bigint"
_COLUMNS = ("rate", "cpu_points", "rate_variance", "time_ms", "task", "cluster", "instances")


def points_of(columns: Mapping[str, Any]) -> Points:
    def numbers(name: str) -> FloatVector:
        return np.asarray(columns[name]).astype(np.float64)

    def whole(name: str) -> IntVector:
        return np.asarray(columns[name]).astype(np.int64)

    return Points(
        rate=numbers("rate"),
        cpu=numbers("cpu_points"),
        rate_variance=numbers("rate_variance"),
        time_ms=whole("time_ms"),
        task=whole("task"),
        cluster=whole("cluster"),
        instances=numbers("instances"),
    )


def views(rates: str, traffic: str, workers: str) -> list[str]:
    """Points of the fits of components and of workers, as views over the tables."""
    cluster = _SIGNED.format(f"run, task, time_ms // {_CLUSTER_MS}")
    return [
        f"""create or replace temp table instances as
            select topology, run, component, hour, count(distinct task)::double as instances
            from {rates} group by all""",
        f"""create or replace temp view points as
            select {_GROUP}, run, task, time_ms, rate, cpu_points, rate_variance, instances,
                   {cluster} as cluster
            from {rates} join instances using (topology, run, component, hour)
            where status = '{USED}' and rate is not null and cpu_points is not null""",
        f"""create or replace temp table group_counts as
            select {_GROUP}, count(*) as windows, count(cpu_points) as with_cpu,
                   count(rate) as with_rate, approx_quantile(memory_mb, 0.95) as memory_mb,
                   count(*) filter (status = '{USED}' and rate is not null
                                    and cpu_points is not null) as samples
            from {rates} group by all""",
        f"""create or replace temp table overheads as
            select machine_type, quantile_disc(own_cpu_points, [0.25, 0.5, 0.75]) as quartiles,
                   count(*) as minutes
            from {workers} where own_cpu_points is not null group by all""",
        _crossings(traffic),
        _worker_points(rates),
        """create or replace temp table worker_counts as
           select topology, component, machine_type, count(*) as samples
           from worker_points group by all""",
    ]


def _crossings(traffic: str) -> str:
    """Tuples/s that enter or leave each worker, by hour; unknown where a sender is."""
    ends = " union all ".join(
        f"""select run, hour, {end}_host as host, {end}_worker as worker,
                   case when distance = 'same worker' then 0.0
                        when distance is not null then tuples_per_s end as crossing
            from {traffic} where not starts_with(source, '__')"""
        for end in ("source", "target")
    )
    return f"""create or replace temp table crossings as
        select run, hour, host, worker,
               case when count(crossing) = count(*) then sum(crossing) end as crossing
        from ({ends}) where worker is not null group by all"""


def _worker_points(rates: str) -> str:
    cluster = _SIGNED.format(f"run, host, worker, time_ms // {_CLUSTER_MS}")
    return f"""create or replace temp table worker_points as
        with moments as (
            select run, hour, host, worker, machine_type, time_ms,
                   max(worker_cpu_points) as whole,
                   case when count(cpu_points) = count(*) then sum(cpu_points) end as tasks,
                   case when count(rate) = count(*) then sum(rate) end as rate,
                   sum(rate_variance) as rate_variance
            from {rates} where status = '{USED}' group by all
        ), usable as (
            select *, avg(rate) over (partition by run, hour, host, worker) as usual
            from moments where whole is not null and tasks is not null and rate is not null
        )
        select '' as topology, '{WORKER}' as component, machine_type, run,
               {_SIGNED.format("host, worker")} as task, time_ms, rate,
               whole - tasks as cpu_points, coalesce(rate_variance, 0.0) as rate_variance,
               1.0::double as instances, {cluster} as cluster,
               case when usual > 0 then crossing * rate / usual end as crossing
        from usable left join crossings using (run, hour, host, worker)"""


def component_fits(database: DuckDBPyConnection, processes: int) -> list[CostFit]:
    """Every group's, with the step over all windows where only a sample was fitted."""
    fits = _fitted(database, "points", "group_counts", processes)
    large = [f for f in fits if f.samples > MOST_SAMPLED and not f.not_ready]
    if not large:
        return fits
    sums = _all_window_sums(database, large)
    refined = []
    for fit in fits:
        own = sums.get((fit.topology, fit.component, fit.machine_type))
        refined.append(fit if own is None else costs.refined(fit, own))
    return refined


def worker_fits(database: DuckDBPyConnection) -> tuple[dict[str, Estimate], list[CostFit]]:
    """What a tuple costs that enters or leaves, and the lines over all tuples, by machine type."""
    sample = _sampled(database, "worker_points where crossing is not null", "worker_counts")
    kinds = np.asarray(sample["machine_type"])
    crossing = {}
    for kind in sorted(set(kinds.tolist())):
        chosen = kinds == kind
        points = points_of({name: sample[name][chosen] for name in _COLUMNS})
        crossing[kind] = crossing_cost(points, np.asarray(sample["crossing"][chosen], np.float64))
    return crossing, _fitted(database, "worker_points", "worker_counts", 1)


def _sampled(database: DuckDBPyConnection, points: str, counts: str) -> dict[str, Any]:
    """About as many windows of every group as the robust fit looks at, as arrays."""
    place = f"(hash(run, task, time_ms) % {_BUCKETS})::bigint"
    query = f"""select p.*, c.samples as group_samples
                from (from {points}) p join {counts} c using ({_GROUP})
                where {place} * c.samples < {MOST_SAMPLED * _BUCKETS}"""
    return database.execute(query).fetchnumpy()


def _fitted(
    database: DuckDBPyConnection, points: str, counts: str, processes: int
) -> list[CostFit]:
    sample = _sampled(database, points, counts)
    if not len(sample["rate"]):
        return []
    keys, group, samples = _groups(sample)
    columns = {name: np.asarray(sample[name]) for name in _COLUMNS}
    if processes == 1 or len(keys) < _FEW_GROUPS:
        return _fit((columns, group, keys, samples))
    lots = []
    for lot in range(processes):
        # Every nth group, so that no lot has all the slow ones.
        own = np.flatnonzero(np.arange(len(keys)) % processes == lot)
        chosen = np.isin(group, own)
        lots.append(
            (
                {name: column[chosen] for name, column in columns.items()},
                np.searchsorted(own, group[chosen]),
                [keys[i] for i in own.tolist()],
                [samples[i] for i in own.tolist()],
            )
        )
    # A fork would take DuckDB's threads along.
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        fits = [fit for lot in pool.map(_fit, lots) for fit in lot]
    return sorted(fits, key=lambda f: (f.topology, f.component, f.machine_type))


def _groups(sample: Mapping[str, Any]) -> tuple[list[GroupKey], IntVector, Sequence[int]]:
    """The groups in order, whose each row is, and how many windows each has in all."""
    named = [np.asarray(sample[name], dtype=str) for name in GROUP]
    code = np.zeros(len(sample["rate"]), dtype=np.int64)
    for column in named:
        values, inverse = np.unique(column, return_inverse=True)
        code = code * len(values) + inverse
    _, first, group = np.unique(code, return_index=True, return_inverse=True)
    topologies, components, kinds = (column[first].tolist() for column in named)
    keys = list(zip(topologies, components, kinds, strict=True))
    return keys, group, np.asarray(sample["group_samples"])[first].tolist()


def _fit(
    lot: tuple[Mapping[str, Any], IntVector, Sequence[GroupKey], Sequence[int]],
) -> list[CostFit]:
    columns, group, keys, samples = lot
    return list(fit_groups(points_of(columns), group, keys, samples))


def _all_window_sums(
    database: DuckDBPyConnection, fits: Sequence[CostFit]
) -> dict[tuple[str, str, str], dict[str, float]]:
    """Weighted sums over every window of the groups that were only sampled."""
    import pyarrow as pa

    names = (*GROUP, "e", "met", "form", "shape", "spin", "scatter_floor", "scatter_slope")
    database.register(
        "fitted", pa.table({name: [getattr(f, name) for f in fits] for name in names})
    )
    found = database.execute(_STEP).fetchnumpy()
    database.unregister("fitted")
    rows = zip(*(np.asarray(found[name]).tolist() for name in found), strict=True)
    by_name = (dict(zip(found, row, strict=True)) for row in rows)
    return {(r["topology"], r["component"], r["machine_type"]): r for r in by_name}


_SUMS = {
    "axx": "w * x * x - j * v", "bx": "w * x * y", "jxx": "j * (x * x - v)", "jx": "j * x",
    "j1": "j", "g1": "w * x * r + j * e * v", "g2": "w * r",
}  # fmt: skip
_STEP = f"""
    with known as (
        select {_GROUP}, cluster, rate as x, rate_variance as v, cpu_points, e, met,
               scatter_floor, scatter_slope,
               case when form = '{FormKind.SPINNING.value}'
                    then spin * greatest(0.0, 1 - rate / shape) else 0.0 end as idle
        from points join fitted using ({_GROUP})
    ), levels as (
        select *, cpu_points - idle as y, e * x + met + idle as level from known
    ), scaled as (
        select *, cpu_points - level as r,
               greatest(scatter_floor + scatter_slope * level, 1e-9) as sigma from levels
    ), placed as (
        select *, (r / sigma / {BISQUARE!r}) ** 2 as t from scaled
    ), weighted as (
        select *, case when t < 1 then (1 - t) ** 2 else 0.0 end / (sigma * sigma) as w,
               case when t < 1 then (1 - t) * (1 - 5 * t) else 0.0 end / (sigma * sigma) as j
        from placed
    ), clusters as (
        select {_GROUP}, cluster, {", ".join(f"sum({s}) as {n}" for n, s in _SUMS.items())}
        from weighted group by all
    )
    select {_GROUP}, {", ".join(f"sum({name}) as {name}" for name in _SUMS)},
           sum(g1 * g1) as g11, sum(g1 * g2) as g12, sum(g2 * g2) as g22, count(*) as clusters
    from clusters group by all
"""


def stream_figures(
    database: DuckDBPyConnection, streams: str, traffic: str
) -> tuple[list[Any], list[Any]]:
    """The sums behind selectivities and their errors, and the sums per stream and target."""
    halves = f"""
        with timed as (
            select *, block > (min(block) over s + max(block) over s) / 2 as late
            from {streams} window s as (partition by topology, component, stream)
        )
        select topology, component, stream, late, count(*) as blocks, sum(tuples_in) as i,
               sum(tuples_out) as o, sum(tuples_in * tuples_in) as ii,
               sum(tuples_in * tuples_out) as io, sum(tuples_out * tuples_out) as oo,
               sum(bytes) as bytes, sum(sized_tuples) as sized_tuples, sum(seconds) as seconds
        from timed group by all"""
    edges = f"""
        with by_hour as (
            select topology, source, stream, target, hour, sum(tuples_per_s) as tuples_per_s,
                   sum(tuples) as tuples, sum(bytes) as bytes
            from {traffic} group by all
        )
        select topology, source, stream, target, avg(tuples_per_s) as tuples_per_s,
               sum(bytes) / sum(tuples) as tuple_bytes
        from by_hour group by all"""
    return database.execute(halves).fetchall(), database.execute(edges).fetchall()

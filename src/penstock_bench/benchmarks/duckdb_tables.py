"""The pipeline's tables in DuckDB's SQL, from records of some hours.

Of the record's own types, counted by window; totals since the start of a worker are not taken.
``chunk`` holds the records of the hours with what the table of rates says of each. All tables go by
the hour, so that any number of chunks makes the same tables.
"""

from __future__ import annotations

from penstock.model.telemetry import SAMPLE_FIELDS, Counters
from penstock.telemetry.reasons import Reason
from penstock.telemetry.schemas import RATES
from penstock.telemetry.slots.counts import STATUSES
from penstock.telemetry.slots.sums import BLOCK_WINDOWS
from penstock.telemetry.slots.traffic import DISTANCES, LEVELS
from penstock_bench.benchmarks.duckdb_checks import is_sound, reason_of

USED, WARM_UP, _, UNKNOWN = STATUSES
#: Records that failed a check have no hour.
ASIDE = "aside"
FIELDS = [f.name for f in SAMPLE_FIELDS]
FILLED = {
    "run": "coalesce(run, '')",
    "rack": "coalesce(rack, '')",
    "counters": f"coalesce(counters, '{Counters.DELTA.value}')",
    "sample_rate": "coalesce(sample_rate, 1.0)",
}
_HOUR = "strftime(make_timestamp(time_ms * 1000), '%Y-%m-%d-%H')"
_RAW = f"encode(to_json(struct_pack({', '.join(f'{n} := {n}' for n in FIELDS)}))::varchar)"


def _sum(name: str, counter: str) -> str:
    """Of the entries of a list; nothing of no list, 0 of an empty one."""
    total = f"coalesce(list_sum([coalesce(x.{counter}, 0.0) for x in {name}]), 0.0)"
    return f"case when {name} is not null then {total} end"


def take_chunk(source: str, where: str, warm_up_s: float, now_ms: int) -> str:
    """Read records once: fields filled in, rates computed, soundness judged."""
    fields = ", ".join(f"{FILLED.get(name, name)} as {name}" for name in FIELDS)
    return f"""
    create or replace temp table chunk as
    with checked as (
        select *, {is_sound(now_ms)} as sound from {source} where {where}
    ), judged as (
        -- What is wrong is asked of the few that are not sound, before blanks are filled in.
        select *, case when not sound then {reason_of(now_ms)} end as verdict from checked
    ), filled as (
        select {fields}, filename as file, sound, verdict from judged
    ), summed as (
        select *, window_ms / 1000.0 as window_s,
               {_sum("inputs", "tuples")} as taken_in,
               {_sum("outputs", "tuples")} as put_out,
               {_sum("outputs", "bytes")} as put_bytes,
               coalesce(len(inputs), 0) = 0 as is_spout
        from filled
    )
    select *,
           case when inputs is null and outputs is null and produced is null then '{UNKNOWN}'
                when uptime_s < {warm_up_s!r} then '{WARM_UP}' else '{USED}' end as status,
           coalesce(case when is_spout then
                        coalesce(produced, list_max([x.tuples for x in outputs])) end,
                    taken_in) / window_s as rate,
           case when sample_rate < 1 then
               (case when is_spout then 1 else len(list_distinct(
                    [struct_pack(c := x.component, s := x.stream, t := x.task) for x in inputs]
                )) end) / (3.0 * sample_rate ** 2 * window_s ** 2)
               else 0.0 end as rate_variance,
           put_out / window_s as out_rate, put_bytes / window_s as bytes_per_s,
           {_HOUR} as hour, hash(topology, run, task, time_ms) as key
    from summed
    """


#: What is set aside of a chunk: records that fail a check, and of those with one key the repeats.
SET_ASIDE = [
    """create or replace temp table repeated as
           select key from chunk where sound group by key having count(*) > 1""",
    f"""create or replace temp table judged as
        with doubtful as (
            select rowid as id, topology, run, task, time_ms, file,
                   hash({", ".join(FIELDS)}) as content
            from chunk where sound and key in (from repeated)
        ), compared as (
            select id, min(content) over same <> max(content) over same as contradicted,
                   row_number() over (same order by content, file, id) as place
            from doubtful window same as (partition by topology, run, task, time_ms)
        )
        select id, case when contradicted then '{Reason.CONFLICT.value}'
                        else '{Reason.DUPLICATE.value}' end as reason
        from compared where contradicted or place > 1""",
    f"""create or replace temp table quarantine as
        select {_RAW} as raw, split_part(verdict, '|', 1) as reason,
               split_part(verdict, '|', 2) as field, file, '{ASIDE}' as hour
        from chunk where not sound
        union all
        select {_RAW}, reason, '', file, hour from chunk join judged on chunk.rowid = judged.id""",
    "delete from chunk where not sound or rowid in (select id from judged)",
]


RATES_SQL = f"select {', '.join(RATES.names)} from chunk"

STREAMS_SQL = f"""
    with windows as (
        select topology, run, component, task, hour, window_s, rate * window_s as tuples_in,
               outputs, time_ms, 1000 * {BLOCK_WINDOWS} * 2.0 ** round(log2(window_s)) as block_ms
        from chunk where status in ('{USED}', '{WARM_UP}') and rate is not null
    ), blocks as (
        select *, (floor(time_ms / block_ms) * block_ms)::bigint as block from windows
    ), intake as (
        select topology, run, component, task, hour, block, sum(tuples_in) as tuples_in,
               sum(window_s) as seconds
        from blocks group by all
    ), entries as (
        select topology, run, component, task, hour, block, unnest(outputs) as o from blocks
    ), put as (
        select topology, run, component, task, hour, block, o.stream as stream,
               sum(o.tuples) as tuples_out, sum(o.bytes) as bytes,
               sum(case when o.bytes is not null then o.tuples end) as sized_tuples
        from entries group by all
    )
    select topology, run, component, stream, task, block, tuples_in, tuples_out, bytes,
           sized_tuples, seconds, hour
    from intake join put using (topology, run, component, task, hour, block)
"""

_SAME = "source_host = target_host"
_DISTANCE = f"""
    case when source_host is null then null
         when {_SAME} and source_worker = target_worker then '{DISTANCES[0]}'
         when {_SAME} then '{DISTANCES[1]}'
         when source_rack = target_rack then '{DISTANCES[2]}'
         else '{DISTANCES[3]}' end
"""
_SCOPE = "topology, run, hour"
_TARGET = "target, target_task, target_host, target_worker, target_rack"
TRAFFIC_SQL = f"""
    with counted as (
        select * from chunk where status in ('{USED}', '{WARM_UP}')
    ), watched as (
        select {_SCOPE}, component, task, host, worker, rack, sum(window_s) as seconds
        from counted where inputs is not null group by all
    ), entries as (
        select {_SCOPE}, component, task, host, worker, rack, unnest(inputs) as i from counted
    ), sums as (
        select {_SCOPE}, component, task, host, worker, rack, i.component as source,
               i.stream as stream, i.task as source_task, sum(i.tuples) as tuples,
               sum(i.bytes) as bytes
        from entries group by all having sum(i.tuples) > 0
    ), received as (
        select {_SCOPE}, source, stream, source_task, component as target, task as target_task,
               host as target_host, worker as target_worker, rack as target_rack, tuples, bytes,
               seconds
        from sums join watched using ({_SCOPE}, component, task, host, worker, rack)
        where seconds > 0
    ), stays as (
        select {_SCOPE}, task, coalesce(last_task, task) as last, host, worker, rack,
               sum(window_s) as seconds
        from counted group by all
    ), members as (
        select * exclude (task), task as sender, unnest(range(task, last + 1)) as task from stays
    ), homes as (
        select {_SCOPE}, task as source_task, sender, host as source_host,
               worker as source_worker, rack as source_rack
        from members
        qualify row_number() over (
            partition by {_SCOPE}, task order by seconds desc, sender, host, worker, rack) = 1
    ), exact as (
        select {_SCOPE}, source, stream, coalesce(sender, source_task) as source_task,
               source_host, source_worker, source_rack, {_TARGET}, sum(tuples) as tuples,
               sum(bytes) as bytes, seconds, false as estimated
        from received left join homes using ({_SCOPE}, source_task)
        where source_task is not null group by all
    ), put as (
        select {_SCOPE}, component as source, o.stream as kind, task, host, worker, rack,
               sum(o.tuples) as sent
        from (select {_SCOPE}, component, task, host, worker, rack, unnest(outputs) as o
              from counted) group by all
        union all
        select {_SCOPE}, component, '', task, host, worker, rack, sum(rate * window_s)
        from counted group by all
    ), shares as (
        select {_SCOPE}, source, kind, task as sender, host as source_host,
               worker as source_worker, rack as source_rack,
               sent / sum(sent) over (partition by {_SCOPE}, source, kind) as share
        from put where sent > 0
    ), named as (
        select distinct {_SCOPE}, source, kind as stream, true as named from shares where kind <> ''
    ), marked as (
        select received.* exclude (source_task),
               case when named then stream else '' end as kind
        from received left join named using ({_SCOPE}, source, stream) where source_task is null
    ), dealt as (
        select {_SCOPE}, source, stream, sender as source_task, source_host, source_worker,
               source_rack, {_TARGET}, tuples * coalesce(share, 1.0) as tuples,
               bytes * coalesce(share, 1.0) as bytes, seconds, true as estimated
        from marked left join shares using ({_SCOPE}, source, kind)
    ), pairs as (
        select * from exact union all by name select * from dealt
    )
    select topology, run, source, stream, source_task, source_host, source_worker, source_rack,
           {_TARGET}, tuples, bytes, seconds, tuples / seconds as tuples_per_s,
           bytes / seconds as bytes_per_s, {_DISTANCE} as distance, estimated, hour
    from pairs
"""


def places_sql(traffic: str) -> str:
    levels = []
    for level, names in LEVELS.items():
        source, target = (
            f"nullif(concat_ws('/', {', '.join(f'{end}_{name}' for name in names)}), '')"
            for end in ("source", "target")
        )
        levels.append(
            f"""select topology, run, '{level}' as level, {source} as source, {target} as target,
                       sum(tuples_per_s) as tuples_per_s, sum(bytes_per_s) as bytes_per_s, hour
                from {traffic} where {target} is not null group by all"""
        )
    return " union all ".join(levels)


WORKERS_SQL = f"""
    with moments as (
        select topology, run, host, machine_type, worker, hour, time_ms,
               max(worker_cpu_points) as worker_cpu_points,
               case when count(cpu_points) = count(*) then sum(cpu_points) end as tasks_cpu_points,
               max(worker_memory_mb) as worker_memory_mb, count(*) as tasks
        from chunk where status = '{USED}' group by all
    )
    select topology, run, host, machine_type, worker, time_ms // 60000 as minute,
           avg(worker_cpu_points) as worker_cpu_points, avg(tasks_cpu_points) as tasks_cpu_points,
           median(worker_cpu_points - tasks_cpu_points) as own_cpu_points,
           max(worker_memory_mb) as worker_memory_mb, max(tasks) as tasks, hour
    from moments group by all
"""


def utilisation_sql(workers: str) -> str:
    return f"""
    with machines as (
        select host, machine_type, hour, minute,
               sum(coalesce(worker_cpu_points, tasks_cpu_points)) as cpu_points,
               sum(worker_memory_mb) as memory_mb, count(*) as workers
        from {workers} group by all
    )
    select host, machine_type, count(*) as minutes, max(workers) as workers,
           avg(cpu_points) as cpu_points_mean, quantile_disc(cpu_points, 0.95) as cpu_points_p95,
           max(cpu_points) as cpu_points_most, max(memory_mb) as memory_mb_most, hour
    from machines group by all
    """

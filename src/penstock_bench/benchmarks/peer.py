"""DuckDB as a peer to measure the pipeline against: its bare aggregations, and its whole job.

The aggregations are the same figures from the same files: sums for a least-squares line per
component and machine type, and tuples between instances by hour. Without checks, quarantine,
repeats, robust fits, error bars, forms or tables on disk, and on one machine only. The whole job
(:mod:`duckdb_job`) leaves none of these out. Run as a program, it does one of the two and prints
what it found.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from penstock.errors import InputError
from penstock_bench.benchmarks.duckdb_job import do_whole_job

_SAMPLES = "read_parquet('{folder}/**/*.parquet')"
_COSTS = """
    with points as (
        select topology, component, machine_type, cpu_points as y, window_ms / 1000.0 as s,
               coalesce(list_sum([i.tuples for i in inputs]), produced) as tuples
        from {samples}
    )
    select topology, component, machine_type, count(*) as samples,
           regr_slope(y, tuples / s) as e, regr_intercept(y, tuples / s) as met,
           regr_r2(y, tuples / s) as r2
    from points group by all
"""
_TRAFFIC = """
    with received as (
        select topology, component as target, task as target_task, host as target_host,
               time_ms // 3600000 as hour, i.component as source, i.stream as stream,
               sum(i.tuples) as tuples, sum(i.bytes) as bytes
        from (select *, unnest(inputs) as i from {samples}) group by all
    ), sent as (
        select topology, component as source, o.stream as stream, task as source_task,
               host as source_host, time_ms // 3600000 as hour, sum(o.tuples) as sent
        from (select *, unnest(outputs) as o from {samples}) group by all
    ), shares as (
        select *, sent / sum(sent) over (partition by topology, source, stream, hour) as share
        from sent
    )
    select topology, source, stream, source_task, source_host, target, target_task, target_host,
           hour, tuples * share as tuples, bytes * share as bytes
    from received join shares using (topology, source, stream, hour)
"""


def aggregate_with_duckdb(folder: Path) -> tuple[list[Any], int]:
    """Costs by plain least squares, and the number of pairs of instances with traffic."""
    try:
        import duckdb
    except ImportError:
        raise InputError("this benchmark's peer is DuckDB: pip install duckdb") from None
    samples = _SAMPLES.format(folder=folder)
    with duckdb.connect() as database:
        costs = database.execute(_COSTS.format(samples=samples)).fetchall()
        traffic = _TRAFFIC.format(samples=samples)
        counted = database.execute(f"select count(*) from ({traffic})").fetchone()
    return costs, int(counted[0]) if counted else 0


def _main(what: str, folder: str, tables: str) -> None:
    if what == "whole-job":
        job = do_whole_job(Path(folder), Path(tables))
        ready = sum(not fit.not_ready for fit in job.fits)
        answer: dict[str, Any] = {"costs": ready, "streams": job.streams, "timings": job.timings}
    else:
        costs, pairs = aggregate_with_duckdb(Path(folder))
        answer = {"costs": len(costs), "pairs": pairs}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    _main(*sys.argv[1:])

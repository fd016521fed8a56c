"""Small hand-made files of the same shape as the measured runs; no row of those is in here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

MACHINES = {"big": (48, 20, 1.0), "small": (16, 10, 2.0)}
PLANS = {"word": ("word", 8.0, 6.0), "ads": ("ads", 5.0, 1.0), "logs": ("logs", 3.0, 1.0)}
VECTORS = (2, 4, 8, 16, 32)
OFFERED = (100_000, 1_000_000)


def write_pdsp(folder: Path, *, without: tuple[str, ...] = (), flags: bool | None = True) -> None:
    """Three plans on two machine types, five vectors, one rate kept up with and one not."""
    runs = [
        _run(plan, machine, n, offered, flags)
        for plan in PLANS
        for machine in MACHINES
        for n in VECTORS
        for offered in OFFERED
    ]
    columns = {name: [run[name] for run in runs] for name in runs[0] if name not in without}
    if "parallelism_by_operator" in columns:
        columns["parallelism_by_operator"] = pa.array(
            columns["parallelism_by_operator"], pa.map_(pa.string(), pa.int32())
        )
    parquet.write_table(pa.table(columns), folder / "runs.parquet")
    operators = [row for run in runs for row in _operators(run)]
    parquet.write_table(pa.Table.from_pylist(operators), folder / "operators.parquet")
    parquet.write_table(pa.Table.from_pylist(_edges()), folder / "edges.parquet")


def _run(plan: str, machine: str, n: int, offered: int, flags: bool | None) -> dict:
    app, e, _ = PLANS[plan]
    cpus, workers, slow = MACHINES[machine]
    most = 6e5 / slow * n / (1 + 0.3 * (n - 1) + 1e-4 * n * (n - 1)) / e
    rate = min(offered, most)
    executors = 11 + 2 * n
    load = 5 + slow * (e * rate / 1e5 + 4 * executors / cpus)
    # A wiggle that is the same every time, so that nothing fits exactly.
    wiggle = 1 + 0.02 * np.sin(1.7 * n + offered / 3e5 + len(plan))
    return {
        "run_id": f"{plan}|{machine}|{n}|{offered}",
        "app": app,
        "plan_id": plan,
        "machine_type": machine,
        "nodes": 5,
        "workers": workers,
        "logical_cpus_per_node": cpus,
        "parallelism_text": f"10,{n},{n},1",
        "parallelism_by_operator": [("spout", 10), ("split", n), ("count", n), ("sink", 1)],
        "bolt_parallelism": n,
        "executors_user": executors,
        "offered_total_per_s": offered,
        "source_rate_steady_corrected_per_s": rate * wiggle,
        "cpu_percent_steady_node_mean": 100 * -np.expm1(-load / 100) * wiggle,
        "valid": pa.scalar(flags, pa.bool_()).as_py(),
        "source_steady": flags,
        "saturated": None if flags is None else bool(rate < 0.9 * offered),
    }


def _operators(run: dict) -> list[dict]:
    selectivity = PLANS[run["plan_id"]][2]
    common = {"run_id": run["run_id"]}
    return [
        {**common, "operator": "spout", "kind": "spout", "selectivity": None, "busy_threads": None},
        {
            **common,
            "operator": "split",
            "kind": "bolt",
            "selectivity": selectivity,
            "busy_threads": 0.5,
        },
        {**common, "operator": "count", "kind": "bolt", "selectivity": 1.0, "busy_threads": 0.0},
        {**common, "operator": "sink", "kind": "sink", "selectivity": None, "busy_threads": None},
    ]


def _edges() -> list[dict]:
    chain = [
        ("spout", "split", "shuffle"),
        ("split", "count", "fields"),
        ("count", "sink", "shuffle"),
    ]
    return [
        {
            "plan_id": plan,
            "edge_index": i,
            "from_operator": source,
            "to_operator": target,
            "grouping": grouping,
            "from_kind": "spout" if source == "spout" else "bolt",
        }
        for plan in PLANS
        for i, (source, target, grouping) in enumerate(chain)
    ]

"""Reads the measured Apache Storm runs of PDSP-Bench from Parquet.

The runs are not ours to ship: this module reads them where they are, and only error figures leave
it. One row of ``Runs`` is one run of one application plan on five like machines; ``valid``,
``source_steady`` and ``saturated`` are the data set's own flags.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.errors import Finding, InputError
from penstock.model.arrays import BoolVector, FloatVector

TextArray = npt.NDArray[np.str_]

#: Field of ``Runs`` -> column of runs.parquet.
_RUN_COLUMNS = {
    "run_id": "run_id",
    "app": "app",
    "plan": "plan_id",
    "machine_type": "machine_type",
    "nodes": "nodes",
    "workers": "workers",
    "logical_cpus_per_node": "logical_cpus_per_node",
    "vector": "parallelism_text",
    "bolt_parallelism": "bolt_parallelism",
    "executors": "executors_user",
    "offered_per_s": "offered_total_per_s",
    "rate_per_s": "source_rate_steady_corrected_per_s",
    "cpu_percent": "cpu_percent_steady_node_mean",
    "valid": "valid",
    "source_steady": "source_steady",
    "saturated": "saturated",
}
_TEXT = ("run_id", "app", "plan", "machine_type", "vector")
_FLAGS = ("valid", "source_steady", "saturated")
_OPERATOR_COLUMNS = ("run_id", "operator", "kind", "selectivity", "busy_threads")
_EDGE_COLUMNS = ("plan_id", "edge_index", "from_operator", "to_operator", "grouping", "from_kind")
_PARALLELISM = "parallelism_by_operator"


@dataclass(frozen=True)
class PlanEdge:
    """A stream of an application plan, as its Java source declares it."""

    source: str
    target: str
    #: ``shuffle`` (load- and locality-aware) or ``fields``.
    grouping: str
    from_spout: bool


@dataclass(frozen=True)
class Runs:
    """Measured runs; every array has one entry per run."""

    run_id: TextArray
    app: TextArray
    plan: TextArray
    machine_type: TextArray
    nodes: FloatVector
    workers: FloatVector
    logical_cpus_per_node: FloatVector
    #: The parallelism vector as text, for instance ``10,16,16,1``.
    vector: TextArray
    #: Executors of the median bolt, the N of the vector.
    bolt_parallelism: FloatVector
    #: All executors but ackers.
    executors: FloatVector
    #: What the producers were told to send, summed over spouts.
    offered_per_s: FloatVector
    #: What the spouts emitted in the steady minutes, corrected by 59/60.
    rate_per_s: FloatVector
    #: Node CPU in the steady minutes, mean over nodes, in per cent of the logical CPUs.
    cpu_percent: FloatVector
    valid: BoolVector
    source_steady: BoolVector
    saturated: BoolVector
    #: Executors by operator.
    parallelism: tuple[Mapping[str, int], ...]
    #: Tuples out per tuple in by operator; operators without a measured one are missing.
    selectivity: tuple[Mapping[str, float], ...]
    #: Threads busy executing by bolt, after Storm's execute milliseconds.
    busy_threads: tuple[Mapping[str, float], ...]
    #: Streams by plan.
    edges: Mapping[str, tuple[PlanEdge, ...]]

    def __len__(self) -> int:
        return len(self.run_id)

    def where(self, chosen: BoolVector) -> Runs:
        """The runs of a mask, in order."""
        rows = np.flatnonzero(chosen)
        parts: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                parts[field.name] = value[rows]
            elif isinstance(value, tuple):
                parts[field.name] = tuple(value[i] for i in rows)
        return replace(self, **parts)

    @property
    def falls_short(self) -> BoolVector:
        """Less than 93 % of what is offered gets in, the data set's own limit."""
        return np.asarray(self.rate_per_s < 0.93 * self.offered_per_s)


def load_runs(folder: Path) -> Runs:
    """Read runs, operators and edges; one error names every file and column that is missing."""
    tables = _read(
        folder,
        {
            "runs.parquet": (*_RUN_COLUMNS.values(), _PARALLELISM),
            "operators.parquet": _OPERATOR_COLUMNS,
            "edges.parquet": _EDGE_COLUMNS,
        },
    )
    runs = tables["runs.parquet"]
    columns = {field: _array(field, runs[column]) for field, column in _RUN_COLUMNS.items()}
    by_run = _operators(tables["operators.parquet"])
    nothing: tuple[dict[str, float], dict[str, float]] = ({}, {})
    measured = [by_run.get(run, nothing) for run in runs["run_id"]]
    return Runs(
        **columns,
        parallelism=tuple(dict(pairs or ()) for pairs in runs[_PARALLELISM]),
        selectivity=tuple(selectivity for selectivity, _ in measured),
        busy_threads=tuple(busy for _, busy in measured),
        edges=_edges(tables["edges.parquet"]),
    )


def _read(
    folder: Path, columns_of: Mapping[str, tuple[str, ...]]
) -> dict[str, dict[str, list[Any]]]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise InputError(
            "reading Parquet needs pyarrow; install it with: pip install 'penstock[spark]'"
        ) from None
    findings: list[Finding] = []
    tables: dict[str, dict[str, list[Any]]] = {}
    for name, columns in columns_of.items():
        path = folder / name
        if not path.is_file():
            findings.append(Finding("no such file", str(path)))
            continue
        try:
            there = set(parquet.read_schema(path).names)
            missing = [column for column in columns if column not in there]
            findings += [Finding("no such column", str(path), field=column) for column in missing]
            if not missing:
                tables[name] = parquet.read_table(path, columns=list(columns)).to_pydict()
        except (ArrowException, OSError) as error:
            findings.append(Finding(f"not a Parquet file that can be read: {error}", str(path)))
    if findings:
        raise InputError(*findings)
    return tables


def _array(field: str, values: list[Any]) -> npt.NDArray[Any]:
    if field in _TEXT:
        return np.array(values, dtype=np.str_)
    if field in _FLAGS:
        # Missing is not true: a run without a flag is not used.
        return np.array([value is True for value in values], dtype=np.bool_)
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _operators(
    table: Mapping[str, list[Any]],
) -> dict[str, tuple[dict[str, float], dict[str, float]]]:
    """Selectivity and busy threads by run and operator; what was not measured is left out."""
    by_run: dict[str, tuple[dict[str, float], dict[str, float]]] = {}
    for run, operator, kind, selectivity, busy in zip(
        *(table[column] for column in _OPERATOR_COLUMNS), strict=True
    ):
        selectivities, busy_threads = by_run.setdefault(run, ({}, {}))
        if selectivity is not None and selectivity > 0:
            selectivities[operator] = selectivity
        # Execute time is rounded to 0.001 ms, so 0 means "too short to see", not "free".
        if kind == "bolt" and busy is not None and busy > 0:
            busy_threads[operator] = busy
    return by_run


def _edges(table: Mapping[str, list[Any]]) -> dict[str, tuple[PlanEdge, ...]]:
    by_plan: dict[str, list[tuple[int, PlanEdge]]] = {}
    for plan, index, source, target, grouping, kind in zip(
        *(table[column] for column in _EDGE_COLUMNS), strict=True
    ):
        by_plan.setdefault(plan, []).append(
            (index, PlanEdge(source, target, grouping, kind == "spout"))
        )
    return {
        plan: tuple(edge for _, edge in sorted(edges, key=lambda pair: pair[0]))
        for plan, edges in sorted(by_plan.items())
    }

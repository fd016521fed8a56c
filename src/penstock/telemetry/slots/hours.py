"""From partial sums of an hour's slots to the hour's tables, and to what profiles need of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock.model.arrays import FloatVector
from penstock.telemetry.slots.columns import (
    Columns,
    Groups,
    Vocabulary,
    length,
    matches,
    rows_of,
)
from penstock.telemetry.slots.partial_tables import fields
from penstock.telemetry.slots.traffic import instance_traffic, place_traffic, worker_crossings

EDGE = ("topology", "source", "stream", "target")
_TASK = ("topology", "run", "component", "task")
_STREAM = ("topology", "component", "stream")
GROUP = ("topology", "component", "machine_type")

#: What profiles need of an hour beside the points of the fit.
SUMMARIES: dict[str, pa.Schema] = {
    "groups": fields(
        "text: topology component machine_type",
        "whole: used warm_up baseline unknown with_cpu with_rate usable",
    ),
    "memory": fields(
        "text: topology component machine_type", "number: memory_mb", "whole: windows"
    ),
    "spans": fields(
        "text: topology run host",
        "whole: task first_ms last_ms",
        "number: seen_s first_window_s longest_window_s",
    ),
    "stream_sums": fields(
        "text: topology component stream",
        "number: i o ii io oo bytes sized_tuples seconds blocks",
        "whole: first_block last_block",
    ),
    "edges": fields(
        "text: topology source stream target",
        "number: tuples_per_s tuples bytes",
        # Pairs of instances, those whose sender was estimated, and hours that have any.
        "whole: pairs estimated hours",
    ),
    "crossings": fields("text: run host worker", "number: crossing"),
    "worker_rates": fields("text: run host worker machine_type", "number: rate", "whole: moments"),
    "worker_points": fields(
        "text: run host worker machine_type",
        "whole: time_ms",
        "number: rate rate_variance whole_cpu_points tasks_cpu_points",
    ),
}


def hour_tables(parts: dict[str, Columns], vocabulary: Vocabulary, hour: str) -> dict[str, Columns]:
    """The tables of an hour from the partial sums of all its slots."""
    traffic = instance_traffic(parts["received"], parts["sent"], parts["tasks"], vocabulary)
    tables = {
        "streams": stream_blocks(parts["intake"], parts["outputs"]),
        "traffic": traffic,
        "places": place_traffic(traffic, vocabulary),
        "workers": {n: v for n, v in parts["workers"].items() if n != "slot"},
        "utilisation": utilisation(parts["workers"]),
    }
    for table in tables.values():
        table["hour"] = np.full(length(table), vocabulary.number(hour))
    return tables


def hour_summaries(
    parts: dict[str, Columns], tables: dict[str, Columns], vocabulary: Vocabulary
) -> dict[str, Columns]:
    tasks = parts["tasks"]
    return {
        "groups": added(tasks, GROUP, SUMMARIES["groups"].names[len(GROUP) :]),
        "memory": added(parts["memory"], (*GROUP, "memory_mb"), ["windows"]),
        "spans": spans(tasks),
        "stream_sums": stream_sums(tables["streams"]),
        "edges": _edges(tables["traffic"]),
        "crossings": worker_crossings(tables["traffic"], vocabulary),
        "worker_rates": _worker_rates(parts["worker_rates"]),
        "worker_points": parts["worker_points"],
    }


# -- streams -----------------------------------------------------------------------------------


def stream_blocks(intake: Columns, outputs: Columns) -> Columns:
    """Tuples in, and out by stream, of every task in every block."""
    block = (*_TASK, "block")
    taken = Groups.of(*(intake[name] for name in block))
    taken_in = {
        **taken.keys(intake, block),
        "tuples_in": taken.sums(intake["tuples_in"]),
        "seconds": taken.sums(intake["seconds"]),
    }
    put = Groups.of(*(outputs[name] for name in (*block, "stream")))
    put_out = {
        **put.keys(outputs, (*block, "stream")),
        "tuples_out": put.sums(outputs["tuples_out"]),
        "bytes": put.known_sums(outputs["bytes"]),
        "sized_tuples": put.known_sums(outputs["sized_tuples"]),
    }
    mine, theirs = matches([put_out[n] for n in block], [taken_in[n] for n in block])
    joined = rows_of(put_out, mine)
    return joined | {name: taken_in[name][theirs] for name in ("tuples_in", "seconds")}


def stream_sums(blocks: Columns) -> Columns:
    """Sums from which selectivity and its error follow, and over which blocks they are."""
    groups = Groups.of(*(blocks[name] for name in _STREAM))
    i, o = blocks["tuples_in"], blocks["tuples_out"]
    return {
        **groups.keys(blocks, _STREAM),
        "i": groups.sums(i),
        "o": groups.sums(o),
        "ii": groups.sums(i * i),
        "io": groups.sums(i * o),
        "oo": groups.sums(o * o),
        "bytes": groups.known_sums(blocks["bytes"]),
        "sized_tuples": groups.known_sums(blocks["sized_tuples"]),
        "seconds": groups.sums(blocks["seconds"]),
        "blocks": groups.counts().astype(np.float64),
        "first_block": groups.least(blocks["block"]),
        "last_block": groups.most(blocks["block"]),
    }


def _edges(traffic: Columns) -> Columns:
    names = EDGE
    groups = Groups.of(*(traffic[name] for name in names))
    return {
        **groups.keys(traffic, names),
        "tuples_per_s": groups.sums(traffic["tuples_per_s"]),
        "tuples": groups.sums(traffic["tuples"]),
        "bytes": groups.known_sums(traffic["bytes"]),
        "pairs": groups.counts(),
        "estimated": groups.counts(traffic["estimated"]),
        "hours": np.ones(len(groups), dtype=np.int64),
    }


# -- tasks and machines ------------------------------------------------------------------------


def instances(tasks: Columns) -> Columns:
    """Executors of each component."""
    names = ("topology", "run", "component")
    distinct = Groups.of(*(tasks[name] for name in (*names, "task")))
    groups = Groups.of(*(tasks[name][distinct.first] for name in names))
    keys = rows_of(tasks, distinct.first[groups.first])
    return {
        **{name: keys[name] for name in names},
        "instances": groups.counts().astype(np.float64),
    }


def added(table: Columns, names: tuple[str, ...], counted: Sequence[str]) -> Columns:
    keys = [table[n].view(np.int64) if table[n].dtype.kind == "f" else table[n] for n in names]
    groups = Groups.of(*keys)
    sums = {name: groups.sums(table[name]).astype(np.int64) for name in counted}
    return {**groups.keys(table, names), **sums}


def spans(tasks: Columns) -> Columns:
    """When each task was seen on each host."""
    names = ("topology", "run", "host", "task")
    groups = Groups.of(*(tasks[name] for name in names))
    first_ms = groups.least(tasks["first_ms"])
    first_window = np.full(len(groups), np.nan)
    is_first = tasks["first_ms"] == first_ms[groups.of_row]
    first_window[groups.of_row[is_first]] = tasks["first_window_s"][is_first]
    return {
        **groups.keys(tasks, names),
        "first_ms": first_ms,
        "last_ms": groups.most(tasks["last_ms"]),
        "seen_s": groups.sums(tasks["seen_s"]),
        "first_window_s": first_window,
        "longest_window_s": groups.most(tasks["longest_window_s"]),
    }


def _worker_rates(rates: Columns) -> Columns:
    names = ("run", "host", "worker", "machine_type")
    groups = Groups.of(*(rates[name] for name in names))
    return {
        **groups.keys(rates, names),
        "rate": groups.sums(rates["rate"]),
        "moments": groups.sums(rates["moments"]).astype(np.int64),
    }


def utilisation(workers: Columns) -> Columns:
    """What each machine used in an hour; its workers' processes where known, else their tasks."""
    whole: FloatVector = workers["worker_cpu_points"]
    tasks: FloatVector = workers["tasks_cpu_points"]
    used: FloatVector = np.where(np.isnan(whole), tasks, whole)
    names = ("host", "machine_type")
    minutes = Groups.of(*(workers[name] for name in (*names, "minute")))
    keys = minutes.keys(workers, names)
    cpu, memory = minutes.known_sums(used), minutes.known_sums(workers["worker_memory_mb"])
    groups = Groups.of(*keys.values())
    known = groups.counts(~np.isnan(cpu))
    return {
        **groups.keys(keys, names),
        "minutes": groups.counts(),
        "workers": groups.most(minutes.counts()),
        "cpu_points_mean": np.where(
            known > 0, groups.known_sums(cpu) / np.maximum(known, 1), np.nan
        ),
        "cpu_points_p95": ranked(groups, cpu, 0.95),
        "cpu_points_most": groups.most(cpu),
        "memory_mb_most": groups.most(memory),
    }


def ranked(groups: Groups, values: FloatVector, share: float) -> FloatVector:
    """The value that at least this share of the known values of each group does not exceed."""
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.lexsort((values[known], groups.of_row[known]))]
    number = np.bincount(groups.of_row[known], minlength=len(groups))
    start = np.cumsum(number) - number
    result = np.full(len(groups), np.nan)
    some = number > 0
    place = np.maximum(np.ceil(share * number).astype(np.int64) - 1, 0)
    result[some] = values[order[(start + place)[some]]]
    return result

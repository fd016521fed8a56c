"""The written schemas: of the record as it comes in, and of every table the pipeline leaves."""

from __future__ import annotations

from pyspark.sql import types as T

from penstock.model.telemetry import (
    INPUT_FIELDS,
    OUTPUT_FIELDS,
    SAMPLE_FIELDS,
    FieldType,
    SampleField,
)


def _struct(fields: tuple[SampleField, ...]) -> T.StructType:
    return T.StructType([T.StructField(f.name, spark_type(f)) for f in fields])


def spark_type(field: SampleField) -> T.DataType:
    """How a field of the record is held in a frame."""
    match field.type:
        case FieldType.TEXT:
            return T.StringType()
        case FieldType.WHOLE:
            return T.LongType()
        case FieldType.NUMBER:
            return T.DoubleType()
        case FieldType.INPUTS:
            return T.ArrayType(_struct(INPUT_FIELDS))
        case FieldType.OUTPUTS:
            return T.ArrayType(_struct(OUTPUT_FIELDS))


_TYPES: dict[str, T.DataType] = {
    "text": T.StringType(),
    "whole": T.LongType(),
    "number": T.DoubleType(),
    "flag": T.BooleanType(),
    "bytes": T.BinaryType(),
    "inputs": T.ArrayType(_struct(INPUT_FIELDS)),
    "outputs": T.ArrayType(_struct(OUTPUT_FIELDS)),
}


def _table(*columns: str) -> T.StructType:
    """From lines of ``type: name name …``."""
    fields = []
    for line in columns:
        kind, names = line.split(":")
        fields += [T.StructField(name, _TYPES[kind]) for name in names.split()]
    return T.StructType(fields)


#: The record as it is read.
RECORD = _struct(SAMPLE_FIELDS)

_ASIDE = _table("bytes: raw", "text: reason field file")

#: Records that passed every check, by slot, with the file they came in.
SAMPLES = T.StructType([*RECORD.fields, *_table("text: file").fields])

#: What was set aside, whole, and why.
QUARANTINE = T.StructType([*_ASIDE.fields, *_table("text: hour").fields])

#: One row per task and window, duplicates gone and totals turned into differences. A view: made of
#: the samples when it is asked for.
RATES = _table(
    "text: topology run component",
    "whole: task",
    "text: host machine_type worker rack",
    "whole: time_ms",
    "number: window_s",
    # used, warm-up, baseline (the first of a series of totals) or unknown (no counts)
    "text: status",
    "number: rate rate_variance out_rate bytes_per_s cpu_points worker_cpu_points",
    "number: execute_ms process_ms memory_mb worker_memory_mb queue_fill latency_ms held_back",
    "text: hour",
)

#: Tuples in and out of a task by stream, in blocks of windows: what selectivity is made of.
STREAMS = _table(
    "text: topology run component stream",
    "whole: task block",
    "number: tuples_in tuples_out bytes sized_tuples seconds",
    "text: hour",
)

#: Tuples between two instances.
TRAFFIC = _table(
    "text: topology run source stream",
    "whole: source_task",
    "text: source_host source_worker source_rack target",
    "whole: target_task",
    "text: target_host target_worker target_rack",
    "number: tuples bytes seconds tuples_per_s bytes_per_s",
    # same worker, same machine, same rack, other rack
    "text: distance",
    # The writer did not know the source task: dealt out by what each of them put out.
    "flag: estimated",
    "text: hour",
)

#: The same between workers ("host/worker"), machines or racks.
PLACES = _table(
    "text: topology run level source target",
    "number: tuples_per_s bytes_per_s",
    "text: hour",
)

#: What a worker process used, minute by minute.
WORKERS = _table(
    "text: topology run host machine_type worker",
    "whole: minute",
    "number: worker_cpu_points tasks_cpu_points own_cpu_points worker_memory_mb",
    "whole: tasks",
    "text: hour",
)

#: What a machine used in an hour.
UTILISATION = _table(
    "text: host machine_type",
    "whole: minutes workers",
    "number: cpu_points_mean cpu_points_p95 cpu_points_most memory_mb_most",
    "text: hour",
)

#: The fitted cost of a component on a machine type.
PROFILE = _table(
    "text: row topology component machine_type",
    "whole: samples",
    "number: e e_error met met_error memory_mb",
    "text: form",
    "number: r_squared spread_points rate_least rate_most linear_error",
    "flag: extrapolated",
    "text: not_ready",
)

#: What changed, component by component.
DRIFT = _table(
    "text: row machine_type measure",
    "number: before after change confidence",
    "flag: drifted",
)

#: A plan put in force: its receipt, whole, and the figures that tables are asked for.
APPLIED = _table(
    "text: engine plan scheduler outcome",
    "whole: began_ms ended_ms moves added dropped",
    "number: throughput_per_s",
    "text: limited_by receipt",
    "text: id",
)

#: What was predicted for each topology of a plan, at the most that it carries.
PREDICTED_RATES = _table("text: topology run", "number: rate_per_s", "text: id")

#: What was predicted for each machine in use at that rate.
PREDICTED_CPU = _table(
    "text: machine machine_type",
    "whole: instances",
    "number: cpu_points usable_cpu_points",
    "text: id",
)

#: What each topology did while the plan was in force, exactly as planned.
MEASURED_RATES = _table(
    "text: topology",
    "whole: from_ms to_ms stretches",
    "number: rate_per_s throughput_per_s",
    # It could not have taken in more, and how that is known.
    "flag: at_limit",
    "text: why",
    "number: latency_ms",
    "text: id",
)

#: CPU of each machine then, and what the cost model says at the rate that was measured.
MEASURED_CPU = _table(
    "text: machine compared",
    "number: cpu_points expected_cpu_points",
    "text: id",
)

#: The tables of the history, one folder per plan put in force.
HISTORY: dict[str, T.StructType] = {
    "applied": APPLIED,
    "predicted_rates": PREDICTED_RATES,
    "predicted_cpu": PREDICTED_CPU,
    "measured_rates": MEASURED_RATES,
    "measured_cpu": MEASURED_CPU,
}

#: What only the pipeline reads: partial sums by slot, what profiles need of an hour, and points
#: that costs are fitted to.
INTERNAL_TABLES = ("slots", "hours", "points")

TABLES: dict[str, T.StructType] = {
    "samples": SAMPLES,
    "quarantine": QUARANTINE,
    "streams": STREAMS,
    "traffic": TRAFFIC,
    "places": PLACES,
    "workers": WORKERS,
    "utilisation": UTILISATION,
    "profile": PROFILE,
    "drift": DRIFT,
    **HISTORY,
}

"""One line of LoggingMetricsConsumer: its parts, what it means, and whether it can be used."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.telemetry.reasons import LONGEST_LINE, Reason
from penstock.telemetry.storm.log_names import IN, NAME_LENGTH, OUT

_HEAD = r"^(?:(.*)\s)?([0-9]{9,11})$"
_WHERE = r"^(.+):([0-9]{1,5})$"
_WHO = r"^(-?[0-9]{1,9}):(.+)$"
#: .../workers-artifacts/<topology id>/<port>/worker.log.metrics
_PATH = r"/([^/]+-[0-9]+-[0-9]{9,11})/[0-9]+/[^/]*$"
_RUN = r"^(.+)-[0-9]+-[0-9]+$"
#: Every way in which Java writes a Double.
_DOUBLE = r"^(-?[0-9]+\.[0-9]+(E-?[0-9]+)?|NaN|-?Infinity)$"

#: What is read of a line, by how its name begins; everything else is not about tuples.
_MEANINGS = {
    "in": IN,
    "out": OUT,
    "execute_ms": "__execute-latency-",
    "process_ms": "__process-latency-",
    "latency_ms": "__complete-latency-",
    "population": "receive-queue-populatio",
    "capacity": "receive-queue-capacity",
}
#: Of the worker, in lines of the component ``__system``.
OF_WORKER = {
    "worker_memory": "memory.total.used",
    "uptime_s": "uptimeSecs",
    "worker_cpu": "workerCpuUsage",
}
COUNTERS = ("in", "out")
#: Reasons that concern the value: the line is whole and says whose it is.
OF_VALUE = (Reason.WRONG_TYPE.value, Reason.NOT_FINITE.value, Reason.NEGATIVE.value)


def parsed(lines: DataFrame, topology: str | None) -> DataFrame:
    """One row per line with its parts, and the reason to set it aside, if any."""
    value = F.col("value")
    parts = F.split(F.when(F.octet_length(value) <= LONGEST_LINE, value), "\t", 5)
    head, where, who, name, text = (F.get(parts, F.lit(i)) for i in range(5))
    where, who = F.trim(where), F.trim(who)
    run = F.regexp_extract("file", _PATH, 1)
    tokens = lines.where(F.trim(value) != "").select(
        value.cast("binary").alias("raw"),
        "file",
        run.alias("run"),
        F.coalesce(F.lit(topology), F.regexp_extract(run, _RUN, 1)).alias("topology"),
        F.regexp_extract(head, _HEAD, 1).alias("stamp"),
        (F.regexp_extract(head, _HEAD, 2).try_cast("bigint") * 1000).alias("time_ms"),
        F.regexp_extract(where, _WHERE, 1).alias("host"),
        F.regexp_extract(where, _WHERE, 2).alias("worker"),
        F.regexp_extract(who, _WHO, 1).try_cast("bigint").alias("task"),
        F.regexp_extract(who, _WHO, 2).alias("component"),
        F.rtrim(name).alias("name"),
        text.alias("text"),
    )
    meant = tokens.withColumns(
        {"meaning": _meaning(), "number": F.expr("try_cast(text as double)")}
    ).withColumn("is_cut", F.length("name") == NAME_LENGTH)
    number, is_read = F.col("number"), F.col("meaning").isNotNull()
    no_metrics = (
        F.col("text").isNull()
        | F.col("time_ms").isNull()
        | F.col("task").isNull()
        | (F.col("host") == "")
        | (F.col("name") == "")
    )
    reason = (
        F.when(F.octet_length("raw") > LONGEST_LINE, F.lit(Reason.TOO_LONG.value))
        .when(~F.is_valid_utf8(F.col("raw").cast("string")), F.lit(Reason.NOT_UTF8.value))
        .when(no_metrics, F.lit(Reason.NOT_METRICS.value))
        .when(is_read & number.isNull(), F.lit(Reason.WRONG_TYPE.value))
        .when(
            is_read & (F.isnan(number) | (F.abs(number) == float("inf"))),
            F.lit(Reason.NOT_FINITE.value),
        )
        .when(is_read & (number < 0), F.lit(Reason.NEGATIVE.value))
    )
    return meant.withColumn("reason", reason).withColumn(
        "field", F.when(F.col("reason").isin(*OF_VALUE), F.col("name")).otherwise(F.lit(""))
    )


def _meaning() -> Column:
    name = F.col("name")
    meaning_of_line = F.lit(None).cast("string")
    for meaning, beginning in _MEANINGS.items():
        fits = name.startswith(beginning)
        if meaning in COUNTERS:
            # A rate under the counter's name is not a bad counter but another metric.
            fits = fits & ~F.col("text").rlike(_DOUBLE)
        if meaning.endswith("_ms"):
            # Ticks of the system are no tuples.
            fits = fits & ~name.startswith(beginning + "__sys"[: NAME_LENGTH - len(beginning)])
        meaning_of_line = F.when(fits, F.lit(meaning)).otherwise(meaning_of_line)
    for meaning, whole in OF_WORKER.items():
        of_system = (F.col("component") == "__system") & (name == whole)
        meaning_of_line = F.when(of_system, F.lit(meaning)).otherwise(meaning_of_line)
    return meaning_of_line

"""Names that LoggingMetricsConsumer cut at 23 characters, made whole where the log itself allows.

``__execute-count-`` leaves 7 characters for ``source:stream`` and ``__emit-count-`` 10 for the
stream. The streams that a source itself emits in the same log say which of them the 7 can be: one
candidate for one line is the answer. What stays open is written with ``…`` at its end: ``def…`` may
be one stream or the sum of several, and ``analyze…`` one source or several. The tuples are counted
all the same, so that rates hold where traffic by stream does not.

What cannot be known: a name of exactly 23 characters may be cut or whole; a component whose name
has a colon looks like a shorter one with a stream; two components alike in their first 7 characters
are told apart only where one of them does not emit.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

#: LoggingMetricsConsumer pads or cuts every name to this.
NAME_LENGTH = 23
CUT = "…"

IN, OUT = "__execute-count-", "__emit-count-"
IN_LENGTH = NAME_LENGTH - len(IN)
#: Storm's own stream that fills its place to the last character, and is whole.
_WHOLE = "__ack_init"


def candidates(counters: DataFrame, streams: Iterable[tuple[str, str]]) -> DataFrame:
    """For each 7 characters, how many streams begin so and what they have in common.

    ``streams`` are (component, stream) pairs known from elsewhere, such as a topology's file: the
    log has only the streams of tasks whose workers wrote to it.
    """
    outputs = counters.where(F.col("meaning") == "out")
    observed = outputs.select("run", "component", _output_stream().alias("stream"))
    known = sorted(set(streams))
    if known:
        rows = F.explode(
            F.array(*[F.struct(F.lit(c).alias("c"), F.lit(s).alias("s")) for c, s in known])
        )
        declared = counters.select("run").distinct().select("run", rows.alias("told"))
        observed = observed.union(declared.select("run", "told.c", "told.s"))
    whole = F.concat_ws(":", "component", "stream")
    return (
        observed.distinct()
        .withColumn("rest", F.left(whole, F.lit(IN_LENGTH)))
        .groupBy("run", "rest")
        .agg(
            F.count("*").alias("streams"),
            F.count_distinct("component").alias("sources"),
            F.min("component").alias("candidate_source"),
            F.min("stream").alias("candidate_stream"),
        )
    )


def with_names(counters: DataFrame, names: DataFrame) -> DataFrame:
    """``stream`` of every counter, and ``source`` of those that count input.

    ``rest`` is what follows ``__execute-count-`` or ``__emit-count-``; ``lines`` says how many
    lines had that name at one moment.
    """
    rest, is_cut, is_input = F.col("rest"), F.col("is_cut"), F.col("meaning") == "in"
    has_colon = F.locate(":", rest) > 0
    # Two lines under one name are two streams, whatever the log knows of.
    certain = is_cut & (F.col("streams") == 1) & (F.col("lines") == 1)
    source = (
        F.when(certain, F.col("candidate_source"))
        .when(has_colon, F.substring_index(rest, ":", 1))
        .when(F.col("sources") == 1, F.col("candidate_source"))
        .otherwise(F.concat(rest, F.lit(CUT)))
    )
    after_colon = F.when(has_colon, F.substring(rest, F.locate(":", rest) + 1, F.length(rest)))
    stream = F.when(certain, F.col("candidate_stream")).otherwise(
        F.concat(F.coalesce(after_colon, F.lit("")), _mark(is_cut))
    )
    return counters.join(F.broadcast(names), ["run", "rest"], "left").select(
        *counters.columns,
        F.when(is_input, source).alias("source"),
        F.when(is_input, stream).otherwise(_output_stream()).alias("stream"),
    )


def _output_stream() -> Column:
    return F.concat("rest", _mark(F.col("is_cut") & (F.col("rest") != _WHOLE)))


def _mark(is_open: Column) -> Column:
    return F.when(is_open, F.lit(CUT)).otherwise(F.lit(""))

"""A stream as a problem has it: between flattened components."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.model.profile import StreamMeasure
from penstock.model.topology import Grouping, Stream, Topology


@dataclass(frozen=True, slots=True)
class FlatStream:
    """A stream between flattened components, measured values in place of declared ones."""

    source: int
    target: int
    grouping: Grouping
    selectivity: float
    tuple_bytes: float
    keys: int
    key_skew: float
    #: Measured traffic, where the profile has it.
    tuples_per_s: float | None
    declared: Stream


def flatten(
    stream: Stream, topology: Topology, first: int, measure: StreamMeasure | None
) -> FlatStream:
    """A topology's stream, its components counted from ``first``, with what was measured of it."""
    selectivity, size = stream.selectivity, stream.tuple_bytes
    if measure is not None:
        selectivity = selectivity if measure.selectivity is None else measure.selectivity
        size = size if measure.tuple_bytes is None else measure.tuple_bytes
    return FlatStream(
        source=first + topology.index[stream.source],
        target=first + topology.index[stream.target],
        grouping=stream.grouping,
        selectivity=selectivity,
        tuple_bytes=size,
        keys=stream.keys,
        key_skew=stream.key_skew,
        tuples_per_s=None if measure is None else measure.tuples_per_s,
        declared=stream,
    )

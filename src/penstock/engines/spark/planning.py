"""Planning for Spark: what it divides differently."""

from __future__ import annotations

from dataclasses import replace

from penstock.model.topology import Grouping, Kind, Stream, Topology

#: The scheduler for an engine that runs stages one after the other.
SCHEDULER = "proportional"
#: Where the topology does not name the fields.
_SOME_KEY = "key"


def as_spark_runs_it(topology: Topology) -> Topology:
    """The topology with every stream divided by shares, and counts left to the planner.

    Our engine deals keys by shares too, and instances are partitions: the numbers of tasks and
    workers that a topology asks of Storm mean nothing here. Nobody acks.
    """
    components = tuple(
        replace(c, instances=None, tasks=None)
        for c in topology.components
        if c.kind is not Kind.ACKER
    )
    running = {c.name for c in components}
    streams = tuple(
        _by_share(s) for s in topology.streams if s.source in running and s.target in running
    )
    return replace(topology, components=components, streams=streams, workers=None)


def _by_share(stream: Stream) -> Stream:
    # A weighted stream is divided by shares already, and by key where it names fields.
    if not stream.grouping.is_divided or stream.grouping is Grouping.WEIGHTED:
        return stream
    # Fields on a weighted stream say that it is divided anew, by key.
    is_keyed = stream.grouping.is_keyed
    fields = (stream.fields or (_SOME_KEY,)) if is_keyed else ()
    return replace(stream, grouping=Grouping.WEIGHTED, fields=fields)

"""What a recording was made from, for tests to compare with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.model.profile import Cost
from penstock_bench.synthetic.layout import lay_out


@dataclass(frozen=True, slots=True)
class StreamTruth:
    """A stream as the pipeline should find it."""

    topology: str
    source: str
    target: str
    name: str
    selectivity: float
    tuple_bytes: float
    #: Mean over the recording, all instances together.
    tuples_per_s: float


@dataclass(frozen=True, slots=True)
class EdgeTruth:
    """Mean traffic from task to task on one stream."""

    topology: str
    source: str
    source_task: int
    target: str
    target_task: int
    name: str
    tuples_per_s: float
    bytes_per_s: float


@dataclass(frozen=True)
class Truth:
    #: By (component row, machine type), of types that hold an instance of such a component.
    costs: dict[tuple[str, str], Cost]
    memory_mb: dict[str, float]
    streams: tuple[StreamTruth, ...]
    traffic: tuple[EdgeTruth, ...]


def truth(problem: Problem, placement: Placement, mean_scale: float = 1.0) -> Truth:
    """What telemetry of this placement should lead back to; traffic at the mean of the scale."""
    layout = lay_out(problem, placement)
    rows = [problem.cost_rows[c] for c in placement.component]
    kinds = [problem.cluster.types[t].name for t in layout.machine_type]
    table = problem.profile.by_place if problem.profile else {}
    places = sorted(set(zip(rows, kinds, strict=True)))
    measured = dict(zip(rows, layout.memory_mb.tolist(), strict=True))
    edges = layout.edges
    per_stream = np.bincount(
        edges.stream, weights=edges.tuples_per_s, minlength=len(problem.streams)
    )
    topologies = [problem.topologies[t].name for t in problem.topology_of]
    return Truth(
        costs={place: table[place] for place in places},
        memory_mb={row: mb for row, mb in sorted(measured.items()) if not np.isnan(mb)},
        streams=tuple(
            StreamTruth(
                topologies[s.source],
                s.declared.source,
                s.declared.target,
                s.declared.name,
                s.selectivity,
                s.tuple_bytes,
                float(per_stream[i]) * mean_scale,
            )
            for i, s in enumerate(problem.streams)
        ),
        traffic=tuple(
            EdgeTruth(
                topologies[problem.streams[stream].source],
                problem.streams[stream].declared.source,
                int(layout.task[source]),
                problem.streams[stream].declared.target,
                int(layout.task[target]),
                problem.streams[stream].declared.name,
                per_s * mean_scale,
                per_s * mean_scale * problem.streams[stream].tuple_bytes,
            )
            for stream, source, target, per_s in zip(
                edges.stream.tolist(),
                edges.source.tolist(),
                edges.target.tolist(),
                edges.tuples_per_s.tolist(),
                strict=True,
            )
            if per_s > 0
        ),
    )

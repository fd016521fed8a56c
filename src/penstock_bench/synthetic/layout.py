"""What stays the same in a synthetic recording: the tasks, their workers, and who sends to whom.

An instance of the model is one task here. Everything is worked out once at scale 1; the windows
of the recording only multiply it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from penstock.errors import Finding, InputError
from penstock.evaluate.division import divide_evenly
from penstock.evaluate.network import crossings
from penstock.evaluate.rates import Flow, Rates, propagate, worker_keys
from penstock.model.arrays import FloatVector, IntVector, sum_by
from penstock.model.flat_stream import FlatStream
from penstock.model.placement import Placement
from penstock.model.problem import Problem
from penstock.model.topology import Grouping, Kind, Stream, Topology

#: Storm's first worker port.
_FIRST_PORT = 6700

_S = TypeVar("_S", str, int)


@dataclass(frozen=True)
class Edges:
    """Tuples/s at scale 1 from instance to instance, arrays of shape (edges,)."""

    #: Index into the problem's streams.
    stream: IntVector
    source: IntVector
    target: IntVector
    tuples_per_s: FloatVector


@dataclass(frozen=True)
class Entries:
    """Counters of the tasks: entries of ``inputs`` or ``outputs``, sorted by instance, (entries,).

    ``source`` and ``source_task`` are the component and task the tuples come from, for inputs.
    """

    instance: IntVector
    stream_name: tuple[str, ...]
    tuples_per_s: FloatVector
    tuple_bytes: FloatVector
    #: Tuples of the entry per tuple its task takes in, for outputs.
    selectivity: FloatVector
    source: tuple[str, ...] = ()
    #: 0 where the writer does not know the source task.
    source_task: IntVector | None = None


@dataclass(frozen=True)
class RecordingLayout:
    """Tasks and counters of a placement; arrays of shape (instances,) unless said otherwise."""

    problem: Problem
    placement: Placement
    rate_per_s: FloatVector
    #: Tuples/s at scale 1 that cross a process boundary, in and out together.
    crossing_per_s: FloatVector
    e: FloatVector
    met: FloatVector
    e_remote: FloatVector
    memory_mb: FloatVector
    machine_type: IntVector
    is_spout: FloatVector
    #: Task number, from 1 in each topology.
    task: IntVector
    #: Worker index, 0 to workers - 1.
    worker: IntVector
    #: Machine of each worker, shape (workers,).
    worker_machine: IntVector
    worker_name: tuple[str, ...]
    edges: Edges
    inputs: Entries
    outputs: Entries

    def __len__(self) -> int:
        return len(self.placement)


def streams_apart(topology: Topology) -> Topology:
    """The same topology with a name of its own for each stream that needs one.

    On an engine all subscribers of a named stream see the same tuples. A model may give two
    streams of one source and name unlike selectivities or sizes; those become ``name-target``.
    """
    unlike = _unlike((s.source, s.name, s) for s in topology.streams)
    streams = tuple(
        replace(s, name=f"{s.name}-{s.target}") if (s.source, s.name) in unlike else s
        for s in topology.streams
    )
    return replace(topology, streams=streams)


def _unlike(streams: Iterable[tuple[_S, str, Stream | FlatStream]]) -> set[tuple[_S, str]]:
    """(source, stream name) of streams that cannot be the same tuples."""
    kinds_of: dict[tuple[_S, str], set[tuple[float, float]]] = {}
    for source, name, stream in streams:
        kinds_of.setdefault((source, name), set()).add((stream.selectivity, stream.tuple_bytes))
    return {ends for ends, kinds in kinds_of.items() if len(kinds) > 1}


def lay_out(problem: Problem, placement: Placement, *, by_task: bool = False) -> RecordingLayout:
    """Tasks and counters of a placement; inputs by source task as well if ``by_task``."""
    _check(problem, placement)
    cluster = problem.cluster
    rates = propagate(problem, placement)
    kind = cluster.type_of[placement.machine]
    component = placement.component
    worker_key, _ = worker_keys(placement)
    _, first, worker = np.unique(worker_key, return_index=True, return_inverse=True)
    topology_of = problem.topology_of[component]
    starts = np.searchsorted(topology_of, np.arange(len(problem.topologies)))
    task = np.arange(1, len(placement) + 1) - starts[topology_of]
    edges = _edges(problem, placement, rates)
    spout = np.array([c.kind is Kind.SPOUT for c in problem.components], dtype=np.float64)
    return RecordingLayout(
        problem=problem,
        placement=placement,
        rate_per_s=rates.per_instance,
        crossing_per_s=crossings(placement, rates),
        e=problem.e[component, kind],
        met=problem.met[component, kind],
        e_remote=problem.e_remote[component, kind],
        memory_mb=problem.memory_mb[component],
        machine_type=kind,
        is_spout=spout[component],
        task=task,
        worker=worker.astype(np.int64),
        worker_machine=placement.machine[first],
        worker_name=tuple(str(_FIRST_PORT + int(placement.slot[i])) for i in first),
        edges=edges,
        inputs=_inputs(problem, edges, task if by_task else None),
        outputs=_outputs(problem, placement, rates.per_instance),
    )


def _check(problem: Problem, placement: Placement) -> None:
    counts = placement.counts(len(problem.components))
    findings = [
        Finding("has no instance in the placement", field=f"component {problem.labels[c]}")
        for c in np.flatnonzero(counts == 0)
    ]
    unlike = _unlike((s.source, s.declared.name, s) for s in problem.streams)
    findings += [
        Finding(
            f'streams named "{name}" have unlike selectivities or sizes, but on an engine they are '
            "the same tuples; give them names of their own (streams_apart)",
            field=f"component {problem.labels[source]}",
        )
        for source, name in sorted(unlike)
    ]
    if findings:
        raise InputError(*findings)


def _edges(problem: Problem, placement: Placement, rates: Rates) -> Edges:
    number = {id(stream): i for i, stream in enumerate(problem.streams)}
    parts: list[Edges] = []
    for flow in rates.flows:
        tuples = flow.sent[:, None] * flow.division[None, :]
        if flow.stream.grouping is Grouping.LOCAL_OR_SHUFFLE:
            tuples = tuples + _kept_local(problem, placement, rates.per_instance, flow)
        # A zero says "took in nothing"; one per target is enough to say it.
        carries = tuples > 0
        carries[0] |= ~carries.any(axis=0)
        source, target = np.nonzero(carries)
        parts.append(
            Edges(
                np.full(len(source), number[id(flow.stream)]),
                source + flow.sources.start,
                target + flow.targets.start,
                tuples[carries],
            )
        )
    return Edges(
        _joined([p.stream for p in parts]),
        _joined([p.source for p in parts]),
        _joined([p.target for p in parts]),
        np.concatenate([np.zeros(0), *(p.tuples_per_s for p in parts)]),
    )


def _joined(parts: Sequence[IntVector]) -> IntVector:
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


def _kept_local(
    problem: Problem, placement: Placement, rate_per_s: FloatVector, flow: Flow
) -> FloatVector:
    """Tuples/s that stay in the sender's process, shape (sources, targets)."""
    worker, workers = worker_keys(placement)
    sources, targets = worker[flow.sources], worker[flow.targets]
    weights = divide_evenly(problem.components[flow.stream.target], len(targets))
    own = sum_by(targets, weights, workers)[sources]
    sent = rate_per_s[flow.sources] * flow.stream.selectivity
    each = np.divide(sent, own, out=np.zeros(len(sent)), where=own > 0)
    return each[:, None] * weights[None, :] * (sources[:, None] == targets[None, :])


def _inputs(problem: Problem, edges: Edges, task: IntVector | None) -> Entries:
    """One entry per stream and target instance, or per edge where source tasks are told."""
    if task is None:
        pairs = np.stack([edges.target, edges.stream])
        (target, stream), which = np.unique(pairs, axis=1, return_inverse=True)
        tuples = sum_by(which.ravel(), edges.tuples_per_s, len(target))
        source_task = None
    else:
        order = np.lexsort((edges.source, edges.stream, edges.target))
        target, stream = edges.target[order], edges.stream[order]
        tuples, source_task = edges.tuples_per_s[order], task[edges.source[order]]
    streams = [problem.streams[s] for s in stream]
    return Entries(
        instance=target,
        stream_name=tuple(s.declared.name for s in streams),
        tuples_per_s=tuples,
        tuple_bytes=np.array([s.tuple_bytes for s in streams]),
        selectivity=np.ones(len(streams)),
        source=tuple(s.declared.source for s in streams),
        source_task=source_task,
    )


def _outputs(problem: Problem, placement: Placement, rate_per_s: FloatVector) -> Entries:
    """One entry per instance and named stream, however many components subscribe to it."""
    named: list[dict[str, FlatStream]] = [{} for _ in problem.components]
    for stream in problem.streams:
        named[stream.source].setdefault(stream.declared.name, stream)
    rows = [
        (instance, stream)
        for instance, component in enumerate(placement.component.tolist())
        for stream in named[component].values()
    ]
    instance = np.array([i for i, _ in rows], dtype=np.int64)
    selectivity = np.array([s.selectivity for _, s in rows])
    return Entries(
        instance=instance,
        stream_name=tuple(s.declared.name for _, s in rows),
        tuples_per_s=rate_per_s[instance] * selectivity,
        tuple_bytes=np.array([s.tuple_bytes for _, s in rows]),
        selectivity=selectivity,
    )

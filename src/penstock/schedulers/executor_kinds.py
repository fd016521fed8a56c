"""Executors of a topology by kind, with the traffic between those of two kinds.

Executors that are alike are one kind: all of a component, if only sums per stream are known. Where
the profile has traffic between instances, each executor is a kind of its own, and instance i of a
component is the i-th task that was measured. A component of which another number was measured has
nobody to be matched with: its streams are spread evenly, and a note says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from penstock.model.arrays import FloatMatrix, IntVector
from penstock.model.instance_traffic import InstanceTraffic
from penstock.model.problem import Problem
from penstock.schedulers.room import components_of
from penstock.schedulers.traffic import ComponentTraffic

#: A connected pair of components, or of kinds, of one topology: source, destination.
Pair = tuple[int, int]
#: Each of so many has a row and a column: 32 MB. Of more, those of a component count as alike.
MOST_EXECUTORS = 2000


@dataclass(frozen=True)
class ExecutorKinds:
    """The executors of one topology; components are counted from its first."""

    topology: str
    #: Component of each kind, (kinds,), in order.
    component: IntVector
    #: Executors of each kind, (kinds,).
    counts: IntVector
    #: Tuples/s from one executor to one executor, (kinds, kinds).
    per_pair: FloatMatrix
    #: Kinds joined by a stream, each pair once, in the order of the streams.
    pairs: list[Pair]
    notes: tuple[str, ...] = ()


def connected_pairs(problem: Problem, topology: int) -> list[Pair]:
    """Component pairs joined by a stream, each once, in the order of the topology's streams."""
    graph = problem.topologies[topology]
    ends = ((graph.index[s.source], graph.index[s.target]) for s in graph.streams)
    return list(dict.fromkeys(ends))


def own_part(problem: Problem, topology: int) -> slice:
    """Where a topology's components stand in the arrays of the problem."""
    components = components_of(problem, topology)
    return slice(components.start, components.stop)


def kinds_by_traffic(
    problem: Problem, topology: int, counts: IntVector, traffic: ComponentTraffic
) -> ExecutorKinds:
    """As fine as what was measured; ``counts`` are of all components of the problem."""
    own = own_part(problem, topology)
    alike = ExecutorKinds(
        topology=problem.topologies[topology].name,
        component=np.arange(own.stop - own.start),
        counts=counts[own],
        per_pair=ComponentTraffic(traffic.between[own, own]).per_pair(counts[own].tolist()),
        pairs=connected_pairs(problem, topology),
    )
    measured = _measured_traffic(problem, topology)
    return alike if measured is None else _told_apart(problem, topology, alike, measured, traffic)


def _measured_traffic(problem: Problem, topology: int) -> InstanceTraffic | None:
    name = problem.topologies[topology].name
    entries = problem.profile.traffic if problem.profile else ()
    by_name = {traffic.topology: traffic for traffic in entries}
    return by_name.get(name) or by_name.get("")


def _told_apart(
    problem: Problem,
    topology: int,
    alike: ExecutorKinds,
    measured: InstanceTraffic,
    traffic: ComponentTraffic,
) -> ExecutorKinds:
    """Each executor on its own, as far as that was measured."""
    graph = problem.topologies[topology]
    about = f"{graph.name}: " if len(problem.topologies) > 1 else ""
    names = [component.name for component in graph.components]
    counts = alike.counts.tolist()
    seen = [len(measured.tasks_of.get(name, ())) for name in names]
    in_streams = sorted({end for pair in alike.pairs for end in pair})
    differing = [c for c in in_streams if seen[c] != counts[c]]
    matched = [pair for pair in alike.pairs if not set(pair) & set(differing)]
    spread = [pair for pair in alike.pairs if pair not in matched]
    listed = ", ".join(f"{names[c]} ({counts[c]} planned, {seen[c]} measured)" for c in differing)
    if sum(counts) > MOST_EXECUTORS:
        why = f"more than {MOST_EXECUTORS:,} executors"
    elif not matched or (spread and not traffic.is_measured):
        why = f"instances differ from those measured: {listed}"
    else:
        notes = [f"{about}traffic between executors as measured"]
        if spread:
            notes.append(f"{about}spread evenly where instances differ: {listed}")
        notes += [about + note for note in _shortcomings(measured)]
        return _executors(alike, names, measured, matched, spread, tuple(notes))
    note = f"{about}traffic spread evenly over executors: {why}"
    return replace(alike, notes=(note,))


def _shortcomings(measured: InstanceTraffic) -> list[str]:
    notes = []
    if measured.estimated:
        notes.append("traffic between executors is estimated: senders were not told")
    if measured.pairs_left_out:
        part = f"{100 * measured.part_left_out:.2g} %"
        notes.append(f"{part} of the tuples go between pairs that the profile leaves out")
    return notes


def _executors(
    alike: ExecutorKinds,
    names: list[str],
    measured: InstanceTraffic,
    matched: list[Pair],
    spread: list[Pair],
    notes: tuple[str, ...],
) -> ExecutorKinds:
    component = np.repeat(alike.component, alike.counts)
    starts = np.concatenate([[0], np.cumsum(alike.counts)])
    per_pair = np.zeros((len(component), len(component)))
    members = {c for pair in matched for c in pair}
    executor_of = {
        task: int(starts[c]) + i
        for c in members
        for i, task in enumerate(measured.tasks_of[names[c]])
    }
    joined = set(matched)
    for source_task, target_task, rate in measured.pairs:
        if source_task not in executor_of or target_task not in executor_of:
            continue
        source, target = executor_of[source_task], executor_of[target_task]
        if (int(component[source]), int(component[target])) in joined:
            per_pair[source, target] += rate
    blocks = {
        (c, d): np.s_[starts[c] : starts[c + 1], starts[d] : starts[d + 1]] for c, d in alike.pairs
    }
    for pair in spread:
        per_pair[blocks[pair]] = alike.per_pair[pair]
    np.fill_diagonal(per_pair, 0.0)  # an executor is always with itself
    return replace(
        alike,
        component=component,
        counts=np.ones(len(component), dtype=np.int64),
        per_pair=per_pair,
        pairs=list(_pairs_in(per_pair, starts, alike.pairs)),
        notes=notes,
    )


def _pairs_in(per_pair: FloatMatrix, starts: IntVector, pairs: list[Pair]) -> Iterable[Pair]:
    """Executors with traffic, by stream, then in their order."""
    for c, d in pairs:
        block = per_pair[starts[c] : starts[c + 1], starts[d] : starts[d + 1]]
        for i, j in np.argwhere(block > 0).tolist():
            yield int(starts[c]) + i, int(starts[d]) + j

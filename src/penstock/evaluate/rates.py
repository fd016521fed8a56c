"""Rates per instance (Nasiri eq. 6) and the flows they are made of.

Everything is linear in the scale, so rates are computed once at scale 1. A flow is the part of a
stream whose division does not depend on the sender: what instance s sends to instance t is
``sent[s] * division[t]``. That product form keeps all network sums linear in the instances.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from penstock.evaluate.division import divide_evenly, divide_stream
from penstock.model.arrays import FloatVector, IntVector, sum_by
from penstock.model.flat_stream import FlatStream
from penstock.model.placement import Placement
from penstock.model.problem import Problem


@dataclass(frozen=True, slots=True)
class Flow:
    """Tuples of one stream at scale 1, as sent by each source times division over targets."""

    stream: FlatStream
    sources: slice
    targets: slice
    #: Tuples/s from each source instance, shape (instances of the source,).
    sent: FloatVector
    #: Fraction for each target instance, shape (instances of the target,).
    division: FloatVector


@dataclass(frozen=True, slots=True)
class LocalFlow:
    """The part of a local-or-shuffle stream that stays inside the sender's process."""

    stream: FlatStream
    tuples_per_s: float


@dataclass(frozen=True, slots=True)
class Flows:
    """Everything that travels between instances."""

    shared: tuple[Flow, ...]
    local: tuple[LocalFlow, ...]


@dataclass(frozen=True)
class Rates:
    """Input of every instance at scale 1, shape (instances,), and the flows between them.

    Most evaluations never ask for the flows, so they are worked out on demand.
    """

    per_instance: FloatVector
    _flows: Callable[[], Flows]

    @cached_property
    def _known_flows(self) -> Flows:
        return self._flows()

    @property
    def flows(self) -> tuple[Flow, ...]:
        return self._known_flows.shared

    @property
    def local_flows(self) -> tuple[LocalFlow, ...]:
        return self._known_flows.local


def worker_keys(placement: Placement) -> tuple[IntVector, int]:
    """A number per worker process for each instance, dense enough for bincount, and their range."""
    slots = int(placement.slot.max(initial=0)) + 1
    machines = int(placement.machine.max(initial=0)) + 1
    return placement.machine * slots + placement.slot, machines * slots


def instance_rates(problem: Problem, placement: Placement) -> Rates:
    """Input of every instance, by the short way where all streams are divided evenly."""
    if problem.divides_evenly and not placement.has_shares:
        counts = placement.counts(len(problem.components))
        if np.count_nonzero(counts) == len(counts):
            each = problem.visits / counts
            return Rates(
                each.take(placement.component), lambda: propagate(problem, placement)._known_flows
            )
    return propagate(problem, placement)


def propagate(
    problem: Problem, placement: Placement, processed: FloatVector | None = None
) -> Rates:
    """Send the spouts' input through the topology. Components without instances are off.

    ``processed`` is the fraction of its input that each instance gets done and passes on, all of
    it unless given.
    """
    starts = placement.starts(len(problem.components))
    spans = [slice(int(a), int(b)) for a, b in pairwise(starts)]
    rate = np.zeros(len(placement))
    flows: list[Flow] = []
    local_flows: list[LocalFlow] = []
    for c in problem.order:
        span = spans[c]
        if span.start == span.stop:
            continue
        if problem.spout_rate[c] > 0:
            rate[span] += problem.spout_rate[c] * _spout_division(problem, c, placement.share[span])
        for index in problem.streams_from[c]:
            stream = problem.streams[index]
            targets = spans[stream.target]
            if targets.start == targets.stop:
                continue
            sent = rate[span] * stream.selectivity
            if processed is not None:
                sent *= processed[span]
            if stream.grouping.is_local:
                weights = divide_evenly(problem.components[stream.target], _length(targets))
                sent, local_per_s = serve_locally(placement, span, targets, weights, sent, rate)
                local_flows.append(LocalFlow(stream, local_per_s))
            division = divide_stream(
                stream, problem.components[stream.target], placement.share[targets]
            )
            rate[targets] += sent.sum() * division
            flows.append(Flow(stream, span, targets, sent, division))
    all_flows = Flows(tuple(flows), tuple(local_flows))
    return Rates(rate, lambda: all_flows)


def _spout_division(problem: Problem, spout: int, shares: FloatVector) -> FloatVector:
    if not np.isnan(shares[0]):
        return shares
    return divide_evenly(problem.components[spout], len(shares))


def _length(span: slice) -> int:
    return int(span.stop - span.start)


def serve_locally(
    placement: Placement,
    sources: slice,
    targets: slice,
    weights: FloatVector,
    sent: FloatVector,
    rate: FloatVector,
) -> tuple[FloatVector, float]:
    """Give what can stay in the process to its targets there; return what is left to shuffle."""
    worker, workers = worker_keys(placement)
    own_targets = sum_by(worker[targets], weights, workers)
    sent_by_worker = sum_by(worker[sources], sent, workers)
    served = own_targets > 0
    each = np.divide(sent_by_worker, own_targets, out=np.zeros(workers), where=served)
    rate[targets] += each[worker[targets]] * weights
    return np.where(served[worker[sources]], 0.0, sent), float(sent_by_worker[served].sum())


def stream_rates(problem: Problem, placement: Placement) -> FloatVector:
    """Tuples/s sent on each stream at scale 1, whoever gets them, shape (streams,)."""
    into = visit_ratios(problem, placement.counts(len(problem.components)))
    return np.array([into[s.source] * s.selectivity for s in problem.streams])


def visit_ratios(problem: Problem, counts: IntVector | None = None) -> FloatVector:
    """Total input of each component at scale 1, k[c] times the demand, shape (components,).

    Counts matter only under ``all`` grouping, where every instance gets a full copy; without
    counts each component has one instance, the least input any plan can give it.
    """
    if counts is None or problem.divides_evenly:
        return problem.visits
    total = problem.spout_rate.copy()
    for c in problem.order:
        for index in problem.streams_from[c]:
            stream = problem.streams[index]
            copies = problem.copies(stream, int(counts[stream.target]))
            total[stream.target] += total[c] * stream.selectivity * copies
    return total

"""The hottest key of a component: one instance takes it, however many instances there are.

What it brings must fit a thread. Tuples come to that instance from everywhere and its output goes
everywhere: only what stays on its machine does not cross, and the machine has points for only so
much of the components it talks to. With R the scale, U the points left beside the instance, and y
of the R that each of those streams has (y <= R) on the machine, at E points each,

    what crosses  >=  sum alpha (R - y),   sum E y <= U

so the least that crosses is a fractional knapsack (Dantzig 1957), and it grows with R: bisection
finds where it fills the thread (``e_remote`` at both ends) or the card (bytes in, bytes out).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from penstock.evaluate.capacity import BYTES_PER_MEGABIT
from penstock.evaluate.division import key_weights
from penstock.model.arrays import FloatVector
from penstock.model.flat_stream import FlatStream
from penstock.model.problem import Problem

THREAD, CARD = "thread", "network card"
#: Rounding must not leave a plan above the bound.
_JUST_ABOVE = 1.0 + 1e-12
_HALVINGS = 60


@dataclass(frozen=True, slots=True)
class HottestKey:
    """A key whose tuples one instance must take, however many instances there are."""

    component: int
    #: Part of the component's input that has this key.
    part: float
    #: The scale at which it fills the fastest thread, or the widest card, there is.
    scale: float
    fills: str = THREAD
    #: The scale it allows on machines of each type, 0 where there are none, shape (types,).
    allowed: FloatVector = field(default_factory=lambda: np.zeros(0), compare=False)


def hottest_keys(problem: Problem) -> list[HottestKey]:
    """The hottest key of each component with keyed streams, and the scale it allows.

    The cost model sends the keys of one rank in all streams to the same instance.
    """
    hot = np.zeros(len(problem.components))
    for stream in problem.streams:
        hot[stream.target] += _hottest_flow(problem, stream)
    there = np.flatnonzero(problem.cluster.machines_per_type > 0).tolist()
    hottest = []
    for c in np.flatnonzero(hot > 0).tolist():
        if (problem.e[c][there] > 0).all():
            part = float(hot[c] / problem.visits[c])
            ways = [_allowed_on(problem, c, float(hot[c]), t) for t in there]
            scale, fills = max(ways, key=lambda own: own[0])
            allowed = np.zeros(len(problem.cluster.types))
            allowed[there] = [own for own, _ in ways]
            hottest.append(HottestKey(c, part, scale * _JUST_ABOVE, fills, allowed))
    return hottest


def hottest_key_in_words(problem: Problem, key: HottestKey) -> str:
    """What a key that limits every plan means, and what helps."""
    rate = key.scale * float(problem.demand.sum())
    best = "widest" if key.fills == CARD else "fastest"
    return (
        f"the hottest key of {problem.labels[key.component]} brings {100 * key.part:.2g} % of its "
        f"input to one instance and fills the {best} {key.fills} at {rate:,.0f} tuples/s; more "
        "instances or machines do not help: split the key, or aggregate before it"
    )


def _hottest_flow(problem: Problem, stream: FlatStream) -> float:
    if not (stream.grouping.is_keyed and stream.keys):
        return 0.0
    flow = problem.visits[stream.source] * stream.selectivity
    return float(flow * key_weights(stream.keys, stream.key_skew)[0])


@dataclass(frozen=True)
class _Crossing:
    """Streams of one instance that cross where they do not stay on its machine."""

    #: What each costs for each tuple/s of the scale, and the points that all of its other end
    #: takes for each, shape (streams,).
    cost: FloatVector
    points: FloatVector

    def least(self, scale: float, room: float) -> float:
        """What crosses at least, where the machine has so much room for the other ends."""
        order = np.argsort(-self.cost / np.maximum(self.points, 1e-300), kind="stable")
        points = self.points[order] * scale
        before = np.append(0.0, np.cumsum(points)[:-1])
        taken = np.clip(room - before, 0.0, points)
        part = np.divide(taken, points, out=np.ones(len(points)), where=points > 0)
        return float(self.cost[order] @ (1.0 - part)) * scale


def _allowed_on(problem: Problem, c: int, hot: float, t: int) -> tuple[float, str]:
    """The scale at which the instance with the hottest key is full on machines of a type."""
    kind = problem.cluster.types[t]
    own = float(problem.e[c, t]) * hot
    thread = max(float(problem.instance_points[c, t] - problem.met[c, t]), 0.0)
    overhead = kind.base_cpu_points + kind.worker_cpu_points
    room = max(float(problem.cluster.usable_cpu_per_type[t]) - overhead, 0.0)
    card = np.inf if kind.nic_mbps is None else kind.nic_mbps * BYTES_PER_MEGABIT
    into, out = hot_inputs(problem, c), hot_outputs(problem, c, hot)
    remote = float(problem.e_remote[c, t])
    allowed, fills = thread / own, THREAD
    for exchanges, each, base, limit, what in (
        ((*into, *out), [remote] * (len(into) + len(out)), own, thread, THREAD),
        (into, [e.tuple_bytes for e in into], 0.0, card, CARD),
        (out, [e.tuple_bytes for e in out], 0.0, card, CARD),
    ):
        rates = np.array([e.rate for e in exchanges])
        points = [float(problem.e[e.peer, t]) * e.whole for e in exchanges]
        load = _Load(_Crossing(rates * np.array(each), np.array(points)), base, own, room)
        if len(exchanges) and np.isfinite(limit) and load(allowed) > limit:
            allowed, fills = _where_full(load, limit, allowed), what
    return allowed, fills


@dataclass(frozen=True)
class _Load:
    """What the instance puts on its thread, or on a card, at a scale."""

    crossing: _Crossing
    base: float
    #: Points of the instance itself for each tuple/s of the scale, and those of its machine.
    own: float
    room: float

    def __call__(self, scale: float) -> float:
        left = max(self.room - self.own * scale, 0.0)
        return self.base * scale + self.crossing.least(scale, left)


def _where_full(load: _Load, limit: float, above: float) -> float:
    """The least scale, from above, at which there is more load than the limit."""
    below = 0.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (below + above)
        if load(middle) > limit:
            above = middle
        else:
            below = middle
    return above


@dataclass(frozen=True, slots=True)
class HotExchange:
    """Tuples that the instance exchanges with another component, at scale 1."""

    peer: int
    rate: float
    #: Tuples/s of all of the peer that this is a part of.
    whole: float
    tuple_bytes: float


def hot_inputs(problem: Problem, c: int) -> list[HotExchange]:
    """Where the tuples with the hottest key of a component come from."""
    return [
        HotExchange(
            stream.source,
            _hottest_flow(problem, stream),
            float(problem.visits[stream.source]),
            stream.tuple_bytes,
        )
        for stream in problem.streams
        if stream.target == c and _hottest_flow(problem, stream) > 0
    ]


def hot_outputs(problem: Problem, c: int, hot: float) -> list[HotExchange]:
    """Where the instance sends what it makes of ``hot`` tuples/s.

    Of copies and of what stays in its process it is not known how much crosses.
    """
    return [
        HotExchange(
            stream.target,
            hot * stream.selectivity,
            float(problem.visits[c]) * stream.selectivity,
            stream.tuple_bytes,
        )
        for stream in problem.streams
        if stream.source == c and stream.selectivity > 0
        if not (stream.grouping.is_copied or stream.grouping.is_local)
    ]

"""Which instances a tuple goes to.

The parts of a stream that the target's instances get come from the cost model
(:mod:`penstock.evaluate.division`); here is only the order in which they get them. Shuffle deals in
turn from a random place, as Storm does; plans' shares are dealt by a sequence that keeps to them
closely (Weyl's, with the golden ratio); keys come at random. Load-aware shuffle is Storm 2's: every
second a target within 5 % of the least loaded gains a hundredth of weight and any other loses ten,
and targets nearby are preferred until their queues are on average 80 % full, or 20 % to go back.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from penstock.model.cluster import Hop
from penstock.simulate.compiled import compiled
from penstock.simulate.generator import uniform
from penstock.simulate.tables import instance_at, machine_at, route_at, target_at

GOLDEN = 0.6180339887498949
#: Storm's numbers (LoadAwareShuffleGrouping, defaults.yaml).
MOST_WEIGHT = 100
REFRESH_S = 1.0
_STILL_FINE = 0.05
_GAIN, _LOSS = 1, 10
_WIDER, _NARROWER = 0.8, 0.2


class RouteChoice(IntEnum):
    """How a route chooses among its targets."""

    TURN = 0
    SHARES = 1
    RANDOM = 2
    ALL = 3
    LOAD_AWARE = 4


_SAME_PROCESS, _SAME_MACHINE = int(Hop.SAME_PROCESS), int(Hop.SAME_MACHINE)
_SAME_RACK, _OTHER_RACK = int(Hop.SAME_RACK), int(Hop.OTHER_RACK)
_OTHER_REGION = int(Hop.OTHER_REGION)
_TURN, _SHARES = int(RouteChoice.TURN), int(RouteChoice.SHARES)
_LOAD_AWARE = int(RouteChoice.LOAD_AWARE)


@compiled
def find(table, first, count, value):
    """Position of the first target whose cumulative weight is above ``value``."""
    low, high = first, first + count - 1
    while low < high:
        middle = (low + high) >> 1
        if target_at(table, middle).cumulative > value:
            high = middle
        else:
            low = middle + 1
    return low


@compiled
def choose(w, r, row):
    """The instance a tuple goes to; not for routes to all."""
    route = route_at(w.routes, r)
    if route.choice == _TURN:
        at = route.cursor + 1
        route.cursor = at if at < route.count else 0
        return target_at(w.targets, route.first + route.cursor).instance
    if route.choice == _SHARES:
        route.cursor += 1
        value = (route.offset + route.cursor * GOLDEN) % 1.0
    else:
        value = uniform(w, row)
    return target_at(w.targets, find(w.targets, route.first, route.count, value)).instance


@compiled
def hop_class(w, a, b):
    """The network class of what one instance sends another."""
    one, other = instance_at(w.instances, a), instance_at(w.instances, b)
    if one.worker == other.worker:
        return _SAME_PROCESS
    if one.machine == other.machine:
        return _SAME_MACHINE
    here, there = machine_at(w.machines, one.machine), machine_at(w.machines, other.machine)
    if here.rack == there.rack:
        return _SAME_RACK
    return _OTHER_RACK if here.region == there.region else _OTHER_REGION


@compiled
def _load(w, target):
    """How full a queue is, 0 to 1."""
    instance = instance_at(w.instances, target)
    return min(1.0, instance.queue / instance.limit)


@compiled
def _in_scope(w, i, target, scope):
    return min(3, hop_class(w, i, target)) <= scope


@compiled
def _next_scope(w, i, route):
    """Wider while the targets in scope are full, narrower when they are not; never empty."""
    scope = route.scope
    while True:
        targets, total, nearer = 0, 0.0, 0
        for k in range(route.first, route.first + route.count):
            if _in_scope(w, i, target_at(w.targets, k).instance, scope):
                targets += 1
                total += _load(w, target_at(w.targets, k).instance)
                nearer += _in_scope(w, i, target_at(w.targets, k).instance, scope - 1)
        if targets > 0:
            break
        scope += 1
    if total / targets > _WIDER:
        return min(3, scope + 1)
    if total / targets < _NARROWER and nearer > 0:
        return scope - 1
    return scope


@compiled
def refresh_load_aware(w, i, r):
    """Look at the targets' queues and divide anew."""
    route = route_at(w.routes, r)
    before = route.scope
    route.scope = _next_scope(w, i, route)
    least = 1.0
    for k in range(route.first, route.first + route.count):
        if route.scope != before:
            target_at(w.targets, k).weight = MOST_WEIGHT
        if _in_scope(w, i, target_at(w.targets, k).instance, route.scope):
            least = min(least, _load(w, target_at(w.targets, k).instance))
    total = 0.0
    for k in range(route.first, route.first + route.count):
        if not _in_scope(w, i, target_at(w.targets, k).instance, route.scope):
            target_at(w.targets, k).cumulative = total
            continue
        if _load(w, target_at(w.targets, k).instance) <= least + _STILL_FINE:
            target_at(w.targets, k).weight = min(
                MOST_WEIGHT, target_at(w.targets, k).weight + _GAIN
            )
        else:
            target_at(w.targets, k).weight = max(0, target_at(w.targets, k).weight - _LOSS)
        total += target_at(w.targets, k).weight
        target_at(w.targets, k).cumulative = total
    for k in range(route.first, route.first + route.count):
        target_at(w.targets, k).cumulative /= total


@compiled
def refresh_all(w):
    for i in range(w.instance_count):
        instance = instance_at(w.instances, i)
        for r in range(instance.first_route, instance.first_route + instance.routes):
            if route_at(w.routes, r).choice == _LOAD_AWARE:
                refresh_load_aware(w, i, r)


def cumulative(parts: np.ndarray) -> np.ndarray:
    """Parts added up, as parts of 1; the last is exactly 1, so that no draw falls behind it."""
    total = np.cumsum(parts) / parts.sum()
    total[-1:] = 1.0
    return total

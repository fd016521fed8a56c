"""Who is next: a heap of clocks, and a heap of tuples under way.

A clock is a machine (its next tuple done), a source (its next tuple due), a topology (its next
tuple timed out). Each has one next time or none, so the heap never grows, nothing in it is ever
stale, and a changed time moves one entry. Ties go to the clock with the lower number, and among
tuples under way to the one sent first: the same input gives the same order.
"""

from __future__ import annotations

import numpy as np

from penstock.simulate.compiled import compiled
from penstock.simulate.tables import timer_at, transit_at

NEVER = np.inf


@compiled
def _before(w, a, b):
    one, other = timer_at(w.timers, a).time_s, timer_at(w.timers, b).time_s
    return one < other or (one == other and a < b)


@compiled
def _put(w, place, clock):
    timer_at(w.timers, place).heap = clock
    timer_at(w.timers, clock).place = place


@compiled
def first_clock(w):
    return timer_at(w.timers, 0).heap


@compiled
def clock_count(w):
    """Machines, sources, topologies, and one for what happens every second."""
    return w.machine_count + w.source_count + w.topology_count + 1


@compiled
def set_clock(w, clock, time_s):
    """Give a clock its next time."""
    timer = timer_at(w.timers, clock)
    if timer.time_s == time_s:
        return
    timer.time_s = time_s
    at = timer.place
    while at > 0:
        above = (at - 1) >> 1
        other = timer_at(w.timers, above).heap
        if not _before(w, clock, other):
            break
        _put(w, at, other)
        at = above
    size = clock_count(w)
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        other = timer_at(w.timers, below).heap
        if below + 1 < size:
            right = timer_at(w.timers, below + 1).heap
            if _before(w, right, other):
                below, other = below + 1, right
        if not _before(w, other, clock):
            break
        _put(w, at, other)
        at = below
    _put(w, at, clock)


@compiled
def _arrives_before(w, a, b):
    one, other = transit_at(w.transit, a), transit_at(w.transit, b)
    return one.time_s < other.time_s or (one.time_s == other.time_s and one.number < other.number)


@compiled
def _swap(w, a, b):
    one, other = transit_at(w.transit, a), transit_at(w.transit, b)
    time_s, number, node = one.time_s, one.number, one.node
    one.time_s, one.number, one.node = other.time_s, other.number, other.node
    other.time_s, other.number, other.node = time_s, number, node


@compiled
def send(w, time_s, node):
    """Put a tuple under way that arrives at that time."""
    at = w.in_transit
    entry = transit_at(w.transit, at)
    entry.time_s, entry.number, entry.node = time_s, w.sent, node
    w.in_transit += 1
    w.sent += 1
    while at > 0:
        above = (at - 1) >> 1
        if not _arrives_before(w, at, above):
            break
        _swap(w, at, above)
        at = above


@compiled
def take_first(w):
    """Remove the tuple that arrives first and return its node."""
    node = transit_at(w.transit, 0).node
    w.in_transit -= 1
    last = w.in_transit
    _swap(w, 0, last)
    at = 0
    while True:
        below = 2 * at + 1
        if below >= last:
            break
        if below + 1 < last and _arrives_before(w, below + 1, below):
            below += 1
        if not _arrives_before(w, below, at):
            break
        _swap(w, at, below)
        at = below
    return node

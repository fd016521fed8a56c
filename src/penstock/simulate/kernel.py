"""The compiled loop: one event after another.

A thread takes a tuple from its instance's queue (:mod:`.queueing`), works on it (:mod:`.sharing`)
and hands over what comes of it (:mod:`.handing_over`). What must happen at one instant is put on a
list of ready threads and done before time goes on, so no function calls itself.
"""

from __future__ import annotations

from penstock.simulate.calendar import NEVER, first_clock, set_clock, take_first
from penstock.simulate.compiled import compiled
from penstock.simulate.generator import exponential
from penstock.simulate.handing_over import arrive, go_on, work_done
from penstock.simulate.queueing import enqueue, start_free
from penstock.simulate.roots import time_out
from penstock.simulate.routing import GOLDEN, REFRESH_S, find, refresh_all
from penstock.simulate.sharing import settle_touched, vacate
from penstock.simulate.tables import (
    instance_at,
    machine_at,
    node_at,
    number_at,
    root_at,
    server_at,
    source_at,
    step_at,
    target_at,
    timer_at,
    topology_at,
    transit_at,
)
from penstock.simulate.tuples import new_node

#: Why the loop came back.
REACHED, MANY_EVENTS, NO_ROOM = 0, 1, 2


@compiled
def run_until(w, until_s, most_events):
    """Let things happen until a time, so many events, or the tables are full."""
    stop_at = w.events + most_events
    while True:
        if w.free_nodes < w.most_new_nodes or w.free_roots < w.most_new_roots:
            return NO_ROOM
        if w.in_transit + w.most_new_nodes > w.transit_size:
            return NO_ROOM
        if w.may_deal:
            deal_owed(w)
            continue
        if w.ready > 0:
            s = number_at(w.ready_list, w.ready_first).value
            w.ready_first = (w.ready_first + 1) % w.ready_size
            w.ready -= 1
            go_on(w, s)
            continue
        settle_touched(w)
        who = first_clock(w)
        time_s = timer_at(w.timers, who).time_s
        arrives = w.in_transit > 0 and transit_at(w.transit, 0).time_s < time_s
        if arrives:
            time_s = transit_at(w.transit, 0).time_s
        if time_s > until_s:
            w.now_s = until_s
            return REACHED
        if w.events >= stop_at:
            return MANY_EVENTS
        w.now_s = time_s
        w.events += 1
        if arrives:
            arrive(w, take_first(w))
        else:
            _strike(w, who)


@compiled
def _strike(w, who):
    """A clock's time has come."""
    machines, sources = w.machine_count, w.source_count
    if who < machines:
        s = machine_at(w.machines, who).next_server
        vacate(w, s)
        server_at(w.servers, s).remaining = 0.0
        work_done(w, s)
    elif who < machines + sources:
        _emit_due(w, who - machines)
    elif who < machines + sources + w.topology_count:
        _time_out_first(w, who - machines - sources)
    else:
        refresh_all(w)
        set_clock(w, who, w.now_s + REFRESH_S)


@compiled
def _emit_due(w, k):
    """A source's tuple is due now."""
    source = source_at(w.sources, k)
    add_at_source(w, source.instance, w.now_s)
    topology_at(w.topologies, source.topology).offered += 1
    set_next_due(w, k, w.now_s)


@compiled
def add_at_source(w, i, due_s):
    n = new_node(w)
    node = node_at(w.nodes, n)
    node.root, node.target, node.stream = -1, i, -1
    node.due_s = due_s
    node.remote = 0
    instance_at(w.instances, i).taken += 1
    enqueue(w, n)


@compiled
def set_next_due(w, k, from_s):
    """The time at which the source's rate, added up, has grown by one tuple."""
    source = source_at(w.sources, k)
    tuples = 1.0 if source.even else exponential(w, source.generator)
    set_clock(w, w.machine_count + k, due_after(w, k, from_s, tuples))


@compiled
def due_after(w, k, from_s, tuples):
    source = source_at(w.sources, k)
    time_s = from_s
    while source.segment < w.step_count:
        step = step_at(w.steps, source.topology * w.step_count + source.segment)
        rate, ends_s = source.share * step.rate, step.until_s
        if ends_s <= time_s:  # over before this source began
            source.segment += 1
            continue
        if rate > 0.0:
            if rate * (ends_s - time_s) >= tuples:
                return time_s + tuples / rate
            tuples -= rate * (ends_s - time_s)
        time_s = ends_s
        source.segment += 1
    return NEVER


@compiled
def deal_owed(w):
    """Fill the window, dealt by share; the spouts wait for the slowest of them.

    So all of them get tuples in the proportions of their rates, as the cost model has it, from the
    first second on, and not only when all the window waits in front of the slowest.
    """
    w.may_deal = 0
    while w.owed > 0 and w.free_nodes >= w.most_new_nodes:
        value = ((w.dealt + 1) * GOLDEN) % 1.0
        i = target_at(w.deal, find(w.deal, 0, w.deal_count, value)).instance
        instance = instance_at(w.instances, i)
        if instance.queue >= w.most_at_source:
            return
        w.dealt += 1
        w.owed -= 1
        topology_at(w.topologies, instance.topology).offered += 1
        add_at_source(w, i, w.now_s)
    w.may_deal = w.owed > 0


@compiled
def _time_out_first(w, t):
    """The oldest tuple of a topology that was not acknowledged has waited long enough."""
    r = topology_at(w.topologies, t).first_root
    root = root_at(w.roots, r)
    spout, due_s = root.spout, root.due_s
    replay = time_out(w, r)
    if replay:
        add_at_source(w, spout, due_s)
    start_free(w, spout)

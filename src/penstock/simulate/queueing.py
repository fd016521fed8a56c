"""Queues and who takes from them, in compiled code: a tuple comes, waits, is taken, or is lost."""

from __future__ import annotations

from penstock.simulate.compiled import compiled
from penstock.simulate.records import Phase
from penstock.simulate.roots import new_root, root_of_lost
from penstock.simulate.service import draw_factor
from penstock.simulate.sharing import occupy
from penstock.simulate.tables import instance_at, machine_at, node_at, number_at, server_at
from penstock.simulate.tuples import free_node, present

_SERVING = int(Phase.SERVING)
_FINISHED = int(Phase.FINISHED)
_DELIVERING = int(Phase.DELIVERING)


@compiled
def make_ready(w, s):
    number_at(w.ready_list, (w.ready_first + w.ready) % w.ready_size).value = s
    w.ready += 1


@compiled
def wake_waiter(w, instance):
    """The first that waits for a place in this queue gets it."""
    s = instance.first_waiter
    if s < 0:
        return
    server = server_at(w.servers, s)
    instance.first_waiter = server.next_waiter
    instance.taken += 1
    server.has_slot = 1
    server.phase = _DELIVERING
    make_ready(w, s)


@compiled
def start_free(w, i):
    """Free threads of an instance take tuples from its queue."""
    instance = instance_at(w.instances, i)
    while instance.free_server >= 0 and instance.queue > 0:
        if machine_at(w.machines, instance.machine).up == 0:
            return
        if instance.spout and (w.paused or instance.pending >= instance.most_pending):
            return
        s = instance.free_server
        instance.free_server = server_at(w.servers, s).next_free
        n = instance.queue_first
        instance.queue_first = node_at(w.nodes, n).next
        instance.queue -= 1
        instance.taken -= 1
        wake_waiter(w, instance)
        if instance.spout and w.owed > 0:
            w.may_deal = 1
        _start(w, s, n)


@compiled
def _start(w, s, n):
    server, node = server_at(w.servers, s), node_at(w.nodes, n)
    i = server.instance
    instance = instance_at(w.instances, i)
    server.node = n
    instance.started += 1
    instance.waited_s += w.now_s - node.since_s
    if instance.spout:
        new_root(w, i, n)
    work = instance.points_s
    if work > 0.0:
        work *= draw_factor(w, instance.component, i)
    if node.remote:
        work += instance.remote_points_s
    if work > 0.0:
        server.phase = _SERVING
        occupy(w, s, work)
    else:
        server.phase = _FINISHED
        make_ready(w, s)


@compiled
def enqueue(w, n):
    """A tuple joins its target's queue; a free thread takes it at once."""
    node = node_at(w.nodes, n)
    instance = instance_at(w.instances, node.target)
    now_s = w.now_s
    node.since_s = now_s
    node.next = -1
    if instance.queue == 0:
        instance.queue_first = n
    else:
        node_at(w.nodes, instance.queue_last).next = n
    instance.queue_last = n
    instance.queue += 1
    instance.came += 1
    present(instance, now_s, 1)
    start_free(w, node.target)


@compiled
def lose(w, n):
    """A tuple is gone, with the chance of its root to complete."""
    node = node_at(w.nodes, n)
    instance_at(w.instances, node.target).lost += 1
    root = node.root
    free_node(w, n)
    spout = root_of_lost(w, root)
    if spout >= 0:
        deal_again(w)
        start_free(w, spout)


@compiled
def deal_again(w):
    """Saturated sources: one place of the window is free again."""
    if w.window > 0:
        w.owed += 1
        w.may_deal = 1

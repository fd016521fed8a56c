"""What goes wrong, in compiled code: machines that slow down, die and come back."""

from __future__ import annotations

from penstock.simulate.calendar import take_first
from penstock.simulate.compiled import compiled
from penstock.simulate.queueing import lose, start_free, wake_waiter
from penstock.simulate.records import Phase
from penstock.simulate.sharing import touch, vacate
from penstock.simulate.tables import instance_at, machine_at, node_at, server_at
from penstock.simulate.tuples import present

_IDLE, _SERVING = int(Phase.IDLE), int(Phase.SERVING)
_SENDING, _WAITING = int(Phase.SENDING), int(Phase.WAITING)


@compiled
def set_speed(w, m, speed):
    """From now on a machine works at a part of its speed."""
    touch(w, m)
    machine_at(w.machines, m).speed = speed


@compiled
def take_down(w, m):
    """A machine dies; what its sources still have to offer is not lost with it."""
    touch(w, m)
    machine_at(w.machines, m).up = 0
    for i in range(w.instance_count):
        if instance_at(w.instances, i).machine == m:
            abandon(w, i)


@compiled
def bring_up(w, m):
    """A machine is back, with its instances empty."""
    machine_at(w.machines, m).up = 1
    for i in range(w.instance_count):
        if instance_at(w.instances, i).machine == m:
            start_free(w, i)


@compiled
def abandon(w, i):
    """Lose everything at an instance, but for tuples that a source still has to offer."""
    instance = instance_at(w.instances, i)
    while instance.first_waiter >= 0:  # they find nobody here
        wake_waiter(w, instance)
    while instance.queue > 0 and not instance.spout:
        n = instance.queue_first
        instance.queue_first = node_at(w.nodes, n).next
        instance.queue -= 1
        instance.taken -= 1
        present(instance, w.now_s, -1)
        lose(w, n)
    for s in range(instance.first_server, instance.first_server + instance.servers):
        if server_at(w.servers, s).phase != _IDLE:
            _drop_work(w, s)


@compiled
def _drop_work(w, s):
    """A thread forgets the tuple in its hands and what came of it."""
    server = server_at(w.servers, s)
    if server.phase == _SERVING or server.phase == _SENDING:
        vacate(w, s)
    elif server.phase == _WAITING:
        _stop_waiting(w, s)
    if server.has_slot:
        target = node_at(w.nodes, server.out_first).target
        instance_at(w.instances, target).taken -= 1
        server.has_slot = 0
    while server.out_first >= 0:
        n = server.out_first
        server.out_first = node_at(w.nodes, n).next
        lose(w, n)
    instance = instance_at(w.instances, server.instance)
    present(instance, w.now_s, -1)
    n = server.node
    server.node = -1
    server.phase = _IDLE
    server.next_free = instance.free_server
    instance.free_server = s
    lose(w, n)


@compiled
def _stop_waiting(w, s):
    """Take a thread out of the list of those that wait for a place."""
    target = instance_at(w.instances, node_at(w.nodes, server_at(w.servers, s).out_first).target)
    following = server_at(w.servers, s).next_waiter
    if target.first_waiter == s:
        target.first_waiter = following
        return
    at = target.first_waiter
    while server_at(w.servers, at).next_waiter != s:
        at = server_at(w.servers, at).next_waiter
    server_at(w.servers, at).next_waiter = following
    if target.last_waiter == s:
        target.last_waiter = at


@compiled
def lose_everything(w):
    """All that is not waiting at a source is lost: every process is started anew."""
    while w.in_transit > 0:
        n = take_first(w)
        instance_at(w.instances, node_at(w.nodes, n).target).taken -= 1
        lose(w, n)
    for i in range(w.instance_count):
        abandon(w, i)
    # Those that waited for a place were made ready, and then had nothing left to do.
    w.ready = 0

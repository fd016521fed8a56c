"""What a thread does when a tuple is handled, in compiled code.

It works out what comes of the tuple, pays for what leaves the process, and hands it over; a full
queue makes it wait, and with it everything behind it, back to the spouts, as in Storm 2.
"""

from __future__ import annotations

from penstock.model.cluster import LEAVES_MACHINE, Hop
from penstock.simulate.calendar import NEVER, send
from penstock.simulate.compiled import compiled
from penstock.simulate.generator import uniform
from penstock.simulate.histogram import BUCKETS
from penstock.simulate.latency_bucket import bucket
from penstock.simulate.queueing import deal_again, enqueue, lose, start_free
from penstock.simulate.records import Phase
from penstock.simulate.roots import let_go
from penstock.simulate.routing import RouteChoice, choose, hop_class
from penstock.simulate.sharing import occupy
from penstock.simulate.tables import (
    hop_at,
    instance_at,
    machine_at,
    node_at,
    number_at,
    real_at,
    root_at,
    route_at,
    server_at,
    stream_at,
    target_at,
)
from penstock.simulate.tuples import free_node, new_node, present

_OTHER_REGION = int(Hop.OTHER_REGION)
_HOPS = len(Hop)
_IDLE = int(Phase.IDLE)
_FINISHED = int(Phase.FINISHED)
_SENDING = int(Phase.SENDING)
_DELIVERING = int(Phase.DELIVERING)
_WAITING = int(Phase.WAITING)
_ALL = int(RouteChoice.ALL)


@compiled
def go_on(w, s):
    """A thread does what it can without time passing."""
    server = server_at(w.servers, s)
    if server.phase == _FINISHED:
        _send_results(w, s)
    if server.phase == _DELIVERING:
        _deliver(w, s)


@compiled
def work_done(w, s):
    server = server_at(w.servers, s)
    server.phase = _DELIVERING if server.phase == _SENDING else _FINISHED
    go_on(w, s)


@compiled
def _send_results(w, s):
    """Work out what comes of the tuple in hand and where it goes."""
    server = server_at(w.servers, s)
    i = server.instance
    instance = instance_at(w.instances, i)
    root = node_at(w.nodes, server.node).root
    remote = 0
    for r in range(instance.first_route, instance.first_route + instance.routes):
        route = route_at(w.routes, r)
        for _ in range(_how_many(w, r, i)):
            if route.choice == _ALL:
                for k in range(route.first, route.first + route.count):
                    remote += _put_out(w, s, target_at(w.targets, k).instance, root, route.stream)
            else:
                remote += _put_out(w, s, choose(w, r, i), root, route.stream)
    work = remote * instance.remote_points_s
    if work > 0.0:
        server.phase = _SENDING
        occupy(w, s, work)
    else:
        server.phase = _DELIVERING


@compiled
def _how_many(w, r, i):
    """Tuples put on a stream for one taken in."""
    route = route_at(w.routes, r)
    selectivity = stream_at(w.streams, route.stream).selectivity
    whole = int(selectivity)
    part = selectivity - whole
    if part == 0.0:
        return whole
    if w.by_batch:
        route.credit += part
        if route.credit >= 1.0:
            route.credit -= 1.0
            return whole + 1
        return whole
    return whole + 1 if uniform(w, i) < part else whole


@compiled
def _put_out(w, s, target, root, stream):
    """Add a tuple to what a thread has to hand over; whether it leaves the process."""
    server = server_at(w.servers, s)
    n = new_node(w)
    node = node_at(w.nodes, n)
    node.root, node.next, node.target, node.stream = root, -1, target, stream
    node.at_nic = 0
    node.remote = (
        instance_at(w.instances, server.instance).worker != instance_at(w.instances, target).worker
    )
    if server.out_first < 0:
        server.out_first = n
    else:
        node_at(w.nodes, server.out_last).next = n
    server.out_last = n
    root_at(w.roots, root).outstanding += 1
    return node.remote


@compiled
def _deliver(w, s):
    """Hand over what a thread holds; it waits where a queue is full, and is free at the end."""
    server = server_at(w.servers, s)
    while server.out_first >= 0:
        n = server.out_first
        node = node_at(w.nodes, n)
        target = instance_at(w.instances, node.target)
        if not reachable(w, server.instance, node.target):
            if server.has_slot:
                target.taken -= 1
                server.has_slot = 0
            server.out_first = node.next
            lose(w, n)
            continue
        if server.has_slot:
            server.has_slot = 0
        elif target.taken < target.limit and target.first_waiter < 0:
            target.taken += 1
        elif w.drop:
            server.out_first = node.next
            lose(w, n)
            continue
        else:
            _wait(w, s, target)
            return
        server.out_first = node.next
        _travel(w, server.instance, n)
    _release(w, s)


@compiled
def _wait(w, s, target):
    server = server_at(w.servers, s)
    server.phase = _WAITING
    server.next_waiter = -1
    if target.first_waiter < 0:
        target.first_waiter = s
    else:
        server_at(w.servers, target.last_waiter).next_waiter = s
    target.last_waiter = s


@compiled
def _release(w, s):
    """The tuple in hand is done with; the thread takes the next."""
    server = server_at(w.servers, s)
    instance = instance_at(w.instances, server.instance)
    now_s = w.now_s
    node = node_at(w.nodes, server.node)
    present(instance, now_s, -1)
    instance.done += 1
    stayed_s = now_s - node.since_s
    instance.stayed_s += stayed_s
    number_at(w.histogram, instance.component * BUCKETS + bucket(stayed_s)).value += 1
    root = node.root
    free_node(w, server.node)
    server.node = -1
    server.phase = _IDLE
    server.next_free = instance.free_server
    instance.free_server = s
    spout = let_go(w, root)
    if spout >= 0:
        deal_again(w)
        start_free(w, spout)
    start_free(w, server.instance)


@compiled
def reachable(w, sender, target):
    """Whether a tuple gets from one instance to another: both ends up, no cut between."""
    here, there = instance_at(w.instances, sender).machine, instance_at(w.instances, target).machine
    if machine_at(w.machines, there).up == 0:
        return False
    if here == there:
        return True
    cut = machine_at(w.machines, here).cut_off or machine_at(w.machines, there).cut_off
    return not cut or machine_at(w.machines, here).rack == machine_at(w.machines, there).rack


@compiled
def _travel(w, sender, n):
    """Put a tuple on its way to its target."""
    node = node_at(w.nodes, n)
    hop = hop_class(w, sender, node.target)
    stream = stream_at(w.streams, node.stream)
    hop_at(w.hops, hop).tuples += 1
    hop_at(w.hops, hop).bytes += stream.bytes
    arrives_s = w.now_s
    if hop != _OTHER_REGION:
        delay_s = real_at(w.hop_s, node.stream * _HOPS + hop).value
    else:
        a = machine_at(w.machines, instance_at(w.instances, sender).machine).region
        b = machine_at(w.machines, instance_at(w.instances, node.target).machine).region
        delay_s = real_at(w.region_s, (node.stream * w.region_count + a) * w.region_count + b).value
    if LEAVES_MACHINE[hop] and stream.bytes > 0.0:
        here = machine_at(w.machines, instance_at(w.instances, sender).machine)
        if here.nic_bytes_per_s < NEVER:
            here.nic_out_free_s = (
                max(w.now_s, here.nic_out_free_s) + stream.bytes / here.nic_bytes_per_s
            )
            arrives_s = here.nic_out_free_s
        there = machine_at(w.machines, instance_at(w.instances, node.target).machine)
        node.at_nic = there.nic_bytes_per_s < NEVER
    arrives_s += delay_s
    if arrives_s > w.now_s or node.at_nic:
        send(w, arrives_s, n)
    else:
        enqueue(w, n)


@compiled
def arrive(w, n):
    """A tuple has come to its target's machine, or through its network card."""
    node = node_at(w.nodes, n)
    target = instance_at(w.instances, node.target)
    machine = machine_at(w.machines, target.machine)
    if machine.up == 0:
        target.taken -= 1
        lose(w, n)
        return
    if node.at_nic:
        node.at_nic = 0
        size = stream_at(w.streams, node.stream).bytes
        machine.nic_in_free_s = max(w.now_s, machine.nic_in_free_s) + size / machine.nic_bytes_per_s
        send(w, machine.nic_in_free_s, n)
        return
    enqueue(w, n)

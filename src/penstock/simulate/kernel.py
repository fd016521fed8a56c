"""The compiled loop: what happens to a tuple, one event after another.

A thread takes a tuple from its instance's queue, works on it (:mod:`.sharing`), works out what
comes of it, pays for what leaves the process, and hands that over; a full queue makes it wait, and
with it everything behind it, back to the spouts, as in Storm 2. What must happen at one instant is
put on a list of ready threads and done before time goes on, so no function calls itself.
"""

from __future__ import annotations

from penstock.simulate.calendar import NEVER, first_clock, send, set_clock, take_first
from penstock.simulate.compiled import compiled
from penstock.simulate.generator import exponential, uniform
from penstock.simulate.histogram import BUCKETS
from penstock.simulate.latency_bucket import bucket
from penstock.simulate.records import Phase
from penstock.simulate.roots import let_go, new_root, root_of_lost, time_out
from penstock.simulate.routing import (
    GOLDEN,
    REFRESH_S,
    Way,
    choose,
    find,
    hop_class,
    refresh_all,
)
from penstock.simulate.service import draw_factor
from penstock.simulate.sharing import occupy, settle_touched, vacate
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
    source_at,
    step_at,
    stream_at,
    target_at,
    timer_at,
    topology_at,
    transit_at,
)
from penstock.simulate.tuples import free_node, new_node, present

#: Why the loop came back.
REACHED, MANY_EVENTS, NO_ROOM = 0, 1, 2

_IDLE, _SERVING, _FINISHED = int(Phase.IDLE), int(Phase.SERVING), int(Phase.FINISHED)
_SENDING, _DELIVERING, _WAITING = int(Phase.SENDING), int(Phase.DELIVERING), int(Phase.WAITING)
_ALL = int(Way.ALL)


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
            _arrive(w, take_first(w))
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
        _work_done(w, s)
    elif who < machines + sources:
        _emit_due(w, who - machines)
    elif who < machines + sources + w.topology_count:
        _time_out_first(w, who - machines - sources)
    else:
        refresh_all(w)
        set_clock(w, who, w.now_s + REFRESH_S)


# -- threads ---------------------------------------------------------------------------------------


@compiled
def make_ready(w, s):
    number_at(w.ready_list, (w.ready_first + w.ready) % w.ready_size).value = s
    w.ready += 1


@compiled
def go_on(w, s):
    """A thread does what it can without time passing."""
    server = server_at(w.servers, s)
    if server.phase == _FINISHED:
        _send_results(w, s)
    if server.phase == _DELIVERING:
        _deliver(w, s)


@compiled
def _work_done(w, s):
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
            if route.way == _ALL:
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


# -- tuples under way ------------------------------------------------------------------------------


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
    if hop < 4:
        delay_s = real_at(w.hop_s, node.stream * 5 + hop).value
    else:
        a = machine_at(w.machines, instance_at(w.instances, sender).machine).region
        b = machine_at(w.machines, instance_at(w.instances, node.target).machine).region
        delay_s = real_at(w.region_s, (node.stream * w.region_count + a) * w.region_count + b).value
    if hop >= 2 and stream.bytes > 0.0:
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
def _arrive(w, n):
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


# -- sources ---------------------------------------------------------------------------------------


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
    wanted = 1.0 if source.even else exponential(w, source.generator)
    set_clock(w, w.machine_count + k, due_after(w, k, from_s, wanted))


@compiled
def due_after(w, k, from_s, wanted):
    source = source_at(w.sources, k)
    time_s = from_s
    while source.segment < w.step_count:
        step = step_at(w.steps, source.topology * w.step_count + source.segment)
        rate, ends_s = source.share * step.rate, step.until_s
        if ends_s <= time_s:  # over before this source began
            source.segment += 1
            continue
        if rate > 0.0:
            if rate * (ends_s - time_s) >= wanted:
                return time_s + wanted / rate
            wanted -= rate * (ends_s - time_s)
        time_s = ends_s
        source.segment += 1
    return NEVER


@compiled
def deal_again(w):
    """Saturated sources: one place of the window is free again."""
    if w.window > 0:
        w.owed += 1
        w.may_deal = 1


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

"""A spout's tuple with all that comes of it: completed, lost, or timed out and sent again.

With acking a topology keeps its roots in the order in which they were emitted; the first of them is
the next to time out, because the time is the same for all.
"""

from __future__ import annotations

from penstock.simulate.calendar import NEVER, set_clock
from penstock.simulate.compiled import compiled
from penstock.simulate.histogram import BUCKETS
from penstock.simulate.latency_bucket import bucket
from penstock.simulate.tables import instance_at, node_at, number_at, root_at, topology_at


@compiled
def new_root(w, i, n):
    """The tuple in node ``n`` of spout instance ``i`` is emitted."""
    instance = instance_at(w.instances, i)
    topology = topology_at(w.topologies, instance.topology)
    r = w.free_root
    root = root_at(w.roots, r)
    w.free_root = root.next
    w.free_roots -= 1
    root.due_s, root.emitted_s = node_at(w.nodes, n).due_s, w.now_s
    root.outstanding, root.spout = 1, i
    root.broken, root.failed = 0, 0
    root.previous, root.next = topology.last_root, -1
    if topology.last_root >= 0:
        root_at(w.roots, topology.last_root).next = r
    else:
        topology.first_root = r
    topology.last_root = r
    node_at(w.nodes, n).root = r
    topology.live += 1
    instance.pending += 1
    if topology.first_root == r:
        set_timeout(w, instance.topology)


@compiled
def set_timeout(w, t):
    """The clock of a topology: when its oldest root times out."""
    topology = topology_at(w.topologies, t)
    time_s = NEVER
    if topology.acking and topology.first_root >= 0:
        time_s = root_at(w.roots, topology.first_root).emitted_s + topology.timeout_s
    set_clock(w, w.machine_count + w.source_count + t, time_s)


@compiled
def _leave(w, r):
    """Take a root out of the list of those that may time out."""
    root = root_at(w.roots, r)
    t = instance_at(w.instances, root.spout).topology
    topology = topology_at(w.topologies, t)
    was_first = topology.first_root == r
    if root.previous >= 0:
        root_at(w.roots, root.previous).next = root.next
    else:
        topology.first_root = root.next
    if root.next >= 0:
        root_at(w.roots, root.next).previous = root.previous
    else:
        topology.last_root = root.previous
    topology.live -= 1
    instance_at(w.instances, root.spout).pending -= 1
    if was_first:
        set_timeout(w, t)


@compiled
def _free(w, r):
    root_at(w.roots, r).next = w.free_root
    w.free_root = r
    w.free_roots += 1


@compiled
def let_go(w, r):
    """One tuple of a root is done; the root's spout if that ends the root's life, else -1."""
    root = root_at(w.roots, r)
    root.outstanding -= 1
    if root.outstanding > 0:
        return -1
    topology = topology_at(w.topologies, instance_at(w.instances, root.spout).topology)
    if root.failed:  # sent again long ago
        topology.late += 1
        _free(w, r)
        return -1
    if root.broken and topology.acking:  # nobody knows before it times out
        return -1
    spout = root.spout
    if root.broken:
        topology.lost += 1
    else:
        latency_s = w.now_s - root.due_s
        topology.completed += 1
        topology.latency_s += latency_s
        row = w.component_count + instance_at(w.instances, spout).topology
        number_at(w.histogram, row * BUCKETS + bucket(latency_s)).value += 1
    _leave(w, r)
    _free(w, r)
    return spout


@compiled
def root_of_lost(w, r):
    """One tuple of a root is lost; the root's spout if that ends the root's life, else -1."""
    root_at(w.roots, r).broken = 1
    return let_go(w, r)


@compiled
def time_out(w, r):
    """A root failed; whether its tuple is to be sent again."""
    root = root_at(w.roots, r)
    topology = topology_at(w.topologies, instance_at(w.instances, root.spout).topology)
    topology.timed_out += 1
    root.failed = 1
    _leave(w, r)
    if root.outstanding == 0:
        _free(w, r)
    if topology.replay:
        topology.replayed += 1
        return True
    return False

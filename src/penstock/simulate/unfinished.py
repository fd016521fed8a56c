"""How old the tuples are that are not finished yet: in flight, or waiting at their source."""

from __future__ import annotations

from penstock.simulate.compiled import compiled
from penstock.simulate.histogram import BUCKETS
from penstock.simulate.latency_bucket import bucket
from penstock.simulate.tables import instance_at, node_at, number_at, root_at, topology_at


@compiled
def count_ages(w):
    """Fill the table of ages; costs a step for each unfinished tuple."""
    for k in range(w.topology_count * BUCKETS):
        number_at(w.ages, k).value = 0
    for t in range(w.topology_count):
        topology = topology_at(w.topologies, t)
        topology.awaiting_timeout = 0
        r = topology.first_root
        while r >= 0:
            root = root_at(w.roots, r)
            _count_age(w, t, root.due_s)
            if root.broken and topology.acking:
                topology.awaiting_timeout += 1
            r = root.next
    for i in range(w.instance_count):
        instance = instance_at(w.instances, i)
        if not instance.spout:
            continue
        n = instance.queue_first
        for _ in range(instance.queue):
            node = node_at(w.nodes, n)
            _count_age(w, instance.topology, node.due_s)
            n = node.next


@compiled
def _count_age(w, t, due_s):
    number_at(w.ages, t * BUCKETS + bucket(w.now_s - due_s)).value += 1

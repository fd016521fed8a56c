"""Tuples in the engine's table: taken from a list of free ones, and given back."""

from __future__ import annotations

from penstock.simulate.compiled import compiled
from penstock.simulate.tables import node_at


@compiled
def new_node(w):
    n = w.free_node
    w.free_node = node_at(w.nodes, n).next
    w.free_nodes -= 1
    return n


@compiled
def free_node(w, n):
    node_at(w.nodes, n).next = w.free_node
    w.free_node = n
    w.free_nodes += 1


@compiled
def present(instance, now_s, more):
    """Count the tuples present at an instance over time, before their number changes."""
    instance.present_s += instance.present * (now_s - instance.changed_s)
    instance.changed_s = now_s
    instance.present += more

"""Count every tuple where it is, by walking all lists, to hold against the counters.

Nothing may be created or lost: for every component, tuples that were sent to it are done, lost,
present at an instance, in a sender's hands or under way; and every tuple that was offered is
completed, lost, given up, in flight or waiting at its source.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.model.arrays import IntVector
from penstock.simulate.world import World


@dataclass(frozen=True)
class Census:
    """Tuples found, by component of the instance they are at or on their way to."""

    queued: IntVector
    in_hand: IntVector
    held_for: IntVector
    under_way: IntVector
    #: Nodes in use and nodes free, of all there are.
    nodes: int
    nodes_free: int
    roots_free: int

    @property
    def found(self) -> int:
        return int(sum(c.sum() for c in (self.queued, self.in_hand, self.held_for, self.under_way)))


def take_census(world: World) -> Census:
    """Walk queues, threads, what threads hold, and what is under way."""
    component = world.instances["component"]
    size = len(world.services)
    queued, in_hand = np.zeros(size, np.int64), np.zeros(size, np.int64)
    held_for, under_way = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for i, first in enumerate(world.instances["queue_first"].tolist()):
        # The first of an empty queue is whatever was there last.
        if world.instances["queue"][i]:
            queued[component[i]] += len(_walk(world, first))
    for server in world.servers:
        if server["node"] >= 0:
            in_hand[component[server["instance"]]] += 1
        for node in _walk(world, int(server["out_first"])):
            held_for[component[world.nodes["target"][node]]] += 1
    for entry in world.transit[: int(world.record["in_transit"])]:
        under_way[component[world.nodes["target"][entry["node"]]]] += 1
    return Census(
        queued,
        in_hand,
        held_for,
        under_way,
        len(world.nodes),
        len(_walk(world, int(world.record["free_node"]))),
        int(world.record["free_roots"]),
    )


def _walk(world: World, first: int) -> list[int]:
    chain = []
    following = world.nodes["next"]
    while first >= 0:
        chain.append(first)
        first = int(following[first])
    return chain

"""Lc-Stream's topologies put into a layout, each whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.evaluate.capacity import ROUNDING_POINTS
from penstock.model.arrays import FloatVector
from penstock.model.outcome import Shortfall
from penstock.schedulers.lcstream.counts import Rounds
from penstock.schedulers.lcstream.layout import ServerLayout
from penstock.schedulers.lcstream.work import ExecutorWork

#: Where executors fit nowhere though there is room enough in all, their component gets a fifth
#: more, up to three times as many.
_FINER = 5
_FINEST = 3


def place_topology(layout: ServerLayout, topology: int, rounds: Rounds) -> ServerLayout | Shortfall:
    """The layout with one more topology, its executors made smaller where they are too coarse."""
    work = layout.work
    pool = layout.rules.per_machine * len(layout.load)
    while True:
        trial = layout.with_counts(work)
        left = _place_in_order(trial, topology)
        if not left:
            return trial
        (c, i), counts = left[0], list(work.counts)
        most = min(
            int(work.problem.most_instances[c]),
            pool - sum(counts) + counts[c],
            _FINEST * layout.work.counts[c],
        )
        laid_down = work.problem.given_counts is not None
        if laid_down or not _room_for(trial, left) or counts[c] >= most or rounds.spent():
            return shortfall(trial, c, i)
        counts[c] = min(most, counts[c] + max(1, counts[c] // _FINER))
        work = ExecutorWork(work.stations, tuple(counts))


def _place_in_order(layout: ServerLayout, topology: int) -> list[tuple[int, int]]:
    """Place executors until one finds no machine; that one and those after it."""
    everywhere = np.ones(len(layout.load), dtype=np.bool_)
    order = layout.work.order(topology)
    for position, (component, i) in enumerate(order):
        if not layout.place(component, i, everywhere):
            return order[position:]
    return []


def _room_for(layout: ServerLayout, executors: Sequence[tuple[int, int]]) -> bool:
    """Whether there is CPU for all of them, though perhaps not in one place for each."""
    least = sum(float(layout.needed(component, i).min()) for component, i in executors)
    return least <= float((layout.limit - layout.load).sum())


def shortfall(layout: ServerLayout, component: int, i: int) -> Shortfall:
    """What an executor that found no machine is refused for."""
    work, problem = layout.work, layout.work.problem
    topology = int(problem.topology_of[component])
    graph = problem.topologies[topology]

    def short(resource: str, needed: float, available: float) -> Shortfall:
        name = problem.components[component].name
        return Shortfall(resource, needed, max(available, 0.0), graph.name, name)

    def best(margin: FloatVector) -> int:
        return int(np.argmax(np.where(may, margin, -np.inf)))

    if not layout.pool.has_free().any():
        return short("instances", 1, 0)
    may = layout.has_place(component)
    if not may.any():
        return short("slots", 1, 0)
    if not (may & layout.has_resources(component)).any():
        table, asked = problem.resources, layout.resources_needed(component)
        scarcest = table.scarcest(asked, layout.resources, may, ROUNDING_POINTS)
        if scarcest is not None:
            m, r = scarcest
            return short(table.names[r], float(asked[m, r]), float(layout.resources[m, r]))
        # There is memory, but every worker's heap is full.
        heap = layout.heap[topology] + problem.onheap_mb[component]
        return short("memory_mb", float(heap[best(-heap)]), graph.worker_max_heap_mb or 0.0)
    may = may & layout.has_resources(component)
    own, most = work.own_points(component, i), layout.most_points(component)
    if not (may & (own <= most + ROUNDING_POINTS)).any():
        machine = best(most - own)
        return short("cpu_points", float(own[machine]), float(most[machine]))
    may = may & (own <= most + ROUNDING_POINTS)
    needed, room = layout.needed(component, i), layout.limit - layout.load
    machine = best(room - needed)
    return short("cpu_points", float(needed[machine]), float(room[machine]))

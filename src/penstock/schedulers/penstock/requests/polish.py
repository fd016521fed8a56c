"""Executors moved and exchanged within their topology while that shortens the network distance.

No move opens a machine, so that the number of machines never grows. Workers are visited in a random
order; a topology is left alone once a good part of its workers were visited in vain, as the best
layouts of large topologies offer nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from penstock.schedulers.penstock.requests.exchange import TopologyWorkers
from penstock.schedulers.penstock.requests.free_capacity import FilledMachine, FreeCapacity

#: Executors looked at in vain before a topology is left alone: so many, and a part of its workers.
_PATIENCE = 40
_PATIENCE_PART = 0.25
#: A gain below this is rounding: gains are whole numbers of pairs.
_NOTHING = 0.5
#: Passes over a topology's workers.
_SWEEPS = 3


def polish(
    filled: list[FilledMachine],
    free: FreeCapacity,
    rng: np.random.Generator,
    effort: float,
    stop: Callable[[], bool],
) -> tuple[list[FilledMachine], float]:
    """The same executors on the same machines, nearer to each other, and the effort that it took.

    ``free`` is kept up to date. ``effort``: numbers looked at, which stand for the time it may
    take.
    """
    spent = 0.0
    own: dict[int, list[FilledMachine]] = {}
    for step in filled:
        own.setdefault(step.requests.topology, []).append(step)
    used = np.unique([step.machine for step in filled])
    by_pairs = sorted(own, key=lambda t: (-own[t][0].requests.pairs, t))
    for topology in by_pairs:
        requests = own[topology][0].requests
        if spent >= effort or stop():
            break
        if not requests.pairs or len(own[topology]) < 2:
            continue
        workers = TopologyWorkers(
            requests, own[topology], used[free.slots[used] > 0].tolist(), free
        )
        spent += _shorten(workers, rng, effort - spent)
        own[topology] = workers.filled()
    return [step for topology in sorted(own) for step in own[topology]], spent


def _shorten(workers: TopologyWorkers, rng: np.random.Generator, effort: float) -> float:
    """Steps while they gain; returns the effort spent."""
    spent, in_vain = 0.0, 0
    patience = _PATIENCE + _PATIENCE_PART * float(workers.busy.sum())
    for _ in range(_SWEEPS):
        gained = False
        for row, component in _visits(workers, rng):
            while workers.held[row, component] > 0:
                step = workers.best_step(row, component)
                spent += workers.held.size
                if step.gain < _NOTHING:
                    in_vain += 1
                    break
                workers.apply(step)
                gained, in_vain = True, 0
            if in_vain > patience or spent > effort:
                return spent
        if not gained:
            break
    return spent


def _visits(workers: TopologyWorkers, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Each worker once, in random order, and the components it holds when its turn comes."""
    for row in rng.permutation(np.flatnonzero(workers.busy)).tolist():
        for component in np.flatnonzero(workers.held[row]).tolist():
            yield row, component

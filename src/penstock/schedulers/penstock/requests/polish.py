"""Executors moved and exchanged within their topology while that shortens the network distance.

No move opens a machine, so that the number of machines never grows. Workers are visited in a random
order; a topology is left alone once a good part of its workers were visited in vain, as the best
layouts of large topologies offer nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from penstock.schedulers.penstock.requests.crew import Crew
from penstock.schedulers.penstock.requests.fill import Filled, Ground

#: Executors looked at in vain before a topology is left alone: so many, and a part of its workers.
_PATIENCE = 40
_PATIENCE_PART = 0.25
#: A gain below this is rounding: gains are whole numbers of pairs.
_NOTHING = 0.5
#: Passes over a topology's workers.
_SWEEPS = 3


def polish(
    filled: list[Filled],
    ground: Ground,
    rng: np.random.Generator,
    effort: float,
    stop: Callable[[], bool],
) -> tuple[list[Filled], float]:
    """The same executors on the same machines, nearer to each other, and the effort that it took.

    ``ground`` is kept up to date. ``effort``: numbers looked at, which stand for the time it may
    take.
    """
    spent = 0.0
    own: dict[int, list[Filled]] = {}
    for step in filled:
        own.setdefault(step.demand.topology, []).append(step)
    used = np.unique([step.machine for step in filled])
    by_pairs = sorted(own, key=lambda t: (-own[t][0].demand.pairs, t))
    for topology in by_pairs:
        demand = own[topology][0].demand
        if spent >= effort or stop():
            break
        if not demand.pairs or len(own[topology]) < 2:
            continue
        crew = Crew(demand, own[topology], used[ground.slots[used] > 0].tolist(), ground)
        spent += _shorten(crew, rng, effort - spent)
        own[topology] = crew.filled()
    return [step for topology in sorted(own) for step in own[topology]], spent


def _shorten(crew: Crew, rng: np.random.Generator, effort: float) -> float:
    """Steps while they gain; returns the effort spent."""
    spent, in_vain = 0.0, 0
    patience = _PATIENCE + _PATIENCE_PART * float(crew.busy.sum())
    for _ in range(_SWEEPS):
        gained = False
        for row, component in _visits(crew, rng):
            while crew.held[row, component] > 0:
                step = crew.best_step(row, component)
                spent += crew.held.size
                if step.gain < _NOTHING:
                    in_vain += 1
                    break
                crew.apply(step)
                gained, in_vain = True, 0
            if in_vain > patience or spent > effort:
                return spent
        if not gained:
            break
    return spent


def _visits(crew: Crew, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Each worker once, in random order, and the components it holds when its turn comes."""
    for row in rng.permutation(np.flatnonzero(crew.busy)).tolist():
        for component in np.flatnonzero(crew.held[row]).tolist():
            yield row, component

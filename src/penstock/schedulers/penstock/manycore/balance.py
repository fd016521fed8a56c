"""A plan made better by moving and exchanging instances until nothing relieves its fullest machine.

The machine (or the thread on it) that is full at the lowest scale gives an instance to the machine
that stays emptiest with it; where no such move helps, two instances change places. Each step costs
groups x machines.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from penstock.schedulers.penstock.manycore.machines import Machines

#: What counts as better: by a part of the scale, or at all where limits are still broken.
_BETTER = 1e-9


def balance(machines: Machines, steps: int, spent: Callable[[], bool]) -> int:
    """Relieve the fullest machine again and again; the number of steps made."""
    for step in range(steps):
        if spent():
            return step
        worst = int(machines.full.argmin())
        if not (_move(machines, worst) or _exchange(machines, worst)):
            return step
    return steps


def _sources(machines: Machines, worst: int) -> list[int]:
    """Groups whose leaving can relieve a machine: all it holds, or those whose thread is full."""
    held = np.flatnonzero(machines.count[worst] > 0)
    if machines.thread[worst] <= machines.full[worst]:
        held = held[machines.thread_full[held, worst] <= _just_above(machines.full[worst])]
    return held.tolist()


def _move(machines: Machines, worst: int) -> bool:
    """Move one instance off the fullest machine, where that leaves both better than it was."""
    least = _just_above(machines.full[worst])
    best: tuple[float, int, int] | None = None
    for g in _sources(machines, worst):
        after = machines.departure(worst, g)
        if after <= least:
            continue
        full = machines.arrivals(g)
        full[worst] = -np.inf
        target = int(full.argmax())
        value = min(after, float(full[target]))
        if value > least and (best is None or value > best[0]):
            best = (value, g, target)
    if best is None:
        return False
    machines.add(worst, best[1], -1)
    machines.add(best[2], best[1], 1)
    return True


def _exchange(machines: Machines, worst: int) -> bool:
    """Exchange an instance of the fullest machine for one of another machine."""
    least = _just_above(machines.full[worst])
    best: tuple[float, int, int, int] | None = None
    for g in _sources(machines, worst):
        machines.add(worst, g, -1)
        if machines.full[worst] > least:
            best = _best_exchange(machines, worst, g, least, best)
        machines.add(worst, g, 1)
    if best is None:
        return False
    _, g, other, h = best
    machines.add(worst, g, -1)
    machines.add(other, g, 1)
    machines.add(other, h, -1)
    machines.add(worst, h, 1)
    return True


def _best_exchange(
    machines: Machines,
    worst: int,
    g: int,
    least: float,
    best: tuple[float, int, int, int] | None,
) -> tuple[float, int, int, int] | None:
    """With ``g`` off the fullest machine: which instance of which machine is best in its place?"""
    p = machines.topology[g]
    returns = machines.returns(worst)
    returns[g] = -np.inf
    for h in np.argsort(-returns, kind="stable").tolist():
        back = float(returns[h])
        if back <= (best[0] if best else least):
            break
        closes = machines.held[machines.topology[h]] == 1
        opens = machines.held[p] == 0
        if p == machines.topology[h]:
            closes, opens = np.zeros_like(closes), np.zeros_like(opens)
        workers = opens.astype(np.float64) - closes
        fixed = machines.fixed + machines.met[g] - machines.met[h] + workers * machines.worker_cpu
        memory = machines.used_mb + machines.memory_of[g] - machines.memory_of[h]
        memory = memory + workers * machines.worker_mb
        full = machines.full_at(
            fixed,
            machines.slope + machines.slope_of[g] - machines.slope_of[h],
            machines.out + machines.out_of[g] - machines.out_of[h],
            machines.into + machines.in_of[g] - machines.in_of[h],
            memory,
            slice(None),
        )
        allowed = machines.count[:, h] > 0
        allowed &= machines.workers + workers <= machines.slots
        heap = machines.heap[p] + machines.heap_of[g]
        if p == machines.topology[h]:
            heap = heap - machines.heap_of[h]
        allowed &= heap <= machines.most_heap[p]
        full = np.minimum(np.minimum(full, machines.thread_full[g]), machines.thread)
        full = np.where(allowed, full, -np.inf)
        full[worst] = -np.inf
        other = int(full.argmax())
        value = min(back, float(full[other]))
        if value > (best[0] if best else least):
            best = (value, g, other, h)
    return best


def _just_above(scale: float) -> float:
    return scale + abs(scale) * _BETTER

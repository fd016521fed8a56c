"""A plan made better by moving and exchanging instances until nothing relieves its fullest machine.

The machine (or the thread on it) that is full at the lowest scale gives an instance to the machine
that stays emptiest with it; where no such move helps, two instances change places. Each step costs
groups x machines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from penstock.model.arrays import IntVector
from penstock.schedulers.penstock.manycore.machines import Machines

#: What counts as better: by a part of the scale, or at all where limits are still broken.
_BETTER = 1e-9
#: Groups that are tried in the place of another at a time; most exchanges need no more.
_AT_ONCE = 16


def balance(machines: Machines, steps: int, spent: Callable[[], bool]) -> int:
    """Relieve the fullest machine again and again; the number of steps made."""
    for step in range(steps):
        if spent():
            return step
        worst = int(machines.full.argmin())
        if not (_move(machines, worst) or _exchange(machines, worst)):
            return step
    return steps


def _sources(machines: Machines, worst: int) -> IntVector:
    """Groups whose leaving can relieve a machine: all it holds, or those whose thread is full."""
    held = np.flatnonzero((machines.count[worst] > 0) & ~machines.stays[worst])
    if machines.thread[worst] <= machines.full[worst]:
        held = held[machines.thread_full[held, worst] <= _just_above(machines.full[worst])]
    return held


def _move(machines: Machines, worst: int) -> bool:
    """Move one instance off the fullest machine, where that leaves both better than it was."""
    groups = _sources(machines, worst)
    if not len(groups):
        return False
    full = machines.arrivals(groups)
    full[:, worst] = -np.inf
    target = full.argmax(axis=1)
    there = full[np.arange(len(groups)), target]
    value = np.minimum(machines.departures(worst, groups), there)
    best = int(value.argmax())
    if value[best] <= _just_above(machines.full[worst]):
        return False
    g = int(groups[best])
    machines.add(worst, g, -1)
    machines.add(int(target[best]), g, 1)
    return True


@dataclass(frozen=True)
class _InstanceSwap:
    """``goes`` leaves the fullest machine for ``other``, ``comes`` takes its place."""

    #: The scale at which the fuller of the two is then full.
    scale: float
    goes: int
    other: int
    comes: int


def _exchange(machines: Machines, worst: int) -> bool:
    """Exchange an instance of the fullest machine for one of another machine."""
    groups = _sources(machines, worst)
    without = machines.departures(worst, groups)
    best = _InstanceSwap(_just_above(machines.full[worst]), -1, -1, -1)
    for i in np.argsort(-without, kind="stable").tolist():
        if without[i] <= best.scale:
            break
        g = int(groups[i])
        machines.add(worst, g, -1)
        best = _best_exchange(machines, worst, g, best)
        machines.add(worst, g, 1)
    if best.goes < 0:
        return False
    machines.add(worst, best.goes, -1)
    machines.add(best.other, best.goes, 1)
    machines.add(best.other, best.comes, -1)
    machines.add(worst, best.comes, 1)
    return True


def _best_exchange(machines: Machines, worst: int, g: int, best: _InstanceSwap) -> _InstanceSwap:
    """With ``g`` off the fullest machine: which instance of which machine is best in its place?"""
    returns = machines.returns(worst)
    returns[g] = -np.inf
    order = np.argsort(-returns, kind="stable")
    for start in range(0, len(order), _AT_ONCE):
        groups = order[start : start + _AT_ONCE]
        groups = groups[returns[groups] > best.scale]
        if not len(groups):
            break
        full = machines.exchanges(g, groups)
        full[:, worst] = -np.inf
        other = full.argmax(axis=1)
        value = np.minimum(returns[groups], full[np.arange(len(groups)), other])
        i = int(value.argmax())
        if value[i] > best.scale:
            best = _InstanceSwap(float(value[i]), g, int(other[i]), int(groups[i]))
    return best


def _just_above(scale: float) -> float:
    return scale + abs(scale) * _BETTER

"""Lc-Stream's energy saving (Algorithm 4): machines with little to do are put to sleep.

When at least ``share`` of the machines in use have CPU utilisation below ``low``, those machines
are emptied one by one, the least used first. Algorithm 4 loops while L_k > L and W_k > W, the other
way round from its prose, which we follow: as long as the limits are kept. It does not say where the
work goes. Here an executor moves to another machine in use that has room for it; if none has, its
tasks are left to the other executors of its component, provided that these stay within L and W. A
machine that cannot be emptied entirely stays awake, and no sleeping one is woken. The paper counts
the share over the whole cluster; machines that are not in use sleep anyway and would always trigger
it, so they are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.model.arrays import BoolVector, FloatVector
from penstock.schedulers.lcstream.counts import Rounds
from penstock.schedulers.lcstream.layout import NOWHERE, ServerLayout
from penstock.schedulers.lcstream.work import ExecutorWork


@dataclass(frozen=True, slots=True)
class Saved:
    """What the energy saving came to."""

    layout: ServerLayout
    asleep: tuple[int, ...]
    #: Machines in use before, and how many of them had little to do.
    in_use: int
    low: int
    moved: int = 0
    given_up: int = 0


def save_energy(layout: ServerLayout, low: float, share: float, rounds: Rounds) -> Saved:
    """Empty machines that have little to do, if enough of them have."""
    utilisation = _utilisation(layout)
    used = _in_use(layout)
    in_use, little = int(used.sum()), int((used & (utilisation < low)).sum())
    if little < share * in_use:  # lines 8 to 10
        return Saved(layout, (), in_use, little)
    asleep: list[int] = []
    tried: list[int] = []
    moved = given_up = 0
    while (machine := _least_used(layout, utilisation, low, tried)) is not None:
        if rounds.spent():
            break
        tried.append(machine)
        emptied = _emptied(layout, machine)
        if emptied is None:
            continue
        dropped = sum(layout.work.counts) - sum(emptied.work.counts)
        moved += sum(on.count(machine) for on in layout.where) - dropped
        given_up += dropped
        layout = emptied
        asleep.append(machine)  # line 13
        utilisation = _utilisation(layout)
    return Saved(layout, tuple(asleep), in_use, little, moved, given_up)


def _least_used(
    layout: ServerLayout, utilisation: FloatVector, low: float, tried: list[int]
) -> int | None:
    """The machine in use with the least to do, among those not tried yet."""
    idle = _in_use(layout) & (utilisation < low)
    idle[tried] = False
    return int(np.argmin(np.where(idle, utilisation, np.inf))) if idle.any() else None


def _utilisation(layout: ServerLayout) -> FloatVector:
    """CPU in use over the machine's full capacity, shape (machines,)."""
    cluster = layout.work.problem.cluster
    return np.asarray(layout.cpu() / cluster.per_type("cpu_points")[cluster.type_of])


def _in_use(layout: ServerLayout) -> BoolVector:
    return np.asarray(layout.executors.any(axis=0))


def _emptied(layout: ServerLayout, machine: int) -> ServerLayout | None:
    """The layout without a machine, or ``None`` where the others cannot take its work."""
    trial = layout.copy()
    homeless = trial.clear(machine)
    others = _in_use(trial)
    left = [0] * len(layout.work.counts)
    for component, i in homeless:
        left[component] += not trial.place(component, i, others)
    if any(left):
        smaller = _with_fewer(trial, left)
        if smaller is None:
            return None
        trial = smaller
    return trial if trial.within_limits() else None


def _with_fewer(layout: ServerLayout, fewer: list[int]) -> ServerLayout | None:
    """The layout without the executors that have no place, if the rest stay within L and W."""
    stations = layout.work.stations
    counts = tuple(count - less for count, less in zip(layout.work.counts, fewer, strict=True))
    if min(counts) < 1:
        return None
    totals = stations.totals(counts)
    for component, less in enumerate(fewer):
        if less and not stations.holds(component, counts[component], totals):
            return None
    where = [[machine for machine in on if machine != NOWHERE] for on in layout.where]
    return ServerLayout.rebuilt(ExecutorWork(stations, counts), layout.rules, where)

"""Instances of a plan that move, start or end; each of the others keeps number, place and worker.

What a contingency promises is worked out on the placement that its own moves make
(:meth:`InstanceChanges.carried_out`), never on one in which instances were numbered anew.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.model.arrays import FloatVector, IntMatrix
from penstock.model.placement import Placement
from penstock.model.plan import Contingency
from penstock.model.problem import Problem


@dataclass(frozen=True)
class InstanceChanges:
    """Instances by their index in the placement, machines by theirs in the cluster."""

    #: (instance, machine, slot), in order of instances.
    moves: tuple[tuple[int, int, int], ...]
    #: (component, machine, slot)
    added: tuple[tuple[int, int, int], ...] = ()
    dropped: tuple[int, ...] = ()

    @classmethod
    def between(
        cls, problem: Problem, placement: Placement, lost: int, before: IntMatrix, after: IntMatrix
    ) -> InstanceChanges:
        """The changes that make one table of instances (machines, components) of another."""
        moves: list[tuple[int, int]] = []
        added: list[tuple[int, int]] = []
        dropped: list[int] = []
        starts = placement.starts(len(problem.components))
        for c in np.flatnonzero((before != after).any(axis=0)).tolist():
            own = np.arange(starts[c], starts[c + 1])
            gone = _leaving(placement, own.tolist(), (before - after)[:, c].copy(), lost)
            change = np.maximum(after[:, c] - before[:, c], 0)
            come = np.repeat(np.arange(len(change)), change).tolist()
            moves += zip(gone, come, strict=False)
            added += [(c, to) for to in come[len(gone) :]]
            dropped += gone[len(come) :]
        return cls.in_workers(problem, placement, lost, moves, added, dropped)

    @classmethod
    def in_workers(
        cls,
        problem: Problem,
        placement: Placement,
        lost: int,
        moves: list[tuple[int, int]],
        added: list[tuple[int, int]],
        dropped: list[int],
    ) -> InstanceChanges:
        """The same with the worker that each joins or starts."""
        gone = np.zeros(len(placement), dtype=np.bool_)
        gone[[i for i, _ in moves] + dropped] = True
        workers = _Workers(problem, placement, gone, lost)
        topology = problem.topology_of
        placed = [
            (i, to, workers.of(int(topology[placement.component[i]]), to))
            for i, to in sorted(moves)
        ]
        started = [(c, to, workers.of(int(topology[c]), to)) for c, to in added]
        return cls(tuple(placed), tuple(started), tuple(sorted(dropped)))

    def carried_out(self, placement: Placement) -> Placement:
        """The placement afterwards. Shares are those of the plan, scaled up to a whole again."""
        machine, slot = placement.machine.copy(), placement.slot.copy()
        for i, to, worker in self.moves:
            machine[i], slot[i] = to, worker
        stay = np.ones(len(placement), dtype=np.bool_)
        stay[list(self.dropped)] = False
        new = np.array(self.added, dtype=np.int64).reshape(-1, 3)
        component = np.concatenate([placement.component[stay], new[:, 0]])
        share = np.concatenate([placement.share[stay], np.full(len(new), np.nan)])
        return Placement.of(
            component,
            np.concatenate([machine[stay], new[:, 1]]),
            np.concatenate([slot[stay], new[:, 2]]),
            _whole(component, share) if self.added or self.dropped else share,
        )

    def contingency(
        self,
        problem: Problem,
        placement: Placement,
        lost: int,
        after: Placement,
        rate: float | None,
    ) -> Contingency:
        """In the words of a plan."""
        names = [machine.name for machine in problem.cluster.machines]
        starts = placement.starts(len(problem.components))

        def label(i: int) -> tuple[str, int]:
            c = int(placement.component[i])
            return problem.labels[c], i - int(starts[c])

        return Contingency(
            names[lost],
            tuple((*label(i), names[to], slot) for i, to, slot in self.moves),
            rate,
            tuple((problem.labels[c], names[to], slot) for c, to, slot in self.added),
            tuple(label(i) for i in self.dropped),
            _changed_shares(problem, placement, after),
        )


class _Workers:
    """The worker of a topology on a machine: its own, or the first free slot."""

    def __init__(self, problem: Problem, placement: Placement, gone: np.ndarray, lost: int) -> None:
        self._own: dict[tuple[int, int], int] = {}
        self._taken: dict[int, set[int]] = {}
        stay = ~gone & (placement.machine != lost)
        topology = problem.topology_of[placement.component]
        columns = np.stack([placement.machine, placement.slot, topology])[:, stay]
        for machine, slot, own in np.unique(columns, axis=1).T.tolist():
            self._own.setdefault((own, machine), slot)
            self._taken.setdefault(machine, set()).add(slot)

    def of(self, topology: int, machine: int) -> int:
        if (topology, machine) not in self._own:
            taken = self._taken.setdefault(machine, set())
            free = next(slot for slot in range(len(taken) + 1) if slot not in taken)
            taken.add(free)
            self._own[topology, machine] = free
        return self._own[topology, machine]


def _leaving(placement: Placement, own: list[int], fewer: np.ndarray, lost: int) -> list[int]:
    """Instances of a component that leave: so many of each machine, the lost one's first."""
    leaving = []
    for i in own:
        machine = int(placement.machine[i])
        if fewer[machine] > 0:
            fewer[machine] -= 1
            leaving.append((machine != lost, i))
    return [i for _, i in sorted(leaving)]


def _whole(component: np.ndarray, share: FloatVector) -> FloatVector:
    """Shares as parts of one again; one that starts gets as much as the others on average."""
    components = int(component.max(initial=0)) + 1
    known = ~np.isnan(share)
    number = np.bincount(component[known], minlength=components)
    total = np.bincount(component[known], share[known], minlength=components)
    mean = np.divide(total, number, out=np.full(components, np.nan), where=number > 0)
    filled = np.where(known, share, mean[component])
    whole = np.bincount(component, np.nan_to_num(filled), minlength=components)
    even = 1.0 / np.bincount(component, minlength=components).clip(1)
    parts = np.divide(filled, whole[component], out=even[component], where=whole[component] > 0)
    return np.asarray(np.where(np.isnan(mean)[component], np.nan, parts))


def _changed_shares(
    problem: Problem, before: Placement, after: Placement
) -> tuple[tuple[str, tuple[float, ...]], ...]:
    if not (before.has_shares or after.has_shares):
        return ()
    old, new = (placement.starts(len(problem.components)) for placement in (before, after))
    shares = []
    for c, label in enumerate(problem.labels):
        own = after.share[new[c] : new[c + 1]]
        if len(own) and not np.isnan(own).any():
            same = np.array_equal(own, before.share[old[c] : old[c + 1]])
            if not same:
                shares.append((label, tuple(own.tolist())))
    return tuple(shares)

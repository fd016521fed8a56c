"""Lc-Stream's executor pool (Algorithm 1): who is free, and whom a component gets.

Every machine offers a largest number of executors, each with a bit that says whether it is taken.
A component that asks gets one on the machine that holds most of what it talks to; failing that, on
one that runs its topology; failing that, near; failing that, where there is most room. The paper's
id is machine, number and bit written together (Fig. 3), which is ambiguous from ten on, so ids here
are pairs and that form is only shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.model.arrays import BoolVector, FloatVector


@dataclass(frozen=True, slots=True, order=True)
class PoolExecutor:
    """The place of one instance; machines and numbers count from 0."""

    machine: int
    number: int


class ExecutorPool:
    """The busy bits of all executors of a cluster."""

    def __init__(self, per_machine: Sequence[int]) -> None:
        self._busy = [[False] * most for most in per_machine]
        #: Free executors of each machine, shape (machines,).
        self._free = np.array(per_machine, dtype=np.int64)

    def copy(self) -> ExecutorPool:
        twin = ExecutorPool(())
        twin._busy = [bits.copy() for bits in self._busy]
        twin._free = self._free.copy()
        return twin

    def label(self, executor: PoolExecutor) -> str:
        """The id of Fig. 3, counted from 1: ``120`` is machine 1, executor 2, free."""
        bit = int(self._busy[executor.machine][executor.number])
        return f"{executor.machine + 1}{executor.number + 1}{bit}"

    def free(self) -> list[PoolExecutor]:
        """All free executors, by machine and number."""
        return [
            PoolExecutor(machine, number)
            for machine, bits in enumerate(self._busy)
            for number, busy in enumerate(bits)
            if not busy
        ]

    def has_free(self) -> BoolVector:
        """Machines with an executor to give, shape (machines,)."""
        return np.asarray(self._free > 0)

    def choose(self, may: BoolVector, *preferred: FloatVector) -> int | None:
        """The machine an executor is asked of, among those that may; ``None`` if none has one.

        ``preferred`` are the wishes in order, the larger the better, of shape (machines,); the
        second decides only where the first is equal. Ties go to the first machine.
        """
        left = np.flatnonzero(may & self.has_free())
        for wish in preferred:
            if len(left) > 1:
                values = wish[left]
                left = left[values == values.max()]
        return int(left[0]) if len(left) else None

    def take(self, machine: int) -> PoolExecutor:
        """Make the machine's first free executor busy."""
        number = self._busy[machine].index(False)
        self._busy[machine][number] = True
        self._free[machine] -= 1
        return PoolExecutor(machine, number)

    def release(self, executor: PoolExecutor) -> None:
        """Give an executor back to the pool."""
        if self._busy[executor.machine][executor.number]:
            self._busy[executor.machine][executor.number] = False
            self._free[executor.machine] += 1

    def release_all(self, machine: int) -> None:
        """Give back every executor of a machine."""
        self._busy[machine] = [False] * len(self._busy[machine])
        self._free[machine] = len(self._busy[machine])

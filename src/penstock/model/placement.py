"""Who runs where: the machine, slot and share of every instance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.model.arrays import FloatVector, IntVector, frozen


@dataclass(frozen=True, eq=False)
class Placement:
    """Instances sorted by component; four arrays of shape (instances,).

    ``component`` and ``machine`` are indices into the problem, ``slot`` counts the worker
    processes of a machine from 0. ``share`` is each instance's part of its component's input
    (weighted grouping), NaN throughout for a component that is divided evenly.
    """

    component: IntVector
    machine: IntVector
    slot: IntVector
    share: FloatVector

    @classmethod
    def of(
        cls,
        component: ArrayLike,
        machine: ArrayLike,
        slot: ArrayLike | None = None,
        share: ArrayLike | None = None,
    ) -> Placement:
        """A placement from instances in any order; within a component the order is kept."""
        components = np.asarray(component, dtype=np.int64)
        order = np.argsort(components, kind="stable")

        def column(values: ArrayLike | None, fill: float, dtype: type) -> NDArray[Any]:
            if values is None:
                return frozen(np.full(len(components), fill, dtype=dtype))
            array: NDArray[Any] = np.asarray(values, dtype=dtype)
            if array.shape != components.shape:
                raise ValueError(f"{array.shape} values for {components.shape} instances")
            return frozen(array[order])

        return cls(
            component=frozen(components[order]),
            machine=column(machine, 0, np.int64),
            slot=column(slot, 0, np.int64),
            share=column(share, np.nan, np.float64),
        )

    def __len__(self) -> int:
        return len(self.component)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Placement):
            return NotImplemented
        return (
            np.array_equal(self.component, other.component)
            and np.array_equal(self.machine, other.machine)
            and np.array_equal(self.slot, other.slot)
            and np.array_equal(self.share, other.share, equal_nan=True)
        )

    def __hash__(self) -> int:
        return hash((self.component.tobytes(), self.machine.tobytes(), self.slot.tobytes()))

    @cached_property
    def has_shares(self) -> bool:
        return not bool(np.isnan(self.share).all())

    def counts(self, components: int) -> IntVector:
        """Number of instances of each component, shape (components,)."""
        counts = np.bincount(self.component, minlength=components)
        return counts.astype(np.int64, copy=False)

    def starts(self, components: int) -> IntVector:
        """Where each component's instances begin; one entry more marks the end."""
        return np.searchsorted(self.component, np.arange(components + 1)).astype(np.int64)

    @cached_property
    def machines_used(self) -> IntVector:
        """Indices of the machines with at least one instance."""
        return frozen(np.unique(self.machine))

    @cached_property
    def workers(self) -> tuple[tuple[int, int], ...]:
        """(machine, slot) pairs in use, sorted."""
        pairs = np.unique(np.stack([self.machine, self.slot]), axis=1)
        return tuple((int(m), int(s)) for m, s in pairs.T)

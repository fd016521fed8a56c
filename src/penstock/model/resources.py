"""Resources as a table: what an instance asks for and what a machine has, a column per resource.

The table holds whatever instances occupy for as long as they are placed: memory first, then what
topologies and clusters name themselves (GPUs, disk bandwidth, Storm's generic resources). CPU is
not in it, since what an instance uses of it depends on the tuples it gets; nor are slots, which
belong to worker processes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from penstock.model.arrays import (
    BoolMatrix,
    BoolVector,
    FloatMatrix,
    FloatVector,
    IntMatrix,
    IntVector,
    frozen,
)

#: How much of each resource, by name, in the order of the names.
Quantities: TypeAlias = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class ResourceKind:
    """A resource by name. Plans keep to what machines have of it, unless it is soft."""

    name: str
    unit: str = ""
    #: Soft: only schedulers that weigh resources look at it, and no plan is refused for it.
    soft: bool = False

    @property
    def label(self) -> str:
        """``GB/s disk``, to stand after a number."""
        return f"{self.unit} {self.name}".lstrip()


#: Where memory is in every table.
MEMORY = 0
MEMORY_NAME = "memory_mb"
_MEMORY_LABEL = "MB memory"


@dataclass(frozen=True, eq=False)
class ResourceTable:
    """C components, M machines of T types, R resources; memory is the first of them."""

    kinds: tuple[ResourceKind, ...]
    #: What one instance asks for, 0 where that is not known, shape (C, R).
    request: FloatMatrix
    #: What a machine of each type has (inf: no limit), and what a worker process takes, (T, R).
    capacity_of_type: FloatMatrix
    worker_on_type: FloatMatrix
    #: Type of each machine, shape (M,).
    type_of: IntVector

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(kind.name for kind in self.kinds)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Each resource as it stands after a number: ``MB memory``, ``gpu``."""
        return (_MEMORY_LABEL, *(kind.label for kind in self.kinds[1:]))

    @cached_property
    def hard(self) -> BoolVector:
        """Resources that no plan may exceed, shape (R,)."""
        return frozen(np.array([not kind.soft for kind in self.kinds]))

    @cached_property
    def capacity(self) -> FloatMatrix:
        """What each machine has, shape (M, R)."""
        return frozen(self.capacity_of_type[self.type_of])

    @cached_property
    def worker(self) -> FloatMatrix:
        """What a worker process takes of each machine, shape (M, R)."""
        return frozen(self.worker_on_type[self.type_of])

    @cached_property
    def only_hard(self) -> ResourceTable:
        """The table without soft resources."""
        if self.hard.all():
            return self
        return replace(
            self,
            kinds=tuple(kind for kind in self.kinds if not kind.soft),
            request=frozen(self.request[:, self.hard]),
            capacity_of_type=frozen(self.capacity_of_type[:, self.hard]),
            worker_on_type=frozen(self.worker_on_type[:, self.hard]),
        )

    @cached_property
    def beyond_memory(self) -> ResourceTable:
        """Hard resources without memory, for code that keeps memory apart; often empty."""
        hard = self.only_hard
        return replace(
            hard,
            kinds=hard.kinds[1:],
            request=frozen(hard.request[:, 1:]),
            capacity_of_type=frozen(hard.capacity_of_type[:, 1:]),
            worker_on_type=frozen(hard.worker_on_type[:, 1:]),
        )

    def total(self, counts: IntMatrix | FloatVector) -> FloatMatrix:
        """What so many instances of each component ask for; components become resources."""
        # Column by column: a sum must not depend on what other resources there are.
        return np.stack([counts @ column for column in self.request.T], axis=-1)

    def fits(self, needed: FloatMatrix, left: FloatMatrix, rounding: float) -> BoolMatrix:
        """Whether what is left suffices in all hard resources; the last axis is resources."""
        return np.asarray((needed <= left + rounding)[..., self.hard].all(axis=-1))

    def scarcest(
        self, needed: FloatMatrix, left: FloatMatrix, among: BoolVector, rounding: float
    ) -> tuple[int, int] | None:
        """The machine that lacks least, and the resource it lacks most of; ``None``: one has all.

        ``needed`` and ``left`` have the shape (M, R); only machines ``among`` these are asked.
        """
        lack = np.maximum(needed - left - rounding, 0.0) / np.maximum(needed, 1e-300)
        lack[:, ~self.hard] = 0.0
        nearest = int(np.argmin(np.where(among, lack.sum(axis=1), np.inf)))
        return (nearest, int(np.argmax(lack[nearest]))) if lack[nearest].any() else None


def resource_kinds(
    declared: Iterable[ResourceKind], named: Iterable[Quantities]
) -> tuple[ResourceKind, ...]:
    """Memory, then every resource that is named anywhere, by name; those not declared are hard."""
    known = {kind.name: kind for kind in declared}
    names = {name for quantities in named for name, _ in quantities} | known.keys()
    others = (known.get(name, ResourceKind(name)) for name in sorted(names))
    return (ResourceKind(MEMORY_NAME, "MB"), *others)


def quantity_matrix(
    kinds: tuple[ResourceKind, ...], memory: FloatVector, rows: Iterable[Quantities]
) -> FloatMatrix:
    """Memory and named quantities as rows of one matrix; what is not named is 0."""
    columns = {kind.name: i for i, kind in enumerate(kinds)}
    matrix = np.zeros((len(memory), len(kinds)))
    matrix[:, MEMORY] = memory
    for i, quantities in enumerate(rows):
        for name, amount in quantities:
            matrix[i, columns[name]] = amount
    return frozen(matrix)

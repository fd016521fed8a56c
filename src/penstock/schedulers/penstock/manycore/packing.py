"""Given instances packed onto the machines of one type, where memory, slots or CPU nearly bind.

Cutting stock by column generation (Gilmore and Gomory 1961): a *filling* is what one machine holds;
fillings are made by a small integer programme as the prices ask for them. Whole machines are then
settled a few at a time, and the programme is solved for what is left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog

from penstock.model.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from penstock.schedulers.penstock.manycore.machines import InstanceGroups
from penstock.schedulers.whole_numbers import solve_whole

#: Rounds of making fillings, at first and for what is left, and how near the best they end.
_ROUNDS, _ROUNDS_OF_REST, _NEAR = 30, 2, 5e-3
#: Weight of the prices that promised least so far.
_SMOOTH = 0.5
#: How far from the best a filling may be, and nodes it may take.
_FILLING_NEAR, _NODES = 5e-3, 50
_WHOLE, _TINY = 1e-6, 1e-12
#: Room for this much more than there is, is enough.
_ENOUGH = 1.1
#: Loads may be this much over, for rounding.
_JUST_OVER = 1.0 + 1e-9


def pack(
    groups: InstanceGroups, by_type: IntMatrix, scale: float, spent: Callable[[], bool]
) -> IntMatrix:
    """Instances of each group on each machine, (M, G), without those for which there is no room."""
    costs = groups.costs
    cluster = costs.problem.cluster
    count = np.zeros((len(cluster.machines), len(groups.component)), dtype=np.int64)
    for t in np.flatnonzero(cluster.machines_per_type > 0).tolist():
        here = np.flatnonzero(by_type[:, t])
        machines = np.flatnonzero(cluster.type_of == t)
        if len(here):
            load = _load(groups, here, t, scale)
            fillings = MachineFillings(load, by_type[here, t], len(machines), spent)
            count[np.ix_(machines, here)] = fillings.pack()
    return count


def _load(groups: InstanceGroups, here: IntVector, t: int, scale: float) -> TypeLoad:
    """CPU, memory and card that the groups here take on a machine of a type."""
    costs, c = groups.costs, groups.component[here]
    rate = groups.rate[here] * scale
    takes = [costs.problem.met[c, t] + costs.e[c, t] * rate, costs.memory_mb[c]]
    takes += [costs.bytes_out[c] * rate, costs.bytes_in[c] * rate]
    worker = [costs.worker_cpu[t], costs.worker_mb[t], 0.0, 0.0]
    room = np.array([costs.cpu[t], costs.memory[t], costs.nic[t], costs.nic[t]])
    limited = np.isfinite(room)
    return TypeLoad(
        takes=np.column_stack(takes)[:, limited],
        worker=np.array(worker)[limited],
        room=room[limited] * _JUST_OVER,
        topology=groups.topology[here],
        slots=float(costs.problem.cluster.types[t].slots),
    )


@dataclass(frozen=True)
class TypeLoad:
    """What instances take from a machine and what it offers. G groups, R resources."""

    #: Of an instance of each group and of a worker, and what a machine has, finite: (G, R), (R,).
    takes: FloatMatrix
    worker: FloatVector
    room: FloatVector
    #: Topology of each group, and the most topologies on a machine.
    topology: IntVector
    slots: float


class MachineFillings:
    """Packs ``number`` instances of each group, shape (G,), onto so many machines."""

    def __init__(
        self, load: TypeLoad, number: IntVector, machines: int, spent: Callable[[], bool]
    ) -> None:
        self.load, self.number, self.machines, self.spent = load, number, machines, spent
        #: Fillings, shape (F, G).
        self.fillings: IntMatrix = np.zeros((0, len(number)), dtype=np.int64)

    def pack(self) -> IntMatrix:
        """Instances of each group on each machine, (machines, G); what does not fit is left out."""
        left, free = self.number.copy(), self.machines
        rows: list[IntVector] = []
        price, rounds, settled = self._first_price(), _ROUNDS, 1
        while free > 0 and left.any() and settled:
            self.fillings = np.unique(np.minimum(self.fillings, left), axis=0)
            times, price = self._relaxed(left, free, price, rounds)
            rounds, settled = _ROUNDS_OF_REST, 0
            whole = np.floor(times + _WHOLE).astype(np.int64)
            if not whole.any():
                whole[int(times.argmax())] = 1
            for filling, often in zip(self.fillings, whole.tolist(), strict=True):
                for _ in range(min(often, free)):
                    here = np.minimum(filling, left)
                    if here.any():
                        rows.append(here)
                        left -= here
                        free -= 1
                        settled += 1
        empty = np.zeros((free, len(self.number)), dtype=np.int64)
        return np.vstack([*rows, empty])

    def _first_price(self) -> FloatVector:
        """By what an instance takes of what is short."""
        part = self.load.takes / self.load.room
        used = self.number @ part
        return np.asarray(part @ (used / max(float(used.sum()), _TINY)) + _TINY)

    def _relaxed(
        self, left: IntVector, free: int, price: FloatVector, rounds: int
    ) -> tuple[FloatVector, FloatVector]:
        """Machines of each filling, in parts, and the price of an instance of each group."""
        asked = center = price / max(float(price @ left), _TINY)
        times, now, least = np.zeros(0), center, np.inf
        for _ in range(rounds):
            filling = self._best(asked, left)
            promise = free * float(asked @ filling)
            if promise < least:
                least, center = promise, asked
            if not (self.fillings == filling).all(axis=1).any():
                self.fillings = np.vstack([self.fillings, filling])
            level, times, now = self._master(left, free)
            if level >= min(least, _ENOUGH) * (1.0 - _NEAR) or self.spent():
                break
            asked = _SMOOTH * center + (1.0 - _SMOOTH) * now
            asked = asked / max(float(asked @ left), _TINY)
        return times, now

    def _master(self, left: IntVector, free: int) -> tuple[float, FloatVector, FloatVector]:
        """The part of what is left that has room, machines of each filling, and prices."""
        here = np.flatnonzero(left > 0)
        count = len(self.fillings)
        cover = np.column_stack(
            [-self.fillings[:, here].T / left[here][:, None], np.ones(len(here))]
        )
        limit = np.append(np.ones(count), 0.0)
        cost = np.append(np.zeros(count), -1.0)
        solved = linprog(
            cost,
            A_ub=np.vstack([cover, limit]),
            b_ub=np.append(np.zeros(len(here)), float(free)),
            method="highs",
        )
        price = np.zeros(len(left))
        price[here] = np.maximum(-solved.ineqlin.marginals[:-1], 0.0) / left[here]
        return float(solved.x[-1]), solved.x[:-1], price

    def _best(self, price: FloatVector, left: IntVector) -> IntVector:
        """The filling of most worth at these prices."""
        load = self.load
        here = np.flatnonzero((price > 0) & (left > 0))
        topologies, topology = np.unique(load.topology[here], return_inverse=True)
        number, workers = len(here), len(topologies)
        takes, worker = load.takes[here] / load.room, load.worker / load.room
        fits = np.full(takes.shape, np.inf)
        np.divide(1.0 - worker, takes, out=fits, where=takes > 0)
        most = np.minimum(left[here], np.maximum(np.floor(fits.min(axis=1) + 1e-9), 0.0))
        rows = [np.hstack([takes.T, np.repeat(worker[:, None], workers, axis=1)])]
        if load.slots < workers:
            rows.append(np.append(np.zeros(number), np.ones(workers) / load.slots)[None])
        # Instances need a worker of their topology.
        belongs = np.zeros((number, workers))
        belongs[np.arange(number), topology] = -1.0
        upper = np.append(np.ones(sum(len(row) for row in rows)), np.zeros(number))
        rows.append(np.hstack([np.diag(1.0 / np.maximum(most, 1.0)), belongs]))
        solved = solve_whole(
            -np.append(price[here] / price[here].max(initial=_TINY), np.zeros(workers)),
            constraints=LinearConstraint(sparse.csr_array(np.vstack(rows)), -np.inf, upper),
            integrality=np.ones(number + workers),
            bounds=Bounds(0.0, np.append(most, np.ones(workers))),
            # Presolve costs more here than it saves.
            options={"mip_rel_gap": _FILLING_NEAR, "node_limit": _NODES, "presolve": False},
        )
        filling = np.zeros(len(price), dtype=np.int64)
        if solved.x is not None:
            filling[here] = np.round(solved.x[:number]).astype(np.int64)
        return filling

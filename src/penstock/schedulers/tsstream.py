"""``tsstream``: the topology cut with its Laplacian, parts placed by room.

Ts-Stream is Lc-Stream's second comparison, and Lc-Stream (doi:10.1002/cpe.8085, section 2.2) has
one sentence on it: "the first module uses Laplacian to partition the topology graph, while the
second calculates the node selection method". Everything else is our choice:

- The graph has the components as nodes, weighted by their executors, and the traffic between them,
  both directions added, as edges. Executors of one component are alike, so a component that
  straddles a cut takes its traffic to either side in proportion.
- A part is cut in two along the Fiedler vector, the eigenvector of the second smallest eigenvalue
  of the part's Laplacian: its components in that order, one connected piece after the other, the
  largest first, divided at half of the executors. The part with the most executors is next, until
  there are as many parts as workers asked for (no more than slots or executors).
- Where the second eigenvalue comes several times, or for the sign, one fixed vector is projected on
  the eigenvectors, so that the order does not depend on what the linear algebra happens to return.
- Parts go, largest first, to the machine with the most CPU left that has a free slot. A part's size
  is the CPU its executors request; where not all request some, the CPU they use at the rate of the
  upper bound (the mean over machine types); without rates, their number.
- Memory, every other hard resource and a worker's largest heap are limits, and so is CPU where
  there are only requests. A part that fits nowhere is cut again, beyond the workers asked for. One
  executor that fits nowhere means that its topology is refused, whole. Topologies go by priority.

Cost: O(components^3) per cut, O(machines) per part.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.evaluate.bound import upper_bound
from penstock.evaluate.capacity import ROUNDING_POINTS
from penstock.model.arrays import FloatMatrix, FloatVector, IntVector
from penstock.model.outcome import Outcome, Shortfall
from penstock.model.problem import Problem
from penstock.schedulers.base import Budget, Looks
from penstock.schedulers.counts import required_counts, topologies_by_priority
from penstock.schedulers.room import Room, components_of, workers_asked
from penstock.schedulers.traffic import traffic_between

#: Eigenvalues this close, as a part of the largest, are the same one.
_SAME = 1e-9
#: Digits of the Fiedler vector that count; components closer than that stay in their order.
_DIGITS = 9


@dataclass(frozen=True)
class TsStreamScheduler:
    """Spectral bisection of the topology; the largest part where there is most room."""

    name: ClassVar[str] = "tsstream"
    summary: ClassVar[str] = "cuts the topology with its Laplacian, places the parts by room"
    paper: ClassVar[str] = "Ts-Stream, as described in Sun et al. 2024, section 2.2"
    looks: ClassVar[Looks] = Looks(unlike_machines=True, memory=True, network=True)

    def solve(self, problem: Problem, budget: Budget, rng: np.random.Generator) -> Outcome:
        counts = required_counts(problem, self.name)
        traffic = traffic_between(problem, counts)
        pairs = traffic.per_pair(counts)
        needs = _needs(problem)
        room = Room.of(problem)
        room.notes += [note for note in (traffic.note, needs.note) if note]
        for topology in topologies_by_priority(problem):
            components = components_of(problem, topology)
            span = slice(components.start, components.stop)
            graph = Graph(components.start, pairs[span, span] + pairs[span, span].T)
            whole = {c: counts[c] for c in components}
            _Placing(room, needs, graph, topology).place(whole)
        return room.outcome()


#: Executors of each component in a part.
Part = dict[int, int]


@dataclass(frozen=True)
class Graph:
    """Traffic between one executor of each component and one of another, both directions added."""

    first: int
    per_pair: FloatMatrix

    def halves(self, part: Part) -> tuple[Part, Part]:
        """The part cut in two along its Fiedler vector, at half of its executors."""
        half = sum(part.values()) // 2
        near: Part = {}
        far: Part = {}
        for component in self._ordered(part):
            taken = min(part[component], half - sum(near.values()))
            if taken:
                near[component] = taken
            if taken < part[component]:
                far[component] = part[component] - taken
        return near, far

    def _ordered(self, part: Part) -> list[int]:
        """The part's components, connected pieces after each other, each by its Fiedler vector."""
        components = sorted(part)
        if len(components) == 1:
            return components
        index = np.array(components) - self.first
        executors = np.array([part[c] for c in components], dtype=np.float64)
        weights = self.per_pair[np.ix_(index, index)] * executors[:, None] * executors[None, :]
        pieces = sorted(_pieces(weights), key=lambda piece: (-executors[piece].sum(), piece[0]))
        ordered: list[int] = []
        for piece in pieces:
            along = fiedler(weights[np.ix_(piece, piece)])
            ordered += [components[i] for i in piece[np.argsort(along, kind="stable")]]
        return ordered


def fiedler(weights: FloatMatrix) -> FloatVector:
    """The Fiedler vector of a connected graph, rounded. Weights are symmetric, (nodes, nodes)."""
    size = len(weights)
    if size == 1:
        return np.zeros(1)
    between = weights - np.diag(np.diag(weights))
    laplacian = np.diag(between.sum(axis=1)) - between
    values, vectors = np.linalg.eigh(laplacian / between.max())
    second = vectors[:, 1:][:, values[1:] <= values[1] + _SAME * values[-1]]
    # The first components low, the last high, whatever sign or basis came back.
    along = second @ (second.T @ np.sqrt(np.arange(1.0, size + 1.0)))
    length = float(np.abs(along).max())
    return np.round(along / length if length > _SAME else np.zeros(size), _DIGITS)


def _pieces(weights: FloatMatrix) -> Iterator[IntVector]:
    """Connected pieces of a graph, as ascending node numbers."""
    left = set(range(len(weights)))
    while left:
        piece, edge = set(), {min(left)}
        while edge:
            piece |= edge
            edge = set(np.flatnonzero(weights[sorted(edge)].any(axis=0)).tolist()) - piece
        left -= piece
        yield np.array(sorted(piece), dtype=np.int64)


@dataclass(frozen=True)
class _Needs:
    """What one executor of each component needs, shape (components,)."""

    size: FloatVector
    heap: FloatVector
    note: str


def _needs(problem: Problem) -> _Needs:
    heap = problem.onheap_mb
    if not np.isnan(problem.cpu_request).any():
        return _Needs(problem.cpu_request, heap, "parts sized by CPU requests")
    ones = np.ones(len(problem.components))
    if not problem.has_rates:
        return _Needs(ones, heap, "parts sized by their executors: no rates, no requests")
    scale = upper_bound(problem).scale
    if not np.isfinite(scale):
        return _Needs(ones, heap, "parts sized by their executors: tuples cost nothing")
    machines = problem.cluster.machines_per_type
    kinds = np.flatnonzero(machines)
    counts = np.array([count or 1 for count in problem.counts_asked], dtype=np.float64)
    each = problem.visits * scale / counts
    points = problem.met[:, kinds] + problem.e[:, kinds] * each[:, None]
    size = points @ machines[kinds] / machines.sum()
    return _Needs(size, heap, "parts sized by their CPU at the upper bound's rate")


@dataclass
class _Placing:
    """One topology on its way into the room."""

    room: Room
    needs: _Needs
    graph: Graph
    topology: int

    def place(self, whole: Part) -> None:
        """Place a topology's executors, all of them or none."""
        table = self.room.problem.resources
        cpu, left = self.room.cpu.copy(), self.room.resources.copy()
        slots = np.array([len(free) for free in self.room.free_slots])
        waiting = [
            (-self._size(part), order, part)
            for order, part in enumerate(self._cut(whole, int(slots.sum())))
        ]
        heapq.heapify(waiting)
        cuts = len(waiting)
        placed: list[tuple[Part, int]] = []
        while waiting:
            size, _, part = heapq.heappop(waiting)
            needed = self._requested(part) + table.worker
            may = (slots > 0) & table.fits(needed, left, ROUNDING_POINTS) & self._heap_fits(part)
            if not self.room.problem.has_costs:
                may &= -size <= cpu + ROUNDING_POINTS
            if may.any():
                machine = int(np.argmax(np.where(may, cpu, -np.inf)))
                slots[machine] -= 1
                cpu[machine] += size
                left[machine] -= needed[machine]
                placed.append((part, machine))
            elif sum(part.values()) > 1 and slots.sum() > len(waiting) + 1:
                for half in self.graph.halves(part):
                    heapq.heappush(waiting, (-self._size(half), cuts, half))
                    cuts += 1
            else:
                self._refuse(part, slots, cpu, left - table.worker)
                return
        self.room.cpu, self.room.resources = cpu, left
        self._commit(placed)

    def _commit(self, placed: list[tuple[Part, int]]) -> None:
        """Every part in a slot of its machine."""
        for part, machine in placed:
            worker = (machine, self.room.free_slots[machine][0])
            self.room.take(worker)
            for component, count in sorted(part.items()):
                for _ in range(count):
                    self.room.put(component, worker)

    def _cut(self, whole: Part, slots: int) -> list[Part]:
        """As many parts as workers asked for; the part with the most executors is cut next."""
        asked = min(workers_asked(self.room.problem, self.topology), slots)
        parts = [(-sum(whole.values()), 0, whole)]
        order = 1
        while len(parts) < asked and parts[0][0] < -1:
            _, _, largest = heapq.heappop(parts)
            for half in self.graph.halves(largest):
                heapq.heappush(parts, (-sum(half.values()), order, half))
                order += 1
        return [part for _, _, part in sorted(parts, key=lambda entry: entry[1])]

    def _size(self, part: Part) -> float:
        least = self.room.problem.cluster.worker_min_cpu_points
        return max(self._sum(self.needs.size, part), least)

    def _sum(self, values: FloatVector, part: Part) -> float:
        return float(sum(values[component] * count for component, count in part.items()))

    def _requested(self, part: Part) -> FloatVector:
        """What a part asks for of each resource, shape (R,)."""
        return np.array([self._sum(row, part) for row in self.room.problem.resources.request.T])

    def _heap_fits(self, part: Part) -> bool:
        most = self.room.problem.topologies[self.topology].worker_max_heap_mb
        return most is None or self._sum(self.needs.heap, part) <= most + ROUNDING_POINTS

    def _refuse(self, part: Part, slots: IntVector, cpu: FloatVector, left: FloatMatrix) -> None:
        """Say what a part that fits nowhere lacks."""
        graph = self.room.problem.topologies[self.topology]
        component = self.room.problem.components[next(iter(part))].name

        def refuse(resource: str, needed: float, available: float) -> None:
            shortfall = Shortfall(resource, needed, max(available, 0.0), graph.name, component)
            self.room.shortfalls.append(shortfall)

        table, has_slot = self.room.problem.resources, slots > 0
        if not has_slot.any() or sum(part.values()) > 1:
            # With one more slot the part could be cut once more.
            self.room.refuse(self.topology, "slots", int(slots.sum()) + 1, int(slots.sum()))
            return
        if not self._heap_fits(part):
            heap = self._sum(self.needs.heap, part)
            refuse("memory_mb", heap, graph.worker_max_heap_mb or 0.0)
            return
        needed = np.broadcast_to(self._requested(part), left.shape)
        scarcest = table.scarcest(needed, left, has_slot, ROUNDING_POINTS)
        if scarcest is not None:
            m, r = scarcest
            refuse(table.names[r], float(needed[m, r]), float(left[m, r]))
            return
        fits = has_slot & table.fits(needed, left, ROUNDING_POINTS)
        refuse("cpu_points", self._size(part), float(cpu[fits].max()))

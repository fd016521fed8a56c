"""Orders of packing in requests mode: which topology comes first, and what it may use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.schedulers.penstock.requests.free_capacity import LARGE, FreeCapacity
from penstock.schedulers.penstock.requests.topology_requests import TopologyRequests

#: Rather large is an executor above this part of the largest machine.
_RATHER_LARGE = 0.2
#: Part of all connected pairs that makes a core of topologies.
_CORE_PAIRS = 0.97


def _by_value(requests: TopologyRequests, whole: AllRequests) -> tuple[float, ...]:
    return (-_above(requests, LARGE), -_value(requests, whole))


def _large_first(requests: TopologyRequests, whole: AllRequests) -> tuple[float, ...]:
    return (-_above(requests, _RATHER_LARGE), -_value(requests, whole))


def _core_first(requests: TopologyRequests, whole: AllRequests) -> tuple[float, ...]:
    if requests.topology in whole.core:
        return (-_above(requests, LARGE), 0.0, -_value(requests, whole))
    return (-_above(requests, LARGE), 1.0, -requests.largest_share)


def _above(requests: TopologyRequests, limit: float) -> float:
    """Share of the largest executor, 0 where it is within the limit."""
    return requests.largest_share if requests.largest_share > limit else 0.0


def _value(requests: TopologyRequests, whole: AllRequests) -> float:
    """Connected pairs for the room that a topology takes."""
    return requests.pairs / max(whole.machines(requests), 1e-12)


#: Who is placed first: those with most pairs for their room; those with rather large executors; the
#: few with nearly all pairs, then those with the largest executors. Executors that fill a good part
#: of a machine always come before the rest.
RULES: dict[str, Callable[[TopologyRequests, AllRequests], tuple[float, ...]]] = {
    "value": _by_value,
    "large": _large_first,
    "core": _core_first,
}


@dataclass(frozen=True, slots=True)
class PackingOrder:
    """Who is packed first, machines to begin with, and what is kept back."""

    rule: str
    machines: int
    #: Part of every machine's memory (CPU) kept from topologies that ask mostly for memory (CPU),
    #: so that others find some beside the CPU (memory) which those leave.
    memory_reserve: float = 0.0
    cpu_reserve: float = 0.0
    #: Priority decides the order first: what fits nowhere is then the least urgent.
    by_priority: bool = False


@dataclass(frozen=True)
class AllRequests:
    """Totals of all topologies, to compare one with."""

    cpu: float
    memory: float
    machine_cpu: float
    machine_memory: float
    #: The topologies that have nearly all connected pairs between them.
    core: frozenset[int]

    @classmethod
    def of(cls, free: FreeCapacity, all_requests: list[TopologyRequests]) -> AllRequests:
        return cls(
            sum(d.total_cpu for d in all_requests),
            sum(d.total_memory for d in all_requests),
            float(free.machine_cpu.max()),
            float(free.machine_memory.max()),
            _core(all_requests),
        )

    def machines(self, requests: TopologyRequests) -> float:
        """How many of the largest machine a topology fills."""
        return max(
            requests.total_cpu / self.machine_cpu, requests.total_memory / self.machine_memory
        )

    def lean(self, requests: TopologyRequests) -> float:
        """Above 1: asks more for memory than all do together; below 1: more for CPU."""
        if not (self.cpu and self.memory and requests.total_cpu):
            return 1.0
        return (requests.total_memory / self.memory) / (requests.total_cpu / self.cpu)


def _core(all_requests: list[TopologyRequests]) -> frozenset[int]:
    core, held = set(), 0.0
    enough = _CORE_PAIRS * sum(d.pairs for d in all_requests)
    for requests in sorted(all_requests, key=lambda d: (-d.pairs, d.topology)):
        if held >= enough:
            break
        core.add(requests.topology)
        held += requests.pairs
    return frozenset(core)

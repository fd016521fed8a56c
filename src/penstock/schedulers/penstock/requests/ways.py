"""Ways to pack in requests mode: which topology comes first, and what it may use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.schedulers.penstock.requests.demand import Demand
from penstock.schedulers.penstock.requests.fill import LARGE, Ground

#: Rather large is an executor above this part of the largest machine.
_RATHER_LARGE = 0.2
#: Part of all connected pairs that makes a core of topologies.
_CORE_PAIRS = 0.97


def _by_value(demand: Demand, whole: Whole) -> tuple[float, ...]:
    return (-_above(demand, LARGE), -_value(demand, whole))


def _large_first(demand: Demand, whole: Whole) -> tuple[float, ...]:
    return (-_above(demand, _RATHER_LARGE), -_value(demand, whole))


def _core_first(demand: Demand, whole: Whole) -> tuple[float, ...]:
    if demand.topology in whole.core:
        return (-_above(demand, LARGE), 0.0, -_value(demand, whole))
    return (-_above(demand, LARGE), 1.0, -demand.largest_share)


def _above(demand: Demand, limit: float) -> float:
    """Share of the largest executor, 0 where it is within the limit."""
    return demand.largest_share if demand.largest_share > limit else 0.0


def _value(demand: Demand, whole: Whole) -> float:
    """Connected pairs for the room that a topology takes."""
    return demand.pairs / max(whole.machines(demand), 1e-12)


#: Who is placed first: those with most pairs for their room; those with rather large executors; the
#: few with nearly all pairs, then those with the largest executors. Executors that fill a good part
#: of a machine always come before the rest.
ORDERS: dict[str, Callable[[Demand, Whole], tuple[float, ...]]] = {
    "value": _by_value,
    "large": _large_first,
    "core": _core_first,
}


@dataclass(frozen=True, slots=True)
class Way:
    """One way to pack: who comes first, machines to begin with, and what is kept back."""

    order: str
    machines: int
    #: Part of every machine's memory (CPU) kept from topologies that ask mostly for memory (CPU),
    #: so that others find some beside the CPU (memory) which those leave.
    memory_kept: float = 0.0
    cpu_kept: float = 0.0
    #: Priority decides the order first: what fits nowhere is then the least urgent.
    by_priority: bool = False


@dataclass(frozen=True)
class Whole:
    """Totals of all topologies, to compare one with."""

    cpu: float
    memory: float
    machine_cpu: float
    machine_memory: float
    #: The topologies that have nearly all connected pairs between them.
    core: frozenset[int]

    @classmethod
    def of(cls, ground: Ground, wanted: list[Demand]) -> Whole:
        return cls(
            sum(d.total_cpu for d in wanted),
            sum(d.total_memory for d in wanted),
            float(ground.machine_cpu.max()),
            float(ground.machine_memory.max()),
            _core(wanted),
        )

    def machines(self, demand: Demand) -> float:
        """How many of the largest machine a topology fills."""
        return max(demand.total_cpu / self.machine_cpu, demand.total_memory / self.machine_memory)

    def lean(self, demand: Demand) -> float:
        """Above 1: asks more for memory than all do together; below 1: more for CPU."""
        if not (self.cpu and self.memory and demand.total_cpu):
            return 1.0
        return (demand.total_memory / self.memory) / (demand.total_cpu / self.cpu)


def _core(wanted: list[Demand]) -> frozenset[int]:
    core, held = set(), 0.0
    enough = _CORE_PAIRS * sum(d.pairs for d in wanted)
    for demand in sorted(wanted, key=lambda d: (-d.pairs, d.topology)):
        if held >= enough:
            break
        core.add(demand.topology)
        held += demand.pairs
    return frozenset(core)

"""Storm's generic resources: what ``supervisor.resources.map`` and its like hold beside CPU.

Storm keeps CPU and memory in the same maps under names of its own; those are read elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.model.resources import Quantities

#: Where a topology's settings say what each component asks for, if it does not itself.
COMPONENT_MAP = "topology.component.resources.map"
#: CPU and memory, as settings name them and as Nimbus does.
_CPU_AND_MEMORY = frozenset(
    {
        *("cpu.pcore.percent", "topology.component.cpu.pcore.percent", "supervisor.cpu.capacity"),
        *("memory.mb", "supervisor.memory.capacity.mb"),
        *("onheap.memory.mb", "topology.component.resources.onheap.memory.mb"),
        *("offheap.memory.mb", "topology.component.resources.offheap.memory.mb"),
    }
)


def written_amounts(text: str | None) -> dict[str, float]:
    """The amounts in a text of Storm's UI, ``gpu.count=2.0 disk=40.0``."""
    pairs = (part.partition("=") for part in (text or "").split())
    return {name: float(amount) for name, _, amount in pairs}


def generic_resources(amounts: Mapping[str, float] | None) -> Quantities:
    """The amounts that are neither CPU nor memory, sorted by name; none of nothing."""
    return tuple(
        (name, float(amount))
        for name, amount in sorted((amounts or {}).items())
        if name not in _CPU_AND_MEMORY and amount
    )

"""What a supervisor says of its machine in ``supervisor.scheduler.meta``.

Storm hands the map on and reads nothing in it, so that its keys are a convention: ours are below.
What is not among them, or has a value that says nothing, is told and left out, never guessed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from penstock.errors import close_match, shown
from penstock.files.schema import is_name, seen_as
from penstock.model.cluster import MachineType
from penstock.model.resources import Quantities

SETTING = "supervisor.scheduler.meta"
#: Keys that hold names, with the spellings that are read; the first is the one we write of.
_NAMES = {
    "name": ("machine",),
    "type": ("machine-type", "type"),
    "rack": ("rack", "rack-id"),
    "region": ("region", "region-id"),
}
_MB_PER_GB = 1024.0
#: Keys that hold numbers: field of the machine type, and what one of the key's unit is there.
_NUMBERS = {
    "sockets": ("sockets", 1.0),
    "cores": ("cores", 1.0),
    "ghz": ("ghz", 1.0),
    "flops-per-cycle": ("flops_per_cycle", 1.0),
    "ram-mb": ("ram_mb", 1.0),
    "ram-gb": ("ram_mb", _MB_PER_GB),
    "bandwidth": ("nic_mbps", 1.0),
    "bandwidth-mbps": ("nic_mbps", 1.0),
    "speed": ("speed", 1.0),
    "idle-watts": ("idle_watts", 1.0),
    "full-watts": ("full_watts", 1.0),
    "price-per-hour": ("price_per_hour", 1.0),
}
#: Of which there is no half.
_WHOLE = frozenset({"sockets", "cores"})
_MOST = 1e15
_MOST_WHOLE = 10**6
KEYS = (*(spellings[0] for spellings in _NAMES.values()), *_NUMBERS)
#: Machines named in one remark.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Misunderstood:
    """A key that nothing is read from, and why."""

    key: str
    why: str
    #: One of ours, with a value that says nothing.
    is_known: bool


@dataclass(frozen=True, slots=True)
class MachineMetadata:
    """What one supervisor says of its machine; ``None`` is what it does not say."""

    name: str | None = None
    type: str | None = None
    rack: str | None = None
    region: str | None = None
    #: Fields of its machine type, by name.
    hardware: Quantities = ()
    misunderstood: tuple[Misunderstood, ...] = ()


def metadata_of(entries: Mapping[str, Any]) -> MachineMetadata:
    """The metadata in a map as Storm has it: numbers may be text, ``_`` may stand for ``-``."""
    spelled = {spelling: name for name, all_of in _NAMES.items() for spelling in all_of}
    names: dict[str, str] = {}
    hardware: dict[str, float] = {}
    misunderstood: list[Misunderstood] = []
    for key in sorted(entries, key=str):
        value, plain = entries[key], str(key).lower().replace("_", "-")
        if plain in spelled:
            why = "" if is_name(value) else f"must be a name, not {seen_as(value)}"
            if not why:
                names.setdefault(spelled[plain], str(value))
        elif plain in _NUMBERS:
            field, unit = _NUMBERS[plain]
            number = _number(value)
            why = _wrong_number(field, number, value)
            if number is not None and not why:
                hardware.setdefault(field, number * unit)
        else:
            why = _unknown(plain)
        if why:
            is_known = plain in spelled or plain in _NUMBERS
            misunderstood.append(Misunderstood(str(key), why, is_known))
    return MachineMetadata(
        hardware=tuple(sorted(hardware.items())), misunderstood=tuple(misunderstood), **names
    )


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _wrong_number(field: str, number: float | None, value: Any) -> str:
    """Why a value is no amount of a field; empty where it is one."""
    if number is None or not math.isfinite(number):
        return f"must be a number, not {seen_as(value)}"
    most = _MOST_WHOLE if field in _WHOLE else _MOST
    if not 0 < number <= most:
        return f"must be a number over 0 and at most {most:g}, not {seen_as(value)}"
    if field in _WHOLE and number != int(number):
        return f"must be a whole number, not {seen_as(value)}"
    return ""


def _unknown(key: str) -> str:
    close = close_match(key, KEYS)
    return f'did you mean "{close}"?' if close else f"known are {', '.join(KEYS)}"


def remarks(machines: Iterable[tuple[str, MachineMetadata]]) -> tuple[str, ...]:
    """What was not understood, once for each key however many machines have it."""
    who: dict[Misunderstood, list[str]] = defaultdict(list)
    for machine, metadata in machines:
        for entry in metadata.misunderstood:
            who[entry].append(machine)
    return tuple(
        f"{SETTING} of {_some(names)}: {shown(entry.key)} is not understood and left out; "
        f"{entry.why}"
        for entry, names in who.items()
    )


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


class SupervisorTypes:
    """Machine types of supervisors, as one after the other is seen.

    Those of one name offer the same, and do not contradict each other about their hardware; what
    one says of it holds for all.
    """

    def __init__(self) -> None:
        self._first: dict[str, tuple[str, MachineType]] = {}

    @property
    def types(self) -> tuple[MachineType, ...]:
        return tuple(kind for _, kind in self._first.values())

    def add(self, kind: MachineType, machine: str) -> str | None:
        """Count a machine's type in; why that cannot be, if it cannot."""
        first, known = self._first.setdefault(kind.name, (machine, kind))
        offers: dict[str, Any] = {field: None for field, _ in _NUMBERS.values()}
        if replace(known, **offers) != replace(kind, **offers):
            return _unequal(kind, machine)
        for field in offers:
            ours, theirs = getattr(known, field), getattr(kind, field)
            if ours is not None and theirs is not None and ours != theirs:
                return (
                    f'machine type "{kind.name}" has unequal hardware: {field} is {theirs:g} on '
                    f"{machine} and {ours:g} on {first}; give them types of their own "
                    "(machine-type)"
                )
            if ours is None and theirs is not None:
                known = replace(known, **{field: theirs})
        self._first[kind.name] = (first, known)
        return None


def _unequal(kind: MachineType, machine: str) -> str:
    slots = f"{kind.slots} slots"
    slots += "".join(f", {amount:g} {name}" for name, amount in kind.resources)
    return (
        f'machine type "{kind.name}" has unequal CPU, memory, slots or resources: '
        f"{machine} offers {kind.cpu_points:g} points, {kind.memory_mb:g} MB, {slots}"
    )

"""Policies by name: a table for what is built in, entry points for what others install."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib.metadata import entry_points
from typing import Any

from penstock.control.policies.dhalion import DhalionPolicy
from penstock.control.policies.ds2 import Ds2Policy
from penstock.control.policies.flink import FlinkPolicy
from penstock.control.policies.hpa import HpaPolicy
from penstock.control.policies.penstock import PenstockPolicy
from penstock.control.policies.static import StaticPolicy
from penstock.control.policy import Policy
from penstock.errors import InputError, PenstockError, UnknownNameError

ENTRY_POINT_GROUP = "penstock.policies"
#: What makes a class a policy.
_PARTS = ("name", "summary", "paper", "start", "propose")
_BUILT_IN: tuple[type[Policy], ...] = (
    PenstockPolicy,
    StaticPolicy,
    HpaPolicy,
    Ds2Policy,
    DhalionPolicy,
    FlinkPolicy,
)


@dataclass(frozen=True, slots=True)
class RegisteredPolicy:
    """A policy that can be asked for, or why an installed one cannot."""

    name: str
    #: ``built in``, or the distribution it comes from.
    origin: str
    policy: type[Policy] | None
    problem: str = ""


def registered() -> dict[str, RegisteredPolicy]:
    """All policies by name, built-in ones first; an installed one cannot take their names."""
    entries = {p.name: RegisteredPolicy(p.name, "built in", p) for p in _BUILT_IN}
    for entry in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda e: e.name):
        if entry.name in entries:
            continue
        origin = entry.dist.name if entry.dist else entry.value
        try:
            loaded = entry.load()
        # Whatever a stranger's module does on import must not stop the others.
        except Exception as error:
            why = f"cannot be loaded: {error}"
            entries[entry.name] = RegisteredPolicy(entry.name, origin, None, why)
            continue
        missing = [part for part in _PARTS if not hasattr(loaded, part)]
        why = f"is no policy: lacks {', '.join(missing)}" if missing else ""
        entries[entry.name] = RegisteredPolicy(entry.name, origin, None if missing else loaded, why)
    return entries


def get(name: str) -> type[Policy]:
    """The policy of that name."""
    entries = registered()
    if name not in entries:
        raise UnknownNameError("policy", name, entries)
    chosen = entries[name]
    if chosen.policy is None:
        raise PenstockError(f'policy "{name}" of {chosen.origin} {chosen.problem}')
    return chosen.policy


def configured(name: str, parameters: Mapping[str, Any]) -> Policy:
    """A policy with some of its parameters set."""
    chosen: Any = get(name)
    known = {f.name: f for f in fields(chosen)}
    for parameter in parameters:
        if parameter not in known:
            raise UnknownNameError(f"parameter of policy {name}", parameter, known)
    values = {}
    for parameter, value in parameters.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise InputError(f"{parameter} of policy {name} must be a number, not {value!r}")
        whole = isinstance(known[parameter].default, int)
        if whole and value != int(value):
            raise InputError(f"{parameter} of policy {name} must be a whole number, not {value!r}")
        values[parameter] = int(value) if whole else float(value)
    policy: Policy = chosen(**values)
    return policy

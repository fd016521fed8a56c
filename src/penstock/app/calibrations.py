"""Fingerprints of machines: measured here, put into clusters and machine records."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from penstock.agent.hardware import hardware
from penstock.app.inputs import Source, resolved
from penstock.app.problems import silent
from penstock.calibration.fingerprint import Fingerprint, measure
from penstock.engines.base import Say
from penstock.errors import Finding, InputError, UsageError
from penstock.files.schema import is_name
from penstock.model.cluster import Cluster, MachineType
from penstock.model.machine_record import HARDWARE_FIELDS

#: Seconds that a fingerprint takes unless told otherwise.
USUAL_SECONDS = 60.0
_LEAST_SECONDS = 2.0
_DIGITS = 5


def fingerprint(seconds: float = USUAL_SECONDS, *, say: Say = silent) -> Fingerprint:
    """How much of each kind of work this machine does, on one core and on all."""
    if not seconds >= _LEAST_SECONDS:
        raise UsageError(f"a fingerprint takes at least {_LEAST_SECONDS:g} s, not {seconds:g}")
    return measure(seconds, say=say)


def cluster_with_type(cluster: Cluster | Source, machine_type: str) -> Cluster:
    """A cluster that has the type: one it does not have is added, as this machine.

    Costs measured on this machine (type ``any``) need no machine of the cluster for that.
    """
    if not is_name(machine_type):
        raise UsageError(f'--type must be a name without slashes, not "{machine_type}"')
    findings: list[Finding] = []
    found = resolved(cluster, Cluster, "cluster", findings)
    if found is None:
        raise InputError(*findings)
    if machine_type in found.type_names:
        return found
    return replace(found, types=(*found.types, this_machine(machine_type)))


def with_fingerprint(cluster: Cluster, machine_type: str, taken: Fingerprint) -> Cluster:
    """The cluster with the fingerprint of one of its types."""
    types = tuple(
        replace(kind, fingerprint=_quantities(taken)) if kind.name == machine_type else kind
        for kind in cluster.types
    )
    return replace(cluster, types=types)


def this_machine(name: str) -> MachineType:
    """The type of this computer, 100 points a processor."""
    facts = hardware()
    told = {field.name: facts[field.name] for field in HARDWARE_FIELDS if field.name in facts}
    points = 100.0 * len(os.sched_getaffinity(0))
    return replace(MachineType(name, points, core_points=100.0), **told)  # type: ignore[arg-type]


def fingerprint_facts(taken: Fingerprint) -> Mapping[str, float]:
    """Fields of the machine record."""
    facts = {f"{kind}_per_s": value for kind, value in _quantities(taken)}
    return facts | {"cores_worth": _rounded(taken.cores_worth)}


def _quantities(taken: Fingerprint) -> tuple[tuple[str, float], ...]:
    return tuple(sorted((speed.kind, _rounded(speed.one_per_s)) for speed in taken.speeds))


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")

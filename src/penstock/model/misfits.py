"""What does not fit together in a problem: demands half declared, neither costs nor requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.errors import Finding
from penstock.model.topology import Topology

if TYPE_CHECKING:
    from penstock.model.problem import Problem


def misfits(problem: Problem) -> list[Finding]:
    """Everything that does not fit, at once; empty where all is well."""
    return [*_demand_findings(problem.topologies), *_request_findings(problem)]


def _demand_findings(topologies: tuple[Topology, ...]) -> list[Finding]:
    findings = []
    names = [t.name for t in topologies]
    for name in sorted({name for name in names if names.count(name) > 1}):
        findings.append(Finding(f'two topologies are named "{name}"; rename one'))
    for topology in topologies:
        if topology.demand_per_s is not None and not 0 < topology.demand_per_s < np.inf:
            message = f"demand_per_s must be a positive number, not {topology.demand_per_s}"
            findings.append(Finding(message, field=f"topology {topology.name}"))
    silent = [t.name for t in topologies if t.demand_per_s is None]
    if silent and len(silent) < len(topologies):
        findings.append(
            Finding(
                f"topologies {', '.join(silent)} declare no demand_per_s while others do; "
                "declare it for all of them or for none"
            )
        )
    return findings


def _request_findings(problem: Problem) -> list[Finding]:
    if problem.profile is not None:
        return []
    return [
        Finding(
            "no profile and no cpu_points request; give --profile, or cpu_points and "
            "instances in the topology",
            field=f"component {label}",
        )
        for label, component in zip(problem.labels, problem.components, strict=True)
        if component.cpu_points is None
    ]

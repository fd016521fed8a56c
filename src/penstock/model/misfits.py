"""What does not fit together in a problem: demands half declared, neither costs nor requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.errors import Finding
from penstock.model.topology import Topology

if TYPE_CHECKING:
    from penstock.model.problem import Problem


#: More components than this are counted.
_MOST_NAMED = 6


def misfits(problem: Problem) -> list[Finding]:
    """Everything that does not fit, at once; empty where all is well."""
    return [*_demand_findings(problem.topologies), *_no_profile(problem)]


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


def _no_profile(problem: Problem) -> list[Finding]:
    """Once for all components, with the ways to get one."""
    if problem.profile is not None:
        return []
    asks = zip(problem.labels, problem.cpu_request.tolist(), strict=True)
    silent = [label for label, request in asks if np.isnan(request)]
    if not silent:
        return []
    names = ", ".join(silent[:_MOST_NAMED])
    names += f" and {len(silent) - _MOST_NAMED} more" if len(silent) > _MOST_NAMED else ""
    return [
        Finding(
            f"no profile, and no cpu_points request of {names}: what a tuple costs is not known. "
            "Give a profile (--profile): measured with penstock run and penstock profile, from a "
            "running Storm with penstock profile --from storm, or written by hand "
            "(docs/formats/profile.md). Without one, declare cpu_points and instances of every "
            "component in the topology"
        )
    ]

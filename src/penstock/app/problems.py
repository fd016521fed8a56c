"""Problems and profiles from what people hand over: values, files, dicts, names of examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from penstock.app.inputs import Source, is_folder, natural_cluster, resolved, terms_from
from penstock.engines import registry
from penstock.engines.base import Engine, Say
from penstock.errors import Finding, InputError
from penstock.files import examples
from penstock.files.store import load
from penstock.model.cluster import Cluster
from penstock.model.machine_table import MachineTable, completed
from penstock.model.problem import Problem, build
from penstock.model.profile import Profile
from penstock.model.speed import estimate_by_speed
from penstock.model.terms import Terms
from penstock.model.topology import Topology
from penstock.planning.other_tenants import with_other_tenants


def silent(_text: str) -> None:
    """Says nothing: what a caller without a terminal wants."""


def problem(
    topologies: Topology | Source | Sequence[Topology | Source],
    cluster: Cluster | Source | None = None,
    profile: Profile | Source | None = None,
    *,
    weighted: bool = False,
    headroom: float | None = None,
    met: float | None = None,
    terms: Terms | Source | None = None,
    engine: str | Engine = registry.DEFAULT_ENGINE,
    estimate_from: str | None = None,
    told: MachineTable | None = None,
    say: Say = silent,
) -> Problem:
    """A problem from values, files, dicts or the names of shipped examples.

    Without a cluster, an example's own is taken; a recorded production folder brings its own.
    ``engine`` may change topologies to how it runs them: Spark divides every stream by shares and
    leaves instance counts to the planner.
    Without a profile, a shipped one that covers the components on these machines is used if there
    is one; otherwise the topologies' requests must do. ``estimate_from`` names a machine type of
    the profile whose costs, divided by relative speed, are taken for types on which it has none.
    ``told`` is what agents tell of the machines (:func:`machine_table`): what the cluster does not
    state of them, how far they are apart, and what others use of them.
    """
    given = [topologies] if isinstance(topologies, (Topology, str, Path, Mapping)) else topologies
    findings: list[Finding] = []
    if cluster is None and len(given) == 1 and is_folder(given[0]):
        recorded = load(given[0])  # type: ignore[arg-type]
        if isinstance(recorded, Problem):
            given, cluster = recorded.topologies, recorded.cluster
    parsed = [resolved(t, Topology, "topology", findings) for t in given]
    if cluster is None and not findings:
        cluster = natural_cluster(given)
    machines = resolved(cluster, Cluster, "cluster", findings) if cluster is not None else None
    costs = resolved(profile, Profile, "profile", findings) if profile is not None else None
    if findings or machines is None or any(t is None for t in parsed):
        raise InputError(*findings)
    known = [t for t in parsed if t is not None]
    machines, other_points = _completed(machines, told, say)
    if headroom is not None:
        machines = replace(machines, headroom=_fraction("headroom", headroom))
    if profile is None:
        costs = examples.profile_for(known, machines)
    if estimate_from is not None:
        if costs is None:
            raise InputError(f"estimates from {estimate_from} need a profile (--profile)")
        costs = estimate_by_speed(costs, machines, estimate_from)
    if met is not None:
        if costs is None:
            raise InputError("met changes a profile, and this problem has none")
        costs = costs.with_met(_not_negative("met", met))
    target = registry.create(engine) if isinstance(engine, str) else engine
    with registry.naming_its_package(target.name):
        known = [target.adapt(t) for t in known]
    weighted = weighted or target.capabilities.weighted
    built = build(known, machines, costs, weighted=weighted)
    built = with_other_tenants(built, other_points)
    return built if terms is None else built.with_terms(terms_from(terms))


def _completed(
    cluster: Cluster, told: MachineTable | None, say: Say
) -> tuple[Cluster, Mapping[str, float]]:
    """The cluster with what agents tell, and the CPU points that others use, by machine."""
    if told is None:
        return cluster, {}
    done = completed(cluster, told)
    for remark in done.remarks:
        say(remark)
    return done.cluster, done.other_points


def profile(source: Profile | Source) -> Profile:
    """A profile from a file, a dict or the name of a shipped one."""
    findings: list[Finding] = []
    costs = resolved(source, Profile, "profile", findings)
    if costs is None:
        raise InputError(*findings)
    return costs


def _fraction(name: str, value: float) -> float:
    if not 0 <= value < 1:
        raise InputError(f"{name} must be at least 0 and below 1, not {value:g}")
    return value


def _not_negative(name: str, value: float) -> float:
    if not (np.isfinite(value) and value >= 0):
        raise InputError(f"{name} must be a number of at least 0, not {value:g}")
    return value

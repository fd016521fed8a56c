"""The problem of a setting: shipped examples, changed as the paper or the row says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock import app
from penstock.evaluate.assess import assess
from penstock.files import examples
from penstock.model.cluster import Cluster, Machine
from penstock.model.placement import Placement
from penstock.model.problem import Problem, build
from penstock.model.profile import Origin, Profile
from penstock.model.topology import Topology
from penstock_bench.reproduce.paper_fields import PaperChange, PaperSetting

#: ``PaperChange.cpu_requests``
NO_REQUESTS, AS_USED = "none", "as-used"


def problem_of(setting: PaperSetting) -> Problem:
    """Topologies, cluster and profile of a setting, fit together."""
    change = setting.change
    given = [examples.load_topology(name) for name in setting.topology]
    topologies = [_changed(topology, change) for topology in given]
    cluster = _with_slots(examples.load_cluster(setting.cluster), change.slots)
    profile = examples.profile_for(given, cluster)
    if profile is not None and change.e_times is not None:
        profile = _cheaper(profile, change.e_times)
    problem = app.problem(topologies, cluster, profile, met=setting.met)
    return _requesting_what_it_uses(problem) if change.cpu_requests == AS_USED else problem


def with_demand(problem: Problem, rates_per_s: dict[str, float]) -> Problem:
    """The same problem with a demand for each topology."""
    topologies = [replace(t, demand_per_s=rates_per_s[t.name]) for t in problem.topologies]
    return build(topologies, problem.cluster, problem.profile)


def _changed(topology: Topology, change: PaperChange) -> Topology:
    components = topology.components
    if change.instances is not None:
        components = tuple(
            replace(c, instances=min(change.instances, c.most_instances or change.instances))
            for c in components
        )
    if change.memory_mb is not None:
        components = tuple(replace(c, memory_mb=change.memory_mb) for c in components)
    if change.cpu_requests is not None:
        components = tuple(replace(c, cpu_points=None) for c in components)
    streams = topology.streams
    if change.tuple_bytes is not None:
        streams = tuple(replace(s, tuple_bytes=change.tuple_bytes) for s in streams)
    workers = change.workers if change.workers is not None else topology.workers
    return replace(topology, components=components, streams=streams, workers=workers)


def _with_slots(cluster: Cluster, slots: int | None) -> Cluster:
    if slots is None:
        return cluster
    return replace(cluster, types=tuple(replace(t, slots=slots) for t in cluster.types))


def _cheaper(profile: Profile, factor: float) -> Profile:
    costs = tuple(replace(cost, e=cost.e * factor) for cost in profile.costs)
    return replace(profile, costs=costs, origin=Origin.DERIVED)


def _requesting_what_it_uses(problem: Problem) -> Problem:
    """Each component asks for what its busiest instance uses on a machine of its own.

    The rate is the highest that so many machines of the cluster's first type carry: what a user
    sees who measures the topology where nothing is in its way.
    """
    counts = [count or 1 for count in problem.counts_asked]
    kind = problem.cluster.machines[0].type
    alone = replace(
        problem.cluster,
        machines=tuple(Machine(f"alone-{i}", kind) for i in range(sum(counts))),
    )
    spread = replace(problem, cluster=alone)
    component = np.repeat(np.arange(len(counts)), counts)
    judged = assess(spread, Placement.of(component, np.arange(sum(counts))))
    used = [float(judged.instance_cpu[component == c].max()) for c in range(len(counts))]
    first = iter(used)
    topologies = [
        replace(t, components=tuple(replace(c, cpu_points=next(first)) for c in t.components))
        for t in problem.topologies
    ]
    return build(topologies, problem.cluster, problem.profile)

"""Whether the peers are credible: 24 equal machines, as in the published runs of Demeter's authors.

Theirs are Flink 1.17 on 24 task managers with failures every 45 minutes (arXiv 2403.02129). A
failure stops the whole job there; after it, as after a rescaling, the job starts from its
checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from penstock.app.rehearsal import RehearsalOptions, recorded_load
from penstock.control.policies import registry
from penstock.control.rehearsal import RehearsalSetting, rehearse
from penstock.control.rehearsed_engine import FaultPlan
from penstock.control.scores import Score
from penstock.model.cluster import Cluster, Machine, MachineType
from penstock.model.problem import build
from penstock.model.profile import Cost, Profile
from penstock.model.topology import Component, Kind, Topology
from penstock.model.watch_rules import FREE
from penstock.planning.capacity_plans import CapacityPlanner
from penstock.simulate.interval import EnginePauses
from penstock_bench.data import load_file

#: Seconds that a job of Flink stands still when a task manager is lost (heartbeats time out after
#: 20 s there) or it is rescaled. Not published; taken from how long latency was over 5 s for each
#: change there: 17 s in reactive mode, where pods come and go, and 76 to 115 s with the operator,
#: which stops the job with a savepoint and deploys it anew.
PAUSES = {
    "hpa": EnginePauses(rebalance_s=15.0, notice_s=20.0, restart_s=15.0, loss_stops_all=True),
    "flink": EnginePauses(rebalance_s=75.0, notice_s=20.0, restart_s=30.0, loss_stops_all=True),
}
#: Published, of the same load: mean task managers and changes, failures included.
PUBLISHED = {"hpa": (14.6, 89.0), "flink": (21.3, 127.5)}
#: What the published runs set (dos-group/demeter, commit 11bee54: taskmanager-autoscaler.yaml and
#: FlinkJob.java); of the operator's release, 1.6, a grace period of an hour is the default.
AS_PUBLISHED: dict[str, dict[str, float | str]] = {
    "hpa": {"target": 0.35},
    "flink": {
        "target": 0.35, "band": 0.15, "window_s": 60.0, "stabilise_s": 120.0, "restart_s": 60.0,
        "catch_up_s": 300.0, "shrink_every_s": 0.0, "grace_s": 3600.0,
    },
}  # fmt: skip
#: The highest rate of the load as a part of what 24 machines carry: not published, and such that
#: hpa uses as many machines as there. The other three figures follow.
_HIGHEST = 0.42


@cache
def _planner() -> CapacityPlanner:
    machines = tuple(Machine(f"tm-{i + 1}", "tm") for i in range(24))
    cluster = Cluster("24 task managers", (MachineType("tm", cpu_points=100.0),), machines)
    job = Topology("ads", (Component("job", Kind.SPOUT),), ())
    profile = Profile("ads", (Cost("job", "tm", e=1.0, met=0.0),))
    return CapacityPlanner(build([job], cluster, profile, weighted=True), levels=240)


@cache
def _score(policy: str, seed: int) -> Score:
    planner = _planner()
    options = RehearsalOptions(median_s=300.0, highest=_HIGHEST)
    load = recorded_load(load_file("ads"), options, planner.bound_per_s)
    setting = RehearsalSetting(FREE, PAUSES[policy], FaultPlan())
    return rehearse(
        load, registry.configured(policy, AS_PUBLISHED[policy]), planner, setting, seed
    ).score


def machines_over_published(repeats: int, policy: str) -> Iterator[float]:
    """Mean machines over the published mean."""
    for seed in range(repeats):
        yield _score(policy, seed).mean_machines / PUBLISHED[policy][0]


def changes_over_published(repeats: int, policy: str) -> Iterator[float]:
    """Changes, the failures' included as there, over the published ones."""
    for seed in range(repeats):
        found = _score(policy, seed)
        failures = int(found.hours * 3600.0 / FaultPlan().every_s)
        yield (found.changes + found.fault_changes + failures) / PUBLISHED[policy][1]

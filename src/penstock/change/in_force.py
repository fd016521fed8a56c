"""What runs now as a plan, so that it can be shown, compared and gone back to."""

from __future__ import annotations

from penstock.errors import Finding, InputError
from penstock.evaluate.predict import predict
from penstock.model.placement import Placement
from penstock.model.plan import Plan
from penstock.model.problem import Problem, build
from penstock.model.profile import Profile
from penstock.model.snapshot import Snapshot

#: Who made the placement, as far as we know.
SCHEDULER = "running"


def plan_in_force(snapshot: Snapshot, profile: Profile | None = None) -> Plan:
    """The placement of a snapshot as a plan of its topologies."""
    problem = build(snapshot.topologies, snapshot.cluster, profile)
    placement = _placement(problem, snapshot)
    predicted, _ = predict(problem, placement)
    return Plan(problem, placement, SCHEDULER, predicted=predicted, deployed=snapshot.deployed)


def _placement(problem: Problem, snapshot: Snapshot) -> Placement:
    machines = problem.cluster.machine_index
    rows: list[tuple[int, int, int]] = []
    findings = []
    for topology, first, deployed in zip(
        problem.topologies, problem.first_component, snapshot.deployed, strict=True
    ):
        for component, places in deployed.components:
            if component not in topology.index:
                continue
            for machine, slot in places:
                if machine not in machines:
                    message = (
                        f"an executor of {topology.name}/{component} is on {machine}, which is "
                        "not there any more; wait until it has a place again"
                    )
                    findings.append(Finding(message))
                    continue
                rows.append((first + topology.index[component], machines[machine], slot))
    if findings:
        raise InputError(*findings)
    if not rows:
        raise InputError("nothing is placed on the cluster: no topology runs, or none has a place")
    return Placement.of(*map(list, zip(*rows, strict=True)))

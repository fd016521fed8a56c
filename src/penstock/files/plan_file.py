"""The plan format: self-contained, with the inputs it was made from and their fingerprints.

No times and no machine names of ours inside: the same inputs and seed give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from pydantic import Field

from penstock.errors import Finding, InputError
from penstock.files.cluster_file import cluster_from, cluster_to_dict
from penstock.files.contingency_fields import (
    ContingencyFields,
    contingency_dict,
    contingency_findings,
)
from penstock.files.deployed_fields import DeployedFields, deployed_dict, deployed_findings
from penstock.files.document import ParsedFile, Place, document_of
from penstock.files.plan_fields import (
    Inputs,
    KeptFields,
    MadeFrom,
    PlacedTopology,
    PredictedFields,
    SchedulerFields,
)
from penstock.files.profile_file import profile_from, profile_to_dict
from penstock.files.schema import (
    FileModel,
    Version,
    check_file,
    first_findings,
    no_such,
)
from penstock.files.terms_file import terms_from, terms_to_dict
from penstock.files.topology_file import given, topology_from, topology_to_dict
from penstock.files.writer import fingerprint
from penstock.model.placement import Placement
from penstock.model.plan import InstancePlace, Plan, Prediction
from penstock.model.problem import Problem, build

_SHARES_SUM_WITHIN = 1e-6


class PlanFile(FileModel):
    """Who runs where, what was asked, by which scheduler, and what is predicted."""

    format: Literal["penstock/plan"]
    version: Version[Literal[1]]
    scheduler: SchedulerFields
    made_from: MadeFrom
    predicted: PredictedFields
    notes: list[str] = Field(default_factory=list)
    topologies: list[PlacedTopology]
    if_lost: list[ContingencyFields] = Field(default_factory=list)
    deployed: list[DeployedFields] = Field(
        default_factory=list, description="What ran when the plan was made, if known."
    )
    kept: list[KeptFields] = Field(
        default_factory=list,
        description="Plans of other topologies that stay in force; penstock apply writes it.",
    )
    inputs: Inputs


def plan_to_dict(plan: Plan) -> dict[str, object]:
    """The plan as its file says it."""
    deployed = [deployed_dict(d) for d in plan.deployed]
    inputs = problem_to_dict(plan.problem)
    return {
        **PlanFile.FORMAT.head,
        "scheduler": {
            "name": plan.scheduler,
            "parameters": dict(plan.parameters),
            "seed": plan.seed,
        },
        "made_from": _fingerprints(inputs),
        "predicted": _predicted_dict(plan.predicted),
        "notes": list(plan.notes),
        "topologies": _placed_dicts(plan),
        "if_lost": [contingency_dict(c) for c in plan.if_lost],
        **({"deployed": deployed} if deployed else {}),
        "inputs": inputs,
    }


def problem_to_dict(problem: Problem) -> dict[str, Any]:
    """All that a problem is made of, each part in its own format."""
    terms = problem.terms
    return {
        "topologies": [topology_to_dict(t) for t in problem.topologies],
        "cluster": cluster_to_dict(problem.cluster),
        "profile": profile_to_dict(problem.profile) if problem.profile else None,
        "weighted": problem.weighted,
        "given_counts": list(problem.given_counts) if problem.given_counts else None,
        **({} if terms.is_empty else {"terms": terms_to_dict(terms)}),
    }


def _fingerprints(inputs: Mapping[str, Any]) -> dict[str, object]:
    return {
        "topologies": {
            topology["name"]: fingerprint(topology) for topology in inputs["topologies"]
        },
        "cluster": fingerprint(inputs["cluster"]),
        "profile": fingerprint(inputs["profile"]) if inputs["profile"] else None,
    }


def _placed_dicts(plan: Plan) -> list[dict[str, object]]:
    def instance(place: InstancePlace) -> dict[str, object]:
        where: dict[str, object] = {"machine": place.machine, "slot": place.slot}
        return where if place.share is None else where | {"share": place.share}

    return [
        {
            "name": topology.name,
            "components": {
                component.name: [instance(i) for i in plan.places[topology.name, component.name]]
                for component in topology.components
            },
        }
        for topology in plan.problem.topologies
    ]


def _predicted_dict(predicted: Prediction) -> dict[str, object]:
    return {
        "rate_per_s": dict(predicted.rate_per_s),
        "scale": predicted.scale,
        "throughput_per_s": predicted.throughput_per_s,
        "limited_by": predicted.limited_by,
        "bound_scale": predicted.bound_scale,
        "bound_kind": predicted.bound_kind,
        "gap": predicted.gap,
        "proven_optimal": predicted.proven_optimal,
        "machines": [
            {
                "machine": load.machine,
                "instances": load.instances,
                "cpu_points": load.cpu_points,
                "usable_cpu_points": load.usable_cpu_points,
            }
            | given({"memory_mb": load.memory_mb, "resources": dict(load.resources) or None})
            for load in predicted.machines
        ],
        "violations": list(predicted.violations),
    }


def plan_from(document: ParsedFile) -> Plan:
    """The plan in a document, checked against the inputs it carries."""
    document, file, findings = check_file(document, PlanFile)
    if file is None:
        raise InputError(*findings)
    problem = _problem(document, file)
    findings = first_findings(document, _reference_findings(document, file, problem))
    if findings:
        raise InputError(*findings)
    return Plan(
        problem=problem,
        placement=_placement(file, problem),
        scheduler=file.scheduler.name,
        parameters=file.scheduler.parameters,
        seed=file.scheduler.seed,
        predicted=_prediction(file.predicted),
        notes=tuple(file.notes),
        if_lost=tuple(c.value() for c in file.if_lost),
        deployed=tuple(d.value() for d in file.deployed),
    )


def _problem(document: ParsedFile, file: PlanFile) -> Problem:
    inputs = file.inputs
    parts = {
        "cluster": (inputs.cluster, file.made_from.cluster),
        "profile": (inputs.profile, file.made_from.profile),
    }
    findings = [
        document.finding(("inputs", name), "was changed after the plan was made; plan again")
        for name, (value, expected) in parts.items()
        if (fingerprint(value) if value is not None else None) != expected
    ]
    for i, topology in enumerate(inputs.topologies):
        if file.made_from.topologies.get(str(topology.get("name"))) != fingerprint(topology):
            place: Place = ("inputs", "topologies", i)
            message = "was changed after the plan was made; plan again"
            findings.append(document.finding(place, message))
    if findings:
        raise InputError(*findings)

    def part(value: dict[str, Any], name: str) -> ParsedFile:
        return document_of(value, f"{document.name} inputs.{name}")

    topologies = [
        topology_from(part(t, f"topologies[{i}]")) for i, t in enumerate(inputs.topologies)
    ]
    cluster = cluster_from(part(inputs.cluster, "cluster"))
    profile = profile_from(part(inputs.profile, "profile")) if inputs.profile is not None else None
    try:
        problem = build(topologies, cluster, profile, weighted=inputs.weighted)
    except InputError as error:
        raise InputError(*(replace(f, file=document.name) for f in error.findings)) from None
    if inputs.terms is not None:
        problem = problem.with_terms(terms_from(part(inputs.terms, "terms")))
    if inputs.given_counts is None:
        return problem
    if len(inputs.given_counts) != len(problem.components):
        place = ("inputs", "given_counts")
        count = len(problem.components)
        raise InputError(document.finding(place, f"must have one count for each of {count}"))
    return problem.with_counts(inputs.given_counts)


def _reference_findings(
    document: ParsedFile, file: PlanFile, problem: Problem
) -> Iterator[Finding]:
    machines = problem.cluster.machine_index
    known = {t.name: t for t in problem.topologies}
    placed = [t.name for t in file.topologies]
    if len(set(placed)) < len(placed):
        yield document.finding(("topologies",), "a topology is placed twice")
    for i, topology in enumerate(file.topologies):
        at: Place = ("topologies", i)
        if topology.name not in known:
            message = no_such("topology", topology.name, known)
            yield document.finding((*at, "name"), message)
            continue
        names = known[topology.name].index
        for component, instances in topology.components.items():
            where: Place = (*at, "components", component)
            if component not in names:
                yield document.finding(where, no_such("component", component, names))
            for j, instance in enumerate(instances):
                if instance.machine not in machines:
                    message = no_such("machine", instance.machine, machines)
                    yield document.finding((*where, j, "machine"), message)
            yield from _share_findings(document, where, [i.share for i in instances])
    if not any(t.components.get(c) for t in file.topologies for c in t.components):
        yield document.finding(("topologies",), "nothing is placed")
    yield from _forecast_findings(document, file, problem)


def _forecast_findings(document: ParsedFile, file: PlanFile, problem: Problem) -> Iterator[Finding]:
    """Names in what is predicted and in what is kept for a lost machine."""
    machines = problem.cluster.machine_index
    named: list[tuple[Place, str]] = [
        (("predicted", "machines", i, "machine"), load.machine)
        for i, load in enumerate(file.predicted.machines)
    ]
    for i, lost in enumerate(file.if_lost):
        yield from contingency_findings(document, ("if_lost", i), lost, problem)
    for i, deployed in enumerate(file.deployed):
        yield from deployed_findings(document, ("deployed", i), deployed, problem)
    for place, machine in named:
        if machine not in machines:
            yield document.finding(place, no_such("machine", machine, machines))


def _share_findings(
    document: ParsedFile, where: Place, shares: list[float | None]
) -> list[Finding]:
    some = [share for share in shares if share is not None]
    if not some:
        return []
    if len(some) < len(shares):
        return [document.finding(where, "some instances have a share and some have none")]
    if abs(sum(some) - 1.0) > _SHARES_SUM_WITHIN:
        return [document.finding(where, f"the shares add up to {sum(some):g}, not 1")]
    return []


def _placement(file: PlanFile, problem: Problem) -> Placement:
    first = {t.name: f for t, f in zip(problem.topologies, problem.first_component, strict=True)}
    index = {t.name: t.index for t in problem.topologies}
    rows = [
        (first[t.name] + index[t.name][component], i.machine, i.slot, i.share)
        for t in file.topologies
        for component, instances in t.components.items()
        for i in instances
    ]
    machines = problem.cluster.machine_index
    return Placement.of(
        [c for c, _, _, _ in rows],
        [machines[m] for _, m, _, _ in rows],
        [s for _, _, s, _ in rows],
        [np.nan if share is None else share for _, _, _, share in rows],
    )


def _prediction(fields: PredictedFields) -> Prediction:
    return Prediction(
        rate_per_s=tuple(fields.rate_per_s.items()),
        scale=fields.scale,
        throughput_per_s=fields.throughput_per_s,
        limited_by=fields.limited_by,
        bound_scale=fields.bound_scale,
        bound_kind=fields.bound_kind,
        proven_optimal=fields.proven_optimal,
        machines=tuple(load.value() for load in fields.machines),
        violations=tuple(fields.violations),
    )

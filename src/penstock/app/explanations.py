"""What limits a plan, and why its machines, components and instances are as they are."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from penstock.errors import InputError, UnknownNameError
from penstock.evaluate.occupancy import Occupancy, occupancy
from penstock.model.plan import Plan
from penstock.model.problem import Problem
from penstock.planning.alternatives import Explanation
from penstock.planning.alternatives import explain as explain_instance
from penstock.planning.standing import Standing, standing


@dataclass(frozen=True)
class MachineExplanation:
    """What is on a machine, and how full that makes it."""

    occupancy: Occupancy
    #: Index of the machine in the cluster.
    machine: int


@dataclass(frozen=True)
class ComponentExplanation:
    """Where the instances of a component are, and what they use there."""

    occupancy: Occupancy
    #: Index of the component in the problem.
    component: int


#: By what was asked: the whole plan, a machine, a component, or the place of one instance.
PlanExplanation: TypeAlias = Standing | MachineExplanation | ComponentExplanation | Explanation


def explain(plan: Plan, what: str | None = None) -> PlanExplanation:
    """What limits a plan; or a machine ``epyc-1``, a component ``t1/count``, an instance
    ``count[2]`` of it."""
    problem, placement = plan.problem, plan.placement
    if what is None:
        if not problem.has_rates:
            raise InputError("this plan has requests and no rates; name a machine or a component")
        proven = plan.predicted.bound_scale if not plan.predicted.violations else None
        return replace(standing(problem, placement), proven_scale=proven)
    component, number = _component_and_number(problem, what)
    if component is None:
        return MachineExplanation(occupancy(problem, placement), _machine(problem, what))
    if number is None:
        return ComponentExplanation(occupancy(problem, placement), component)
    return explain_instance(problem, placement, _instance(plan, component, number))


def _machine(problem: Problem, name: str) -> int:
    if name not in problem.cluster.machine_index:
        known = [*problem.labels, *problem.cluster.machine_index]
        raise UnknownNameError("component or machine", name, known)
    return problem.cluster.machine_index[name]


def _component_and_number(problem: Problem, name: str) -> tuple[int | None, int | None]:
    """A component's index and the number in brackets; ``None`` for what is not there."""
    match = re.fullmatch(r"(.+?)(?:\[(\d+)\])?", name)
    label, number = (match[1], match[2]) if match else (name, None)
    named = [c for c, known in enumerate(problem.labels) if known == label]
    named = named or [c for c, known in enumerate(problem.components) if known.name == label]
    if len(named) > 1:
        raise InputError(f'"{label}" is in several topologies; write topology/{label}')
    if not named:
        if number is not None:
            raise UnknownNameError("component", label, problem.labels)
        return None, None
    return named[0], None if number is None else int(number)


def _instance(plan: Plan, component: int, number: int) -> int:
    """The index of an instance by its number within its component, counted from 0."""
    instances = np.flatnonzero(plan.placement.component == component)
    if number >= len(instances):
        label = plan.problem.labels[component]
        raise InputError(f'"{label}" has {len(instances)} instances, numbered from 0')
    return int(instances[number])

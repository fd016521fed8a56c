"""``penstock explain``: what limits a plan, and why its machines and instances are as they are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from penstock.cli import options
from penstock.cli.output import show, write_json
from penstock.errors import EXIT_DONE, InputError, UnknownNameError
from penstock.evaluate.occupancy import occupancy
from penstock.model.plan import Plan
from penstock.model.problem import Problem
from penstock.planning.alternatives import explain
from penstock.planning.standing import standing
from penstock.report.explanation import explanation_dict, explanation_view
from penstock.report.occupancy import component_dict, component_view, machine_dict, machine_view
from penstock.report.standing import standing_dict, standing_view


def command(
    plan: Annotated[Path, typer.Argument(help="A plan file.")],
    what: Annotated[
        str | None,
        typer.Argument(
            help='A machine "epyc-1", a component "count" or "t1/count", an instance "count[2]"; '
            "none: the plan."
        ),
    ] = None,
    machines: Annotated[bool, typer.Option("--all-machines", help="List every machine.")] = False,
    as_json: options.Json = False,
) -> int:
    """Say what limits a plan, or explain a machine, a component or the place of an instance.

    penstock explain plan.json

    penstock explain plan.json "count[2]" --all-machines
    """
    loaded = options.load_plan(plan)
    if what is None:
        return _whole(loaded, machines=machines, as_json=as_json)
    component, number = _component_and_number(loaded.problem, what)
    if component is None:
        _explain_machine(loaded, what, as_json=as_json)
    elif number is None:
        _explain_component(loaded, component, machines=machines, as_json=as_json)
    else:
        found = explain(loaded.problem, loaded.placement, _instance(loaded, component, number))
        if as_json:
            write_json(explanation_dict(found, what))
        else:
            show(explanation_view(found, what, all_machines=machines))
    return EXIT_DONE


def _explain_machine(plan: Plan, name: str, *, as_json: bool) -> None:
    problem = plan.problem
    if name not in problem.cluster.machine_index:
        known = [*problem.labels, *problem.cluster.machine_index]
        raise UnknownNameError("component or machine", name, known)
    machine = problem.cluster.machine_index[name]
    found = occupancy(problem, plan.placement)
    if as_json:
        write_json(machine_dict(found, machine))
    else:
        show(machine_view(found, machine))


def _explain_component(plan: Plan, component: int, *, machines: bool, as_json: bool) -> None:
    found = occupancy(plan.problem, plan.placement)
    if as_json:
        write_json(component_dict(found, component))
    else:
        show(component_view(found, component, all_machines=machines))


def _whole(plan: Plan, *, machines: bool, as_json: bool) -> int:
    """What limits the plan as a whole."""
    if not plan.problem.has_rates:
        raise InputError("this plan has requests and no rates; name a machine or a component")
    found = standing(plan.problem, plan.placement)
    if as_json:
        write_json(standing_dict(found))
    else:
        show(standing_view(found, all_machines=machines))
    return EXIT_DONE


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

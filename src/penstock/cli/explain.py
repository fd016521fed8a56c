"""``penstock explain``: what limits a plan, and why an instance is where it is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from penstock.cli import options
from penstock.cli.output import show, write_json
from penstock.errors import EXIT_DONE, InputError, UnknownNameError
from penstock.evaluate.alternatives import explain
from penstock.evaluate.standing import standing
from penstock.model.plan import Plan
from penstock.report.explanation import explanation_dict, explanation_view
from penstock.report.standing import standing_dict, standing_view


def command(
    plan: Annotated[Path, typer.Argument(help="A plan file.")],
    instance: Annotated[
        str | None,
        typer.Argument(help='An instance: "count", "count[2]", "t1/count[2]"; none: the plan.'),
    ] = None,
    machines: Annotated[bool, typer.Option("--machines", help="List every machine.")] = False,
    as_json: options.Json = False,
) -> int:
    """Say what limits a plan, or why an instance is where it is and how other machines compare.

    penstock explain plan.json

    penstock explain plan.json "count[2]"
    """
    loaded = options.load_plan(plan)
    if instance is None:
        return _whole(loaded, machines=machines, as_json=as_json)
    found = explain(loaded.problem, loaded.placement, _find(loaded, instance))
    if as_json:
        write_json(explanation_dict(found, instance))
    else:
        show(explanation_view(found, instance, all_machines=machines))
    return EXIT_DONE


def _whole(plan: Plan, *, machines: bool, as_json: bool) -> int:
    """What limits the plan as a whole."""
    if not plan.problem.has_rates:
        raise InputError("this plan has requests and no rates; name an instance to explain")
    found = standing(plan.problem, plan.placement)
    if as_json:
        write_json(standing_dict(found))
    else:
        show(standing_view(found, all_machines=machines))
    return EXIT_DONE


def _find(plan: Plan, name: str) -> int:
    """The index of an instance by its component's name and its number, counted from 0."""
    match = re.fullmatch(r"(.+?)(?:\[(\d+)\])?", name)
    label, number = (match.group(1), int(match.group(2) or 0)) if match else (name, 0)
    problem = plan.problem
    named = [c for c, known in enumerate(problem.labels) if known == label]
    named = named or [c for c, known in enumerate(problem.components) if known.name == label]
    if not named:
        raise UnknownNameError("component", label, problem.labels)
    if len(named) > 1:
        raise InputError(f'"{label}" is in several topologies; write topology/{label}')
    instances = np.flatnonzero(plan.placement.component == named[0])
    if number >= len(instances):
        raise InputError(f'"{label}" has {len(instances)} instances, numbered from 0')
    return int(instances[number])

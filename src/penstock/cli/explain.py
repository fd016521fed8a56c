"""``penstock explain``: what limits a plan, and why its machines and instances are as they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock import app
from penstock.cli import options
from penstock.cli.output import show, write_json
from penstock.errors import EXIT_DONE
from penstock.planning.standing import Standing
from penstock.report.pages.instance import instance_dict, instance_page
from penstock.report.pages.occupancy import (
    component_dict,
    component_page,
    machine_dict,
    machine_page,
)
from penstock.report.pages.plan_limits import limits_dict, limits_page

if TYPE_CHECKING:
    from penstock.app.explanations import PlanExplanation
    from penstock.report.page import Document


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
    explanation = app.explain(options.load_plan(plan), what)
    if as_json:
        write_json(_to_dict(explanation, what or ""))
    else:
        show(_view(explanation, what or "", machines=machines))
    return EXIT_DONE


def _to_dict(explanation: PlanExplanation, what: str) -> dict[str, object]:
    match explanation:
        case Standing():
            return limits_dict(explanation)
        case app.MachineExplanation():
            return machine_dict(explanation.occupancy, explanation.machine)
        case app.ComponentExplanation():
            return component_dict(explanation.occupancy, explanation.component)
    return instance_dict(explanation, what)


def _view(explanation: PlanExplanation, what: str, *, machines: bool) -> Document:
    match explanation:
        case Standing():
            return limits_page(explanation, all_machines=machines)
        case app.MachineExplanation():
            return machine_page(explanation.occupancy, explanation.machine)
        case app.ComponentExplanation():
            return component_page(
                explanation.occupancy, explanation.component, all_machines=machines
            )
    return instance_page(explanation, what, all_machines=machines)

"""``penstock show``: look at a plan, or at what it does under more load than it carries."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli import options
from penstock.cli.output import is_terminal, say, show, write_file, write_json, write_text
from penstock.errors import EXIT_DONE, InputError
from penstock.evaluate.assess import assess
from penstock.evaluate.overload import overload
from penstock.files.store import dumps
from penstock.model.plan import Plan
from penstock.planning.purchase import purchase
from penstock.report.offered import (
    left_over_dict,
    left_over_view,
    overload_dict,
    overload_view,
    purchase_dict,
    purchase_view,
)
from penstock.report.picture import placement_svg
from penstock.report.text import plan_view


def command(
    plan: Annotated[Path, typer.Argument(help="A plan file.")],
    offered: Annotated[
        float | None,
        typer.Option(
            "--offered", help="Tuples/s offered: who saturates, what to buy, what is left."
        ),
    ] = None,
    machines: Annotated[bool, typer.Option("--all-machines", help="List every machine.")] = False,
    svg: Annotated[Path | None, typer.Option("--svg", help="Draw who runs where.")] = None,
    as_json: options.Json = False,
) -> int:
    """Show a plan: instances, where, load per machine, what limits it.

    penstock show plan.json --svg plan.svg

    penstock show plan.json --offered 50000
    """
    loaded = options.load_plan(plan)
    if svg:
        write_file(svg, placement_svg(loaded))
        say(f"wrote {svg}")
    if offered is None:
        if as_json:
            write_text(dumps(loaded))
        else:
            show(plan_view(loaded, bars=is_terminal(), all_machines=machines))
        return EXIT_DONE
    if not 0 < offered < math.inf:
        raise InputError(f"--offered must be a positive rate, not {offered:g}")
    return _under_load(loaded, offered, as_json=as_json)


def _under_load(plan: Plan, offered: float, *, as_json: bool) -> int:
    """Who saturates and what to buy, or what is left over."""
    problem, placement = plan.problem, plan.placement
    scale = offered / float(problem.demand.sum())
    found = overload(problem, placement, scale)
    if scale <= found.sustainable_scale:
        judged = assess(problem, placement, scale)
        if as_json:
            answer = overload_dict(problem, found)
            write_json(answer | {"left_over": left_over_dict(judged)})
        else:
            show(overload_view(problem, found), left_over_view(judged))
        return EXIT_DONE
    needed = purchase(problem, placement, scale)
    if as_json:
        write_json(overload_dict(problem, found) | purchase_dict(needed))
    else:
        show(overload_view(problem, found), "", purchase_view(problem, needed))
    return EXIT_DONE

"""``penstock show``: look at a plan, or at what it does under more load than it carries."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli import options
from penstock.cli.output import is_terminal, say, show, write_file, write_json, write_text
from penstock.errors import EXIT_DONE, InputError
from penstock.evaluate.overload import overload
from penstock.files.store import dumps
from penstock.report.picture import placement_svg
from penstock.report.text import overload_view, plan_view


def command(
    plan: Annotated[Path, typer.Argument(help="A plan file.")],
    offered: Annotated[
        float | None,
        typer.Option("--offered", help="Tuples/s offered: who saturates, what the rest does."),
    ] = None,
    machines: Annotated[bool, typer.Option("--machines", help="List every machine.")] = False,
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
    problem = loaded.problem
    found = overload(problem, loaded.placement, offered / float(problem.demand.sum()))
    if as_json:
        write_json(found.to_dict(problem))
    else:
        show(overload_view(problem, found))
    return EXIT_DONE

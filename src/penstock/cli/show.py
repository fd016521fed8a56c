"""``penstock show``: look at a plan, or at what it does under more load than it carries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock import app
from penstock.cli import options
from penstock.cli.output import say, show, write_file, write_json, write_text
from penstock.errors import EXIT_DONE
from penstock.report.charts import require_charts
from penstock.report.pages.offered_load import (
    left_over_dict,
    left_over_page,
    overload_dict,
    purchase_dict,
    purchase_page,
)
from penstock.report.pages.placement import placement_file
from penstock.report.pages.plan import plan_page

if TYPE_CHECKING:
    from penstock.app.loads import OfferedLoad
    from penstock.model.problem import Problem


def command(
    plan: Annotated[Path, typer.Argument(help="A plan file.")],
    offered: Annotated[
        float | None,
        typer.Option(
            "--offered",
            help="Offered rate in tuples/s: show what saturates, what to buy, what is left over.",
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
        require_charts()
        write_file(svg, placement_file(loaded))
        say(f"wrote {svg}")
    if offered is None:
        if as_json:
            write_text(app.dumps(loaded))
        else:
            show(plan_page(loaded, all_machines=machines))
        return EXIT_DONE
    _show_under_load(loaded.problem, app.offered_load(loaded, offered), as_json=as_json)
    return EXIT_DONE


def _show_under_load(problem: Problem, load: OfferedLoad, *, as_json: bool) -> None:
    """Who saturates and what to buy, or what is left over."""
    if load.left_over is not None:
        left_over = load.left_over
        if as_json:
            answer = overload_dict(problem, load.overload)
            write_json(answer | {"left_over": left_over_dict(left_over)})
        else:
            show(left_over_page(problem, load.overload, left_over))
    elif load.purchase is not None:
        needed = load.purchase
        if as_json:
            write_json(overload_dict(problem, load.overload) | purchase_dict(needed))
        else:
            show(purchase_page(problem, load.overload, needed))

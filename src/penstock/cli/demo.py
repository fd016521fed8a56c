"""``penstock demo``: the main job on embedded defaults, from problem to plan to picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock import api
from penstock.change.diff import diff
from penstock.cli.output import is_terminal, make_folder, say, show, write_file
from penstock.errors import EXIT_DONE
from penstock.evaluate.overload import overload
from penstock.files.store import save
from penstock.report.picture import placement_svg
from penstock.report.text import (
    bound_view,
    changes_view,
    comparison_remarks,
    comparison_view,
    overload_view,
    plan_view,
)

_TOPOLOGY = "diamond"
_CLUSTER = "nasiri-medium"
_SCHEDULERS = ("default", "hetero")


def command(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")] = Path(
        "demo-output"
    ),
) -> int:
    """Plan the Diamond on the papers' medium cluster with two schedulers, and compare them.

    penstock demo

    penstock demo --out /tmp/penstock-demo
    """
    make_folder(out)
    problem = api.problem(_TOPOLOGY, _CLUSTER)
    machines = len(problem.cluster.machines)
    _step(
        f"1. Plan {_TOPOLOGY} on {_CLUSTER} ({machines} machines) with {' and '.join(_SCHEDULERS)}"
    )
    found = api.compare(problem, _SCHEDULERS)
    rows = [row.facts for row in found.rows]
    show(comparison_view(rows, bars=is_terminal()))
    show(*comparison_remarks(rows))

    assert found.bound is not None  # the example has rates
    _step("2. How much better can any plan be?")
    show(bound_view(problem, found.bound))

    plans = {row.scheduler: row.plan for row in found.rows if row.plan is not None}
    best = max(plans.values(), key=lambda plan: plan.predicted.scale or 0.0)
    _step(f"3. The better plan, by {best.scheduler}")
    show(plan_view(best, bars=is_terminal()))

    _step("4. What would change against Storm's own placement")
    show(changes_view(diff(plans["default"], best)))

    _step("5. And if one and a half times as much arrives?")
    offered = 1.5 * (best.predicted.scale or 0.0)
    show(overload_view(best.problem, overload(best.problem, best.placement, offered)))

    save(best, out / "plan.json")
    write_file(out / "plan.svg", placement_svg(best))
    _step("Results")
    show(f"{out / 'plan.json'}  the plan; look at it with: penstock show {out / 'plan.json'}")
    show(f"{out / 'plan.svg'}   who runs where; open it in a browser")
    say("done")
    return EXIT_DONE


def _step(title: str) -> None:
    show("", f"── {title} " + "─" * max(4, 90 - len(title)))

"""``penstock advise``: what to buy, what to drop, what to speed up."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock import app
from penstock.cli import options
from penstock.cli.output import say, show, write_json
from penstock.errors import EXIT_DONE, EXIT_INTERRUPTED
from penstock.report.pages.advice import advice_dict, advice_page


def command(
    plan: Annotated[Path, typer.Argument(help="A plan file.")],
    seed: options.Seed = 0,
    seconds: options.Seconds = None,
    as_json: options.Json = False,
) -> int:
    """Say what one more machine of each type would add, what can go, which speed-up pays most.

    penstock advise plan.json

    penstock advise plan.json --json > advice.json
    """
    loaded = options.load_plan(plan)
    with options.stoppable_budget(seconds) as budget:
        advice = app.advise(
            loaded, seed=seed, budget=budget, progress=lambda text: say(f"planning: {text}")
        )
    if budget.stopped:
        say("stopped early: the gains and losses below are of unfinished plans")
    if as_json:
        write_json(advice_dict(advice))
    else:
        show(advice_page(advice))
    return EXIT_INTERRUPTED if budget.stopped else EXIT_DONE

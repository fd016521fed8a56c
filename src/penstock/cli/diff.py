"""``penstock diff``: what changes from one plan to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.change.diff import diff
from penstock.cli import options
from penstock.cli.output import show, write_json
from penstock.errors import EXIT_CHANGES, EXIT_DONE
from penstock.report.text import changes_view


def command(
    before: Annotated[Path, typer.Argument(help="The plan in force.")],
    after: Annotated[Path, typer.Argument(help="The plan to come.")],
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit with 3 if there are changes.")
    ] = False,
    as_json: options.Json = False,
) -> int:
    """Show which instances move, come and go between two plans, and what that does to the rate.

    penstock diff before.json after.json

    penstock diff before.json after.json --json --detailed-exitcode
    """
    changes = diff(options.load_plan(before), options.load_plan(after))
    if as_json:
        write_json({"format": "penstock/changes", "version": 1, **changes.to_dict()})
    else:
        show(changes_view(changes))
    return EXIT_CHANGES if detailed_exitcode and changes.any else EXIT_DONE

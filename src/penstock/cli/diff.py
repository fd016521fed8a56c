"""``penstock diff``: what changes from one plan to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock import app
from penstock.cli import engine_options, options
from penstock.cli.output import say, show, write_json
from penstock.errors import EXIT_CHANGES, EXIT_DONE, UsageError
from penstock.files.answer_formats import answer_head
from penstock.report.pages.changes import changes_page


def command(
    before: Annotated[Path, typer.Argument(help="The plan in force; with --from, the new plan.")],
    after: Annotated[Path | None, typer.Argument(help="The new plan.")] = None,
    taken_from: engine_options.From = None,
    nimbus: engine_options.Nimbus = None,
    ui: engine_options.Ui = None,
    storm_yaml: engine_options.StormYaml = None,
    types: engine_options.Types = None,
    more: engine_options.EngineOptions = None,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit with 3 if there are changes.")
    ] = False,
    as_json: options.Json = False,
) -> int:
    """Show which instances move, come and go between two plans, and what that does to the rate.

    penstock diff before.json after.json

    penstock diff plan.json --from storm --nimbus host --detailed-exitcode
    """
    if taken_from is not None:
        if after is not None:
            raise UsageError("with --from, name one plan: it is compared with what runs")
        target = engine_options.engine(
            taken_from, more, nimbus=nimbus, ui=ui, storm_yaml=storm_yaml, types=types
        )
        changes = app.diff_running(target, options.load_plan(before), say=say)
    elif after is None:
        raise UsageError("name two plans, or one plan and --from storm")
    else:
        changes = app.diff(options.load_plan(before), options.load_plan(after))
    if as_json:
        write_json({**answer_head("changes"), **changes.to_dict()})
    else:
        show(changes_page(changes))
    return EXIT_CHANGES if detailed_exitcode and changes.any else EXIT_DONE

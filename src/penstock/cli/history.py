"""``penstock history``: the plans that were applied, and how good their predictions were."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from penstock import app as api
from penstock.app.histories import PlanHistory
from penstock.app.telemetry import SparkOptions
from penstock.cli import engine_options, history_options, options
from penstock.cli.output import say, show, write_json, write_text
from penstock.engines.registry import DEFAULT_ENGINE
from penstock.engines.spark.session import DRIVER_MEMORY, LOCAL
from penstock.errors import EXIT_DONE, EXIT_FAILURE
from penstock.files.answer_formats import answer_head
from penstock.report.page.markdown import to_markdown
from penstock.report.pages.history import entry_dict, entry_page, history_page

app = typer.Typer()


@app.callback(
    invoke_without_command=True,
    short_help="Show applied plans, and how good their predictions were.",
)
def list_entries(
    context: typer.Context,
    topology: Annotated[
        str | None, typer.Option("--topology", help="Show only plans of this topology.")
    ] = None,
    last: Annotated[
        int | None, typer.Option("--last", help="Show only the newest n.", min=1)
    ] = None,
    history: history_options.History = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
    as_json: options.Json = False,
) -> int:
    """Show the plans that were applied: what was predicted, what was measured, the verdict.

    penstock history --topology orders --last 10

    penstock history --markdown > history.md
    """
    if context.invoked_subcommand is not None:
        return EXIT_DONE
    plans = api.history(history)
    if topology is not None:
        plans = plans.of_topology(topology)
    if last:
        plans = plans.newest(last)
    if markdown and not as_json:
        write_text(to_markdown(history_page(list(plans.entries))))
        return _exit_code(plans)
    return _present(plans, as_json=as_json)


@app.command("show", short_help="Show one applied plan in full.")
def show_entry(
    id_: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help='The id of an entry or of a plan, the first characters of one, or "last".',
        ),
    ],
    history: history_options.History = None,
    as_json: options.Json = False,
) -> int:
    """Show one applied plan: what moved, rates and CPU, predicted and measured.

    penstock history show last

    penstock history show 20261115T2217 --json
    """
    plans = api.history(history)
    entry = plans.entry(id_)
    if as_json:
        write_json(_to_dict(replace(plans, entries=(entry,))))
    else:
        show(entry_page(entry))
    return _exit_code(plans)


@app.command("measure", short_help="Compare applied plans with telemetry, on Spark.")
def measure(
    telemetry: engine_options.Telemetry = None,
    warm_up: options.WarmUp = 60.0,
    history: history_options.History = None,
    anew: Annotated[
        bool, typer.Option("--rebuild", help="Move damaged tables away and build new ones.")
    ] = False,
    master: options.Master = LOCAL,
    driver_memory: options.DriverMemory = DRIVER_MEMORY,
    settings: options.SparkSettings = None,
    as_json: options.Json = False,
) -> int:
    """Take receipts into the history's tables, and measure the plans by the telemetry since.

    penstock history measure --telemetry '/mnt/*/telemetry'

    penstock history measure --telemetry telemetry --history history --json
    """
    target = engine_options.engine(DEFAULT_ENGINE)
    selection = engine_options.telemetry(target, telemetry)
    spark = SparkOptions(master, driver_memory, options.spark_config(settings or []))
    plans = api.measure_history(
        selection, history, warm_up_s=warm_up, rebuild=anew, spark=spark, say=say
    )
    return _present(plans, as_json=as_json)


def _present(plans: PlanHistory, *, as_json: bool) -> int:
    if as_json:
        write_json(_to_dict(plans))
    else:
        show(history_page(list(plans.entries)))
    return _exit_code(plans)


def _to_dict(plans: PlanHistory) -> dict[str, object]:
    return {
        **answer_head("history"),
        "plans": [entry_dict(entry) for entry in plans.entries],
        "unreadable": [finding.to_dict() for finding in plans.findings],
    }


def _exit_code(plans: PlanHistory) -> int:
    """What could not be read is told and leaves its mark on the exit code; the rest was shown."""
    for finding in plans.findings:
        say(f"error: {finding}")
    return EXIT_FAILURE if plans.findings else EXIT_DONE

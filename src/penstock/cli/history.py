"""``penstock history``: the plans that were applied, and how good their predictions were."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from penstock import app as api
from penstock.cli import engine_options, history_options, options
from penstock.cli.output import say, show, write_file, write_json, write_text
from penstock.engines.registry import DEFAULT_ENGINE
from penstock.engines.spark.session import DRIVER_MEMORY, LOCAL
from penstock.errors import EXIT_DONE, EXIT_FAILURE
from penstock.files.answer_formats import answer_head
from penstock.report.charts import require_charts
from penstock.report.page import Document
from penstock.report.page.markdown import to_markdown
from penstock.report.page.views import VIEWS, view_of
from penstock.report.pages.history import entry_dict, entry_page, history_page
from penstock.report.pages.journal import decisions, journal_sections

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
    journal: Annotated[
        Path | None,
        typer.Option(
            "--journal",
            help="Journal of the loop or of a rehearsal (default: the history's own).",
        ),
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--page", help="Write a page with the loop over time: page.html.")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
    as_json: options.Json = False,
) -> int:
    """Show the plans that were applied: what was predicted, what was measured, the verdict.

    Beside them, what the loop decided, refused and detected, where it kept a journal.

    penstock history --topology orders --last 10

    penstock history --journal journal.sqlite --page loop.html
    """
    if context.invoked_subcommand is not None:
        return EXIT_DONE
    if page is not None:
        require_charts()
        view_of(page)
    plans = api.history(history)
    if topology is not None:
        plans = plans.of_topology(topology)
    if last:
        plans = plans.newest(last)
    rows = api.loop_journal(journal, history)
    document = _with_journal(plans, rows, last)
    if page is not None:
        write_file(page, VIEWS[view_of(page)](_with_journal(plans, rows, last, picture=True)))
        say(f"wrote {page}")
    if as_json:
        told = None if rows is None else decisions(rows, last)
        write_json(_to_dict(plans) | {"journal": told})
    elif markdown:
        write_text(to_markdown(document))
    else:
        show(document)
    return _exit_code(plans)


def _with_journal(
    plans: api.PlanHistory, rows: api.JournalRows | None, last: int | None, *, picture: bool = False
) -> Document:
    """Receipts, and the journal where there is one; a journal alone where nothing was applied."""
    document = history_page(list(plans.entries))
    if rows is None:
        return document
    sections = journal_sections(rows, last, picture=picture)
    return replace(document, sections=(*document.sections, *sections))


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
    spark = api.SparkOptions(master, driver_memory, options.spark_config(settings or []))
    plans = api.measure_history(
        selection, history, warm_up_s=warm_up, rebuild=anew, spark=spark, say=say
    )
    return _present(plans, as_json=as_json)


def _present(plans: api.PlanHistory, *, as_json: bool) -> int:
    if as_json:
        write_json(_to_dict(plans))
    else:
        show(history_page(list(plans.entries)))
    return _exit_code(plans)


def _to_dict(plans: api.PlanHistory) -> dict[str, object]:
    return {
        **answer_head("history"),
        "plans": [entry_dict(entry) for entry in plans.entries],
        "unreadable": [finding.to_dict() for finding in plans.findings],
    }


def _exit_code(plans: api.PlanHistory) -> int:
    """What could not be read is told and leaves its mark on the exit code; the rest was shown."""
    for finding in plans.findings:
        say(f"error: {finding}")
    return EXIT_FAILURE if plans.findings else EXIT_DONE

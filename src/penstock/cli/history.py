"""``penstock history``: the plans that were applied, and how good their predictions were."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

from penstock.change.history import Entry
from penstock.cli import history_options, live, options
from penstock.cli.output import say, show, write_json, write_text
from penstock.engines.spark.session import DRIVER_MEMORY, LOCAL, spark_session
from penstock.errors import EXIT_DONE, EXIT_FAILURE, Finding, InputError, UnknownNameError
from penstock.files.answer_formats import answer_head
from penstock.files.receipt_file import read_receipts
from penstock.report.history import entry_to_dict, entry_view, history_markdown, history_view
from penstock.telemetry.history.reader import TABLES, read_history

app = typer.Typer()


@app.callback(
    invoke_without_command=True,
    short_help="Show applied plans, and how good their predictions were.",
)
def list_entries(
    context: typer.Context,
    topology: Annotated[
        str | None, typer.Option("--topology", help="Only plans of this topology.")
    ] = None,
    last: Annotated[int | None, typer.Option("--last", help="Only the newest N.", min=1)] = None,
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
    entries, findings = read_history(history_options.folder(history))
    if topology is not None:
        known = sorted({name for e in entries for name in e.applied.topologies})
        if topology not in known:
            raise UnknownNameError("topology in the history", topology, known)
        entries = [e for e in entries if topology in e.applied.topologies]
    entries = entries[-last:] if last else entries
    if as_json:
        write_json(_to_dict(entries, findings))
    elif markdown:
        write_text(history_markdown(entries))
    else:
        show(history_view(entries))
    return _told(findings)


@app.command("show", short_help="Show everything about one applied plan.")
def show_entry(
    id_: Annotated[
        str, typer.Argument(metavar="ID", help="Its id or the beginning; a plan's id; last.")
    ],
    history: history_options.History = None,
    as_json: options.Json = False,
) -> int:
    """Show one applied plan: what moved, rates and CPU, predicted and measured.

    penstock history show last

    penstock history show 20261115T2217 --json
    """
    entries, findings = read_history(history_options.folder(history))
    entry = _found(entries, id_)
    if as_json:
        write_json(_to_dict([entry], findings))
    else:
        show(entry_view(entry))
    return _told(findings)


@app.command("measure", short_help="Hold applied plans against telemetry, on Spark.")
def measure(
    telemetry: live.Telemetry = None,
    warm_up: options.WarmUp = 60.0,
    history: history_options.History = None,
    anew: Annotated[
        bool, typer.Option("--rebuild", help="Put broken tables aside and make new ones.")
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
    folder = history_options.folder(history)
    fresh = live.Fresh.asked(telemetry)
    config = options.spark_config(settings or [])
    receipts, findings = read_receipts(folder)
    if not receipts:
        message = "has no receipts; penstock apply leaves one for each plan"
        raise InputError(*findings, Finding(message, str(folder)))
    types = {
        name: kind
        for applied, _ in receipts
        for name, kind in live.types_of_hosts(applied.plan.problem.cluster).items()
    }
    say(f"starting Spark on {master}")
    with (
        live.measuring(folder),
        spark_session(master, driver_memory=driver_memory, config=config) as spark,
        tempfile.TemporaryDirectory(prefix="penstock-tables-") as scratch,
    ):
        from penstock.telemetry.clean import Settings
        from penstock.telemetry.pipeline import Pipeline
        from penstock.telemetry.store import Store

        pipeline = Pipeline(
            spark,
            Store(spark, scratch),
            Settings(warm_up_s=warm_up),
            machine_types=types,
            progress=say,
        )
        live.take_in(pipeline, fresh.folders)
        live.require_lines(pipeline, fresh)
        if anew:
            _put_aside(folder)
        live.look_back(pipeline, folder)
    entries, findings = read_history(folder)
    if as_json:
        write_json(_to_dict(entries, findings))
    else:
        show(history_view(entries))
    return _told(findings)


def _put_aside(folder: Path) -> None:
    if (folder / TABLES).exists():
        aside = folder / f"{TABLES}-{int(time.time())}"
        (folder / TABLES).rename(aside)
        say(f"the tables so far are in {aside}")


def _found(entries: list[Entry], wanted: str) -> Entry:
    if wanted == "last" and entries:
        return entries[-1]
    ids = [e.applied.id for e in entries]
    matching = [
        e for e in entries if e.applied.id.startswith(wanted) or e.applied.plan_id == wanted
    ]
    if not matching:
        raise UnknownNameError("applied plan", wanted, ids[::-1])
    if len(matching) > 1:
        names = ", ".join(e.applied.id for e in matching)
        raise InputError(f'"{wanted}" is the beginning of several: {names}')
    return matching[0]


def _to_dict(entries: list[Entry], findings: list[Finding]) -> dict[str, object]:
    return {
        **answer_head("history"),
        "plans": [entry_to_dict(entry) for entry in entries],
        "unreadable": [finding.to_dict() for finding in findings],
    }


def _told(findings: list[Finding]) -> int:
    """What could not be read is told and leaves its mark on the exit code; the rest was shown."""
    for finding in findings:
        say(f"error: {finding}")
    return EXIT_FAILURE if findings else EXIT_DONE

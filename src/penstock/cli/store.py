"""``penstock store``: what a store of telemetry holds, its tables for others, and its upkeep."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from penstock import app as api
from penstock.app.telemetry import seconds_of
from penstock.cli import options
from penstock.cli.output import say, show, write_json, write_text
from penstock.cli.work_progress import WorkProgress
from penstock.errors import EXIT_DONE, UsageError
from penstock.files.answer_formats import answer_head
from penstock.report.pages.store import compaction_page, expiry_page, store_page

app = typer.Typer(help="List, read and maintain the tables of telemetry.", no_args_is_help=True)

Store = Annotated[str, typer.Argument(help="Folder of the tables (--store of penstock profile).")]
TableName = Annotated[str, typer.Argument(help="A table: rates, traffic, samples, …")]
DeleteNow = Annotated[
    bool,
    typer.Option(
        "--delete-now",
        help="Delete the old files at once, instead of with the second commit after this one.",
    ),
]


@app.command("list", short_help="Show tables, rows, files, hours, records set aside.")
def list_tables(store: Store, as_json: options.Json = False) -> int:
    """Show what a store holds: its tables, the records taken in, those set aside and why.

    penstock store list tables

    penstock store list tables --json
    """
    summary = api.store_summary(store)
    if as_json:
        write_json({**answer_head("store"), **summary.to_dict()})
    else:
        show(store_page(summary))
    return EXIT_DONE


@app.command("files", short_help="Print the Parquet files that are a table.")
def list_files(store: Store, table: TableName) -> int:
    """Print the files that are a table in the newest commit, one to a line.

    penstock store files tables traffic
    """
    write_text("".join(f"{path}\n" for path in api.table_files(store, table)))
    return EXIT_DONE


@app.command("export", short_help="Write a table to one Parquet, CSV or JSON-lines file.")
def export(
    store: Store,
    table: TableName,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="Write to this file: .parquet, .csv, .jsonl or .ndjson."),
    ],
) -> int:
    """Write a table of the newest commit to one file, in constant memory.

    penstock store export tables traffic -o traffic.csv

    penstock store export tables samples -o samples.parquet
    """
    watch = WorkProgress("written")
    rows = api.export_table(store, table, out, watch.see)
    say(f"wrote {rows:,} rows to {out}")
    return EXIT_DONE


@app.command("expire", short_help="Remove what is older than some days.")
def expire(
    store: Store,
    older_than: Annotated[
        str, typer.Option("--older-than", help="Remove hours that are older than 30d, 12h, ….")
    ],
    raw_older_than: Annotated[
        str | None,
        typer.Option(
            "--raw-older-than",
            help="Remove raw records sooner than the tables made of them. Default: together.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would go, and change nothing.")
    ] = False,
    delete_now: DeleteNow = False,
    as_json: options.Json = False,
) -> int:
    """Remove old hours from a store; later records for them are set aside.

    penstock store expire tables --older-than 30d --dry-run

    penstock store expire tables --older-than 30d --raw-older-than 7d
    """
    older_s = seconds_of(older_than, "--older-than") or 0.0
    raw_s = seconds_of(raw_older_than, "--raw-older-than")
    if dry_run and delete_now:
        raise UsageError("--dry-run deletes nothing: leave out --delete-now")
    result = api.expire_store(store, older_s, raw_s, dry_run=dry_run, delete_now=delete_now)
    if as_json:
        write_json({**answer_head("store-expiry"), "dry_run": dry_run, **asdict(result)})
    else:
        show(expiry_page(result, dry_run=dry_run))
    if result.commit is not None:
        _say_committed(result.commit, delete_now=delete_now)
    return EXIT_DONE


@app.command("compact", short_help="Merge small files.")
def compact(store: Store, delete_now: DeleteNow = False, as_json: options.Json = False) -> int:
    """Merge the small files of each hour into one; tables keep their rows, readers are undisturbed.

    penstock store compact tables

    penstock store compact tables --delete-now
    """
    watch = WorkProgress("merged")
    result = api.compact_store(store, watch.see, delete_now=delete_now)
    if as_json:
        write_json({**answer_head("store-compaction"), **asdict(result)})
    else:
        show(compaction_page(result))
    if result.commit is not None:
        _say_committed(result.commit, delete_now=delete_now)
    return EXIT_DONE


@app.command("migrate", short_help="Bring a store of an older version to today's.")
def migrate(store: Store) -> int:
    """Bring a store that an older Penstock made to the version of this one.

    penstock store migrate tables
    """
    result = api.migrate_store(store)
    if result.commit is None:
        say(f"{store} is of version {result.after}, which is today's")
    else:
        say(f"{store} was version {result.before} and is version {result.after} now")
    return EXIT_DONE


def _say_committed(number: int, *, delete_now: bool) -> None:
    when = "are deleted" if delete_now else "go with the second commit from now (--delete-now)"
    say(f"commit {number}; the files it replaces {when}")

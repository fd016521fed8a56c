"""``penstock examples``: the topologies, clusters and profiles that ship with Penstock."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from textwrap import shorten
from typing import Annotated

import typer
from rich.table import Table

from penstock.cli import options
from penstock.cli.output import make_folder, say, show, write_file, write_json
from penstock.errors import EXIT_DONE
from penstock.files import examples
from penstock.files.answer_formats import answer_head


def command(
    copy_to: Annotated[
        Path | None, typer.Option("--copy-to", help="Copy all of them into this folder.")
    ] = None,
    as_json: options.Json = False,
) -> int:
    """List the shipped examples, or copy them as a start for your own files.

    penstock examples

    penstock examples --copy-to my-plans
    """
    descriptions = examples.descriptions()
    if copy_to:
        for entry in descriptions:
            folder = copy_to / f"{entry.kind}s".replace("topologys", "topologies")
            make_folder(folder)
            write_file(folder / f"{entry.name}.yaml", examples.text(entry.kind, entry.name))
        say(f"copied {len(descriptions)} files to {copy_to}")
        return EXIT_DONE
    if as_json:
        rows = [asdict(entry) for entry in descriptions]
        write_json({**answer_head("examples"), "examples": rows})
        return EXIT_DONE
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in ("kind", "name", "what it is"):
        table.add_column(column)
    for entry in descriptions:
        # One line each; --json and the files have the whole description.
        table.add_row(entry.kind, entry.name, shorten(entry.description, 90, placeholder=" …"))
    show(table)
    return EXIT_DONE

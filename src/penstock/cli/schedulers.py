"""``penstock schedulers``: what there is to plan with."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from penstock.cli import options
from penstock.cli.output import show, write_json
from penstock.errors import EXIT_DONE
from penstock.files.answer_formats import answer_head
from penstock.registry import Registered, parameters_of
from penstock.schedulers import SCHEDULERS, Scheduler


def command(
    details: Annotated[
        bool,
        typer.Option("--details", help="Show what each scheduler considers, and its parameters."),
    ] = False,
    as_json: options.Json = False,
) -> int:
    """List the schedulers, built in and installed.

    penstock schedulers --details

    penstock schedulers --json
    """
    schedulers = list(SCHEDULERS.registered().values())
    if as_json:
        rows = [_row(entry) for entry in schedulers]
        write_json({**answer_head("schedulers"), "schedulers": rows})
        return EXIT_DONE
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in ("name", "what it does", "after", "from"):
        table.add_column(column)
    for entry in schedulers:
        if entry.kind is None:
            table.add_row(entry.name, entry.problem, "", entry.origin)
        else:
            kind = entry.kind
            table.add_row(entry.name, kind.summary, kind.paper or "our own", entry.origin)
    show(table)
    if details:
        show("", _looks_table(schedulers), "", _parameter_table(schedulers))
    return EXIT_DONE


def _row(entry: Registered[Scheduler]) -> dict[str, object]:
    if entry.kind is None:
        return {"name": entry.name, "origin": entry.origin, "problem": entry.problem}
    return {
        "name": entry.name,
        "origin": entry.origin,
        "summary": entry.kind.summary,
        "paper": entry.kind.paper,
        "looks_at": asdict(entry.kind.looks),
        "parameters": [asdict(parameter) for parameter in parameters_of(entry.kind)],
    }


def _looks_table(schedulers: list[Registered[Scheduler]]) -> Table:
    kinds = [entry.kind for entry in schedulers if entry.kind is not None]
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("looks at")
    for kind in kinds:
        table.add_column(kind.name)
    # What they all do is said, too: the question is asked of each.
    for aspect in ("placement", "several topologies"):
        table.add_row(aspect, *["yes"] * len(kinds))
    for aspect in asdict(kinds[0].looks):
        marks = ["yes" if getattr(kind.looks, aspect) else "no" for kind in kinds]
        table.add_row(aspect.replace("_", " "), *marks)
    return table


def _parameter_table(schedulers: list[Registered[Scheduler]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in ("scheduler", "parameter", "default", "meaning"):
        table.add_column(column)
    for entry in schedulers:
        for parameter in parameters_of(entry.kind) if entry.kind else ():
            table.add_row(entry.name, parameter.name, str(parameter.default), parameter.help)
    return table

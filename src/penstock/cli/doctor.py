"""`penstock doctor`: what is on this machine, what it is for, how to get what is missing."""

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli.doctor_checks import Check, examine
from penstock.files.answer_formats import answer_head


def command(
    as_json: Annotated[bool, typer.Option("--json", help="Print the checks as JSON.")] = False,
) -> None:
    """Show what Penstock finds on this machine and how to get what is missing.

    penstock doctor

    penstock doctor --json
    """
    checks = examine()
    if as_json:
        typer.echo(as_json_text(checks))
    else:
        _render(checks, Console())
    if any(check.required and not check.ok for check in checks):
        raise typer.Exit(1)


def as_json_text(checks: tuple[Check, ...]) -> str:
    """The JSON view."""
    answer = {
        **answer_head("doctor"),
        "checks": [asdict(check) for check in checks],
    }
    return json.dumps(answer, indent=2, ensure_ascii=False)


def _render(checks: tuple[Check, ...], console: Console) -> None:
    # Text, not str: what was found may hold square brackets, which rich would take for markup.
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for title in ("", "what", "found", "needed for", "how to get it"):
        table.add_column(title, overflow="fold")
    for check in checks:
        table.add_row(
            _mark(check),
            Text(check.name),
            Text(check.found),
            Text(check.needed_for),
            Text("" if check.ok else check.remedy),
        )
    console.print(table)
    console.print(Text(_summary(checks)))


def _mark(check: Check) -> Text:
    if check.ok:
        return Text("✓", style="green")
    if check.required:
        return Text("✗", style="bold red")
    return Text("–", style="yellow")


def _summary(checks: tuple[Check, ...]) -> str:
    failing = [check for check in checks if not check.ok]
    required = sorted(check.name for check in failing if check.required)
    if required:
        return f"✗ Penstock cannot work without: {', '.join(required)}."
    if failing:
        return f"✓ All that planning needs is installed; – optional and missing: {len(failing)}."
    return "✓ Everything is installed."

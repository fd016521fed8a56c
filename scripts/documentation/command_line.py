"""The reference of the command line, from its own parser."""

from __future__ import annotations

import inspect
from typing import Any

import typer

from documentation.output import DOCS, GENERATED, write
from penstock.cli import main as cli
from penstock.cli.verb_groups import grouped

COMMAND_LINE_INTRO = """\
# The command line

`penstock --help` lists the verbs, `penstock help VERB` shows one as below. `penstock completion
--install` makes bash, zsh or fish complete verbs, options and names.

Results go to stdout, everything else to stderr. `--json` prints one JSON value with `format` and
`version`. A file that a result is written to (`-o`, `--svg`) appears whole or not at all. Of a
symlink the target is replaced; a device or a FIFO is written to, `-o /dev/stdout` too.

| exit code | meaning |
| --- | --- |
| 0 | done |
| 1 | a failure that the message explains |
| 2 | wrong usage |
| 3 | changes present (`--detailed-exitcode`) |
| 4 | infeasible: no plan exists |
| 5 | stale: the cluster is not as it was when the plan was made |
| 70 | a bug in Penstock |
| 130, 143 | interrupted, terminated |
"""


def write_command_line() -> None:
    """Every verb by group, as the command line's own parser describes it."""
    program = typer.main.get_command(cli.app)
    context = program.make_context("penstock", ["--help"], resilient_parsing=True)
    parts = [GENERATED, COMMAND_LINE_INTRO]
    for group, verbs in grouped(program.commands).items():
        parts.append(f"## {group}\n")
        for verb in verbs:
            parts += command_sections(program.commands[verb], verb, context)
    write(DOCS / "cli.md", "\n".join(parts))


def command_sections(command: Any, name: str, parent: Any) -> list[str]:
    """The section of a verb, and of those below it; a bare group has none of its own."""
    context = command.context_class(command, info_name=name, parent=parent)
    below = getattr(command, "commands", {})
    sections = [] if command.no_args_is_help and below else [command_section(command, context)]
    for inner, one in below.items():
        sections += command_sections(one, inner, context)
    return sections


def command_section(command: Any, context: Any) -> str:
    text, _, examples = command.help.replace("\b\n", "").partition("Examples:\n")
    lines = [f"### {context.command_path}\n", inspect.cleandoc(text) + "\n", "```"]
    lines += [line.strip() for line in examples.splitlines()]
    lines += ["```\n", "| option | meaning |", "| --- | --- |"]
    for parameter in command.params:
        option, meaning = parameter.get_help_record(context)
        lines.append(f"| `{cell(option)}` | {cell(meaning)} |")
    return "\n".join(lines) + "\n"


def cell(text: str) -> str:
    """A text inside a table of Markdown."""
    return " ".join(text.split()).replace("|", "\\|")

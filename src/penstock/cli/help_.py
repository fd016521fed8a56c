"""``penstock help``: the help of a verb, as ``penstock VERB --help`` shows it."""

from __future__ import annotations

import difflib
from typing import Annotated, Any

import typer

from penstock.cli.output import write_text
from penstock.errors import EXIT_DONE, UsageError


def command(
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[VERB]...", help="A verb, or two words: lab up. All if absent."),
    ] = None,
) -> int:
    """Show the help of a verb, or the list of all verbs.

    penstock help plan

    penstock help lab up
    """
    described: Any = context.find_root()
    for word in words or []:
        described = _below(described, word)
    write_text(described.get_help() + "\n")
    return EXIT_DONE


def _below(parent: Any, word: str) -> Any:
    """The context of a verb below another, so that its usage line has all its words."""
    commands = getattr(parent.command, "commands", {})
    if word not in commands:
        near = difflib.get_close_matches(word, commands, 1)
        hint = f'; did you mean "{near[0]}"?' if near else ""
        raise UsageError(f'{parent.command_path} has no verb "{word}"{hint}')
    settings = commands[word].context_settings
    return commands[word].context_class(commands[word], info_name=word, parent=parent, **settings)

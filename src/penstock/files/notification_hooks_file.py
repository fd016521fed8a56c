"""Commands that hear of the loop's refusals and failures: names and what each of them runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, RootModel

from penstock.errors import Finding, InputError
from penstock.files.document import read_document
from penstock.files.schema import Name, check

Word = Annotated[str, Field(max_length=4096, pattern=r"^[^\x00]*$")]


class _NotificationHooks(
    RootModel[dict[Name, Annotated[list[Word], Field(min_length=1, max_length=64)]]]
):
    """``name: [command, argument, …]``, one line per hook."""


def load_notification_hooks(path: Path) -> dict[str, tuple[str, ...]]:
    """Commands by name. Each begins with a whole path: nothing is looked for on ``PATH``."""
    document = read_document(path)
    hooks, findings = check(document, _NotificationHooks)
    if hooks is None:
        raise InputError(*findings)
    relative = [
        document.finding((name,), f"must begin with a whole path, not {command[0]}")
        for name, command in hooks.root.items()
        if not Path(command[0]).is_absolute()
    ]
    if relative:
        raise InputError(*relative)
    if not hooks.root:
        raise InputError(Finding("names no hook; write lines of `name: [command]`", str(path)))
    return {name: tuple(command) for name, command in hooks.root.items()}

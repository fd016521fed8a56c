"""The hooks format: the operator's commands that put machines to sleep and wake them.

What stands in it is run, so that it is read only where nobody but this user and root could have
written it (:func:`load_hooks`). Nothing of it comes from a plan, a cluster or telemetry: machines
without a line have no hook.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from penstock.errors import Finding, InputError
from penstock.files.document import ParsedFile, read_document
from penstock.files.schema import FileModel, Name, Strict, Version, check_file
from penstock.model.hooks import USUAL_WITHIN_S, HookKind, Hooks
from penstock.system.private_folder import NotPrivate, tampering_risk

_Command = Annotated[str, Field(min_length=1, max_length=4096)]


class MachineHooks(Strict):
    """What is run for one machine: a program and its arguments, quoted as in a shell."""

    sleep: _Command = Field(description="Puts it to sleep: `ssh m7 systemctl suspend`.")
    wake: _Command = Field(description="Wakes it: `wakeonlan 00:11:22:33:44:55`.")


class HooksFile(FileModel):
    """Commands that put machines to sleep and wake them. Only the operator may write this file."""

    format: Literal["penstock/hooks"]
    version: Version[Literal[1]]
    within_s: Annotated[float, Field(gt=0, le=3600)] = Field(
        USUAL_WITHIN_S, description="A command that takes longer is ended, and has failed."
    )
    machines: Annotated[dict[Name, MachineHooks], Field(min_length=1)]


def hooks_from(document: ParsedFile) -> Hooks:
    """The hooks in a document, or an error with everything that is wrong with it."""
    document, file, findings = check_file(document, HooksFile)
    if file is None or findings:
        raise InputError(*findings)
    commands: dict[str, dict[HookKind, tuple[str, ...]]] = {}
    for name, machine in file.machines.items():
        commands[name] = {}
        for kind in HookKind:
            words = _words(getattr(machine, kind.value))
            if isinstance(words, str):
                findings.append(document.finding(("machines", name, kind.value), words))
            else:
                commands[name][kind] = words
    if findings:
        raise InputError(*findings)
    return Hooks(commands, file.within_s)


def _words(text: str) -> tuple[str, ...] | str:
    """The program and its arguments, or why there are none."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        return f"is no command: {error}"
    return tuple(words) if words and words[0] else "names no program"


def load_hooks(path: str | Path) -> Hooks:
    """Hooks that may be run: of a file that nobody else can change."""
    if risk := tampering_risk(Path(path)):
        raise NotPrivate(Finding(f"its commands are not run: {risk}", str(path)))
    return hooks_from(read_document(path))

"""Where the history of applied plans is, and how a verb adds to it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.output import say
from penstock.errors import Finding, InputError
from penstock.files.receipt_file import keep_receipt
from penstock.model.plan import Plan

#: Names the folder where no option does.
VARIABLE = "PENSTOCK_HISTORY"

History = Annotated[
    Path | None,
    typer.Option(
        "--history", help=f"Folder of the history (default: ${VARIABLE}, else the user's own)."
    ),
]


def folder(given: Path | None, environ: Mapping[str, str] = os.environ) -> Path:
    """The history's folder: as given, as the environment says, or below the user's data."""
    if given is not None:
        return given
    if named := environ.get(VARIABLE):
        return Path(named)
    data = environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(data) / "penstock" / "history"


@dataclass
class Kept:
    """The receipt of one plan in the history, written again as things go on."""

    history: Path
    plan: Plan
    path: Path | None = None

    def keep(self, receipt: dict[str, object]) -> None:
        """Before anything is touched a failure stops it; afterwards it is only told."""
        try:
            self.path = keep_receipt(self.history, receipt, self.plan)
        except OSError as error:
            message = f"cannot be written: {error.strerror or error}; name another with --history"
            finding = Finding(message, str(self.history))
            if self.path is None:
                raise InputError(finding) from None
            say(f"the history lacks this: {finding}")

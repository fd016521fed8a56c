"""Where the history of applied plans is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.app.history_folder import VARIABLE

Journal = Annotated[
    Path | None,
    typer.Option("--journal", help="Journal of the loop (default: the history's own)."),
]
History = Annotated[
    Path | None,
    typer.Option(
        "--history", help=f"Folder of the history (default: ${VARIABLE}, else the user's own)."
    ),
]

"""Where the documentation is, and how a part of it is written."""

from __future__ import annotations

import contextlib
import io
import shlex
from pathlib import Path

from penstock.cli import main as cli

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
GENERATED = "<!-- Written by `make docs`; do not edit. -->\n"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(path.relative_to(ROOT))


def run(command: str) -> str:
    """What a command prints."""
    captured = io.StringIO()
    with contextlib.redirect_stdout(captured), contextlib.suppress(SystemExit):
        cli.main(shlex.split(command, comments=True)[1:])
    return "\n".join(line.rstrip() for line in captured.getvalue().splitlines()) + "\n"

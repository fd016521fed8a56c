"""``penstock validate``: check files, each for itself and all together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock import app
from penstock.cli import options
from penstock.cli.output import show, write_json
from penstock.errors import EXIT_DONE
from penstock.files.answer_formats import answer_head


def command(
    files: Annotated[list[Path], typer.Argument(help="Files of any of our formats, or Flux.")],
    rates: Annotated[
        bool, typer.Option("--rates", help="Also check that the rate model can handle them.")
    ] = False,
    as_json: options.Json = False,
) -> int:
    """Check files; topologies, a cluster and a profile given together must also fit together.

    penstock validate topology.yaml cluster.yaml profile.yaml

    penstock validate plan.json --json
    """
    valid = app.validate(files, rates=rates)
    if as_json:
        rows = [{"file": str(v.file), "kind": v.kind, "summary": v.summary} for v in valid]
        write_json({**answer_head("validation"), "files": rows})
    else:
        for each in valid:
            show(f"{each.file}: {each.kind}, {each.summary}")
    return EXIT_DONE
